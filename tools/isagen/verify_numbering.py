# SPDX-License-Identifier: Apache-2.0
"""Holds the names of `numbering` against LLVM's behaviour.

A number that LLVM's headers do not name is believed only if what LLVM does fits the name:

* a role whose operand prints with a keyword (`offset0:`, `row_mask:`, `clamp` ...): changing the
  operand must change what stands at the keyword;
* a register role: it must be a def or a use, in the order that the name implies;
* an operand type: the inline constant 1.0 (code 242) must have the type's bit pattern, and a
  shared literal must be one;
* a TSFlag: it must be set on exactly the real instructions of which the name is true, as far as
  names, formats and operands tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from .classes import IMMEDIATE
from .facts import EntryFacts, OperandFacts, TargetFacts
from .interpret import joined_bits
from .llvm import WINDOW
from .numbering import TS_FLAGS
from .target import Target
from .windows import force

PER_ENTRY = 6
ENTRIES_PER_ROLE = 12
AGREEING = 0.75
"""Share of the encodings in which an operand must show at its keyword: LLVM leaves out defaults and
names some values."""

KEYWORDS: dict[str, str] = {
    "a16": r"\ba16\b",
    "abid": r"abid:\S+",
    "bank_mask": r"bank_mask:\S+",
    "bitop3": r"bitop3:\S+",
    "blgp": r"blgp:\S+|neg:\S+",
    "bound_ctrl": r"bound_ctrl:\S+",
    "byte_sel": r"byte_sel:\S+",
    "cbsz": r"cbsz:\S+",
    "clamp": r"\bclamp\b",
    "cpol": r"\b(glc|slc|dlc|scc|sc0|sc1|nt|scale_offset|nv)\b|\b(th|scope):\S+",
    "d16": r"\bd16\b",
    "dim": r"dim:\S+",
    "dmask": r"dmask:\S+",
    "dpp8": r"dpp8:\S+",
    "dpp_ctrl": r"(quad_perm|row_\w+|wave_\w+):?\S*",
    "dst_sel": r"dst_sel:\S+",
    "dst_unused": r"dst_unused:\S+",
    "fi": r"\bfi:\S+",
    "format": r"(format|dfmt|nfmt):.*",
    "gds": r"\bgds\b",
    "high": r"\bhigh\b",
    "index_key_16bit": r"index_key:\S+",
    "index_key_32bit": r"index_key:\S+",
    "index_key_8bit": r"index_key:\S+",
    "lwe": r"\blwe\b",
    "da": r"\bda\b",
    "matrix_a_fmt": r"matrix_a_fmt:\S+",
    "matrix_a_reuse": r"\bmatrix_a_reuse\b",
    "matrix_a_scale": r"matrix_a_scale:\S+",
    "matrix_a_scale_fmt": r"matrix_a_scale_fmt:\S+",
    "matrix_b_fmt": r"matrix_b_fmt:\S+",
    "matrix_b_reuse": r"\bmatrix_b_reuse\b",
    "matrix_b_scale": r"matrix_b_scale:\S+",
    "matrix_b_scale_fmt": r"matrix_b_scale_fmt:\S+",
    "neg_hi": r"neg_hi:\S+",
    "neg_lo": r"neg_lo:\S+|neg:\S+",
    "offset": r"offset:\S+|0x[0-9a-f]+|\b-?\d+\b",
    "offset0": r"offset0:\S+",
    "offset1": r"offset1:\S+",
    "omod": r"mul:\S+|div:\S+",
    "op_sel": r"op_sel:\S+|\.[lh]\b",
    "op_sel_hi": r"op_sel_hi:\S+",
    "r128": r"\br128\b",
    "row_mask": r"row_mask:\S+",
    "scale_sel": r"scale_sel:\S+",
    "src0_sel": r"src0_sel:\S+",
    "src1_sel": r"src1_sel:\S+",
    "swz": r"\bswz\b",
    "tfe": r"\btfe\b",
    "unorm": r"\bunorm\b",
    "waitexp": r"wait_exp:\S+",
    "waitvdst": r"wait_vdst:\S+|wait_va_vdst:\S+",
    "waitvsrc": r"wait_vm_vsrc:\S+",
    "attr": r"attr\d+",
    "attrchan": r"attr\d+\.\w|\.[xyzw]\b",
    "compr": r"\bcompr\b",
    "vm": r"\bvm\b",
    "tgt": r"\b(mrt\w*|null|pos\d|param\d+|prim|dual_src_blend\d|invalid_target_\d+)\b",
    "en": r"\boff\b|v\d+",
}
"""Role -> what its operand shows as in LLVM's text."""

DEFS = {"vdst", "sdst", "vdst1", "vdstX", "vdstY", "src0_out", "ray_origin_out", "ray_dir_out"}
"""Roles that are always defs.  (`sdst` of `s_setpc` is a use; `vdata` and `sdata` may be either.)"""

USES = re.compile(r"v?src\d[XY]?(_modifiers)?|vaddr\d*|saddr|srsrc|soffset|ssamp|sbase|data[01]|old|\w+_in")

ORDERED = ("src0", "src1", "src2")
"""Roles that come in this order among an entry's operands."""

ONE: dict[str, int] = {
    "f16": 0x3C00,
    "bf16": 0x3F80,
    "f32": 0x3F800000,
    "f64": 0x3FF0000000000000,
}
"""Bit pattern of 1.0."""

ONE_CODE = 242


def check_numbering(target: Target, facts: TargetFacts) -> list[str]:
    """What does not fit; empty if all does."""
    return [
        *_roles_without_names(facts),
        *_keyword_roles(target, facts),
        *_register_roles(facts),
        *_operand_types(facts),
        *_ts_flags(facts),
    ]


def _roles_without_names(facts: TargetFacts) -> Iterator[str]:
    for role in sorted({o.role for e in facts.entries for o in e.operands}):
        if role.startswith(("#", "?")):
            yield f"role {role} occurs, but has no name"


# ---------------------------------------------------------------- roles
def _keyword_roles(target: Target, facts: TargetFacts) -> Iterator[str]:
    by_role: dict[str, list[tuple[EntryFacts, OperandFacts]]] = {}
    for entry in facts.entries:
        for operand in entry.operands:
            if operand.role in KEYWORDS and "imm" in operand.source:
                by_role.setdefault(operand.role, []).append((entry, operand))
    for role, members in sorted(by_role.items()):
        step = max(1, len(members) // ENTRIES_PER_ROLE)
        shown = [_shows(target, entry, operand) for entry, operand in members[::step]]
        shown = [s for s in shown if s is not None]
        agreeing = sum(shown)
        if shown and agreeing < AGREEING * len(shown):
            yield f"role {role}: shows as {KEYWORDS[role]} in {agreeing} of {len(shown)} entries"


def _shows(target: Target, entry: EntryFacts, operand: OperandFacts) -> bool | None:
    """Whether changing each bit of the operand changes its keyword, in most encodings; None if
    no text could be compared."""
    rng = np.random.default_rng(PER_ENTRY)
    mask, value = entry.patterns[0]
    windows = rng.integers(0, 256, (PER_ENTRY, WINDOW), dtype=np.uint8)
    windows[: PER_ENTRY // 2, : entry.encoded_size] = 0
    force(windows, mask, value)
    keyword = re.compile(KEYWORDS[operand.role])
    changed = compared = 0
    for bit in joined_bits(operand.source["imm"]):
        other = windows.copy()
        other[:, bit >> 3] ^= np.uint8(1 << (bit & 7))
        for before, after in zip(target.llvm.text(windows), target.llvm.text(other), strict=True):
            if before and after and before.split()[0] == after.split()[0]:
                compared += 1
                changed += _found(keyword, before) != _found(keyword, after)
    return changed * 2 >= compared if compared else None


def _found(pattern: re.Pattern[str], text: str) -> list[str]:
    return [match[0] for match in pattern.finditer(text)]


def _register_roles(facts: TargetFacts) -> Iterator[str]:
    for entry in facts.entries:
        for operand in entry.operands:
            if operand.role in DEFS and not operand.is_def and operand.role != "sdst":
                yield f"{entry.llvm}: {operand.role} is a use"
            if USES.fullmatch(operand.role) and operand.is_def and operand.role != "vdst_in":
                yield f"{entry.llvm}: {operand.role} is a def"
            if operand.tied >= 0 and not entry.operands[operand.tied].is_def:
                yield f"{entry.llvm}: {operand.role} is tied to a use"
        places = [i for role in ORDERED for i, o in enumerate(entry.operands) if o.role == role]
        if places != sorted(places):
            yield f"{entry.llvm}: src0, src1, src2 are out of order"


# ---------------------------------------------------------------- operand types
def _operand_types(facts: TargetFacts) -> Iterator[str]:
    for entry in facts.entries:
        for operand in entry.operands:
            problem = _type_problem(facts, operand)
            if problem:
                yield f"{entry.llvm}: {operand.role} of type {operand.type}: {problem}"


def _type_problem(facts: TargetFacts, operand: OperandFacts) -> str:
    name = operand.type
    if name.isdigit():
        return "the type has no name"
    if re.fullmatch(r"k\d+", name):
        return "" if "imm" in operand.source else "a shared literal that is no immediate"
    base = name.removeprefix("a").removeprefix("c")
    if "cls" not in operand.source or base not in ONE:
        return ""
    codes = facts.classes[operand.source["cls"]]
    one = _code_of_one(operand)
    if one is None or codes.kind[one] != IMMEDIATE:
        return ""
    if int(codes.value[one]) != ONE[base]:
        return f"1.0 is {int(codes.value[one]):#x}"
    return ""


def _code_of_one(operand: OperandFacts) -> int | None:
    """The value of the operand's field that holds the source code of 1.0."""
    bits = joined_bits(operand.source["bits"])
    if len(bits) < 8:
        return None
    # the field's bits, in the order of place, are the source code, but for a half-register bit
    low = min(bits[:8])
    code = 0
    for place, bit in enumerate(bits):
        offset = bit - low
        if 0 <= offset < 9 and ONE_CODE >> offset & 1:
            code |= 1 << place
    return code


# ---------------------------------------------------------------- flags
def _has_role(entry: EntryFacts, *roles: str) -> bool:
    return any(operand.role in roles for operand in entry.operands)


@dataclass(frozen=True)
class FlagRule:
    """`must`: entries on which the flag has to be set; `may`: those on which it can be.  A flag
    without a rule is believed, and said so (`UNVERIFIED`)."""

    must: Callable[[EntryFacts], bool]
    may: Callable[[EntryFacts], bool]


def _same(predicate: Callable[[EntryFacts], bool]) -> FlagRule:
    return FlagRule(predicate, predicate)


def _name(pattern: str) -> Callable[[EntryFacts], bool]:
    compiled = re.compile(pattern)
    return lambda entry: compiled.match(entry.mnemonic) is not None


def _any(entry: EntryFacts) -> bool:
    return True


def _never(entry: EntryFacts) -> bool:
    return False


def _top(mask: int, value: int) -> Callable[[EntryFacts], bool]:
    """By the fixed upper bits of the first dword."""
    return lambda e: (
        e.patterns[0][0] & mask == mask and e.patterns[0][1] & mask == value
    )


def _plain(predicate: Callable[[EntryFacts], bool]) -> Callable[[EntryFacts], bool]:
    """Without DPP and SDWA."""
    return lambda e: predicate(e) and e.size == e.encoded_size == 4


_VECTOR = _name(r"v_")
_SCALAR = _name(r"s_(?!buffer|load|store|scratch|atomic|dcache|gl1|memtime|memrealtime|atc|prefetch|get_waveid)")
_SOP1, _SOPC, _SOPP = _top(0xFF800000, 0xBE800000), _top(0xFF800000, 0xBF000000), _top(0xFF800000, 0xBF800000)
_SOPK = _top(0xF0000000, 0xB0000000)

FLAG_RULES: Mapping[str, FlagRule] = {
    "SALU": FlagRule(_name(r"s_(add|and|or|xor|mov|cmp|lsh|mul)(?!_memtime)"), _name(r"s_")),
    "VALU": FlagRule(_name(r"v_(add|mul|fma|mov|cmp|and|or|xor|cvt|mfma|wmma)_"), _name(r"v_|tensor_|ds_|buffer_load_|global_load_lds|scratch_load_lds")),
    "SOP1": FlagRule(_SOP1, _SOP1),
    "SOPC": FlagRule(_SOPC, _SOPC),
    "SOPP": FlagRule(_SOPP, _SOPP),
    "SOPK": FlagRule(_never, _SOPK),
    "SOP2": FlagRule(_never, _top(0xC0000000, 0x80000000)),
    "VOP1": FlagRule(_plain(_top(0xFE000000, 0x7E000000)), _name(r"v_(?!cmp)")),
    "VOPC": FlagRule(_plain(_top(0xFE000000, 0x7C000000)), _name(r"v_cmp")),
    "VOP2": FlagRule(_never, _VECTOR),
    "VOP3": FlagRule(lambda e: "_e64" in e.llvm, _VECTOR),
    "VOP3P": FlagRule(_name(r"v_pk_(add|mul|fma|min|max)_[fui]16|v_wmma|v_swmmac"), _VECTOR),
    "VINTRP": _same(lambda e: e.mnemonic.startswith("v_interp") and not "_e64" in e.llvm and e.size == 4),
    "SDWA": _same(lambda e: "_sdwa" in e.llvm),
    "DPP": FlagRule(lambda e: "_dpp" in e.llvm and "dpp8" not in e.llvm and "e64" not in e.llvm, lambda e: "dpp" in e.llvm.lower()),
    "TRANS": FlagRule(_name(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_"), _VECTOR),
    "MUBUF": _same(_name(r"buffer_")),
    "MTBUF": _same(_name(r"tbuffer_")),
    "SMRD": FlagRule(_name(r"s_(load|buffer_load|store|buffer_store)_"), _name(r"s_")),
    "MIMG": FlagRule(_never, _name(r"image_")),
    "VIMAGE": FlagRule(_never, _name(r"image_|tensor_")),
    "VSAMPLE": FlagRule(_never, _name(r"image_")),
    "EXP": _same(_name(r"exp|export")),
    "FLAT": FlagRule(_name(r"(flat|global|scratch)_(load|store)"), _name(r"flat_|global_|scratch_|tensor_|cluster_")),
    "DS": FlagRule(_name(r"ds_(read|write|load|store)"), _name(r"ds_|lds_")),
    "SPILL": _same(_never),
    "LDSDIR": _same(_name(r"(ds|lds)_(direct|param)_load")),
    "VINTERP": _same(_name(r"v_interp_p(10|2)_")),
    "VOPD3": _same(lambda e: e.llvm.startswith("V_DUAL") and "_e96_" in e.llvm),
    "VM_CNT": FlagRule(_name(r"(buffer|global|tbuffer|scratch)_load_(?!lds)"), _name(r"(t?buffer|global|flat|scratch|image|cluster|tensor|ds)_")),
    "EXP_CNT": FlagRule(_name(r"exp"), _name(r"exp|ds_|(t?buffer|image|flat|global|scratch)_|lds_")),
    "LGKM_CNT": FlagRule(_name(r"s_load_|ds_(read|load)_b32"), _name(r"s_|ds_|flat_|(buffer|global|scratch)_load_")),
    "WQM": FlagRule(_name(r"image_sample(?!r)"), _name(r"image_|v_interp|s_wqm|ds_bpermute|lds_|ds_param")),
    "GATHER4": _same(_name(r"image_(msaa_load|gather4(?!h))|image_gather4h")),
    "TENSOR_CNT": _same(_name(r"tensor_(load_to|store_from)_lds")),
    "SCALAR_STORE": FlagRule(_name(r"s_(buffer_)?store_"), _name(r"s_")),
    "ASYNC_CNT": _same(_name(r"(global|cluster)_(load|store)_async")),
    "VOP3_OPSEL": FlagRule(_never, lambda e: _has_role(e, "op_sel", "src0_modifiers")),
    "FPCLAMP": FlagRule(_never, lambda e: _has_role(e, "clamp")),
    "INTCLAMP": FlagRule(_never, lambda e: _has_role(e, "clamp")),
    "CLAMPLO": FlagRule(_never, lambda e: _has_role(e, "clamp")),
    "CLAMPHI": FlagRule(_never, lambda e: _has_role(e, "clamp")),
    "PACKED": FlagRule(_name(r"v_pk_(add|mul|fma)_f16"), _name(r"v_(pk|dot|wmma|swmmac|fma_mix|mad_mix|mfma|smfmac|accvgpr)")),
    "D16BUF": FlagRule(_name(r"t?buffer_(load|store)_format_d16_x"), _name(r"(t?buffer|image)_")),
    "GLOBAL": FlagRule(_name(r"global_(load|store)"), _name(r"global_|cluster_|tensor_")),
    "FPDP": FlagRule(_name(r"v_(add|mul|fma)_f64"), lambda e: "64" in e.mnemonic or "16" in e.mnemonic),
    "FPATOMIC": FlagRule(_name(r"(buffer|global|flat)_atomic_add_f(32|64)"), _name(r".*(_f16|_f32|_f64|bf16|fcmpswap|fmin|fmax|num)")),
    "MAI": _same(_name(r"v_(mfma|smfmac|accvgpr_(read|write))")),
    "DOT": FlagRule(_name(r"v_dot\d_"), _name(r"v_(dot|dual_dot)")),
    "SCRATCH": _same(_name(r"scratch_")),
    "ATOMIC_NORET": FlagRule(_never, lambda e: "atomic" in e.mnemonic or e.mnemonic.startswith("ds_")),
    "ATOMIC_RET": FlagRule(_name(r"ds_(add|sub|min|max|and|or)_rtn_[ufb]32"), lambda e: "atomic" in e.mnemonic or e.mnemonic.startswith("ds_")),
    "WMMA": FlagRule(_name(r"v_wmma_(scale|f32|f16|bf16|i32)"), _name(r"v_s?wmma")),
    "GWS": _same(_name(r"ds_gws_")),
    "SWMMAC": _same(_name(r"v_swmmac")),
    "MAYBE_ATOMIC": FlagRule(_name(r"(global|flat|buffer)_atomic"), _any),
}

UNVERIFIED = frozenset(
    {"DISABLE_WQM", "FIXED_SIZE", "RENAMED_GFX9", "TIED_NOT_READ", "NEVER_UNIFORM"}
)
"""Flags whose names only LLVM's source explains; nothing of ours is derived from them."""


def _ts_flags(facts: TargetFacts) -> Iterator[str]:
    unnamed = set(TS_FLAGS.values()) - FLAG_RULES.keys() - UNVERIFIED
    if unnamed:
        yield f"flags without a rule: {sorted(unnamed)}"
    for entry in facts.entries:
        for flag, rule in FLAG_RULES.items():
            is_set = flag in entry.ts_flags
            if rule.must(entry) and not is_set:
                yield f"{entry.llvm} ({entry.mnemonic}) lacks flag {flag}"
            if is_set and not rule.may(entry):
                yield f"{entry.llvm} ({entry.mnemonic}) has flag {flag}"


