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
from collections.abc import Iterator

import numpy as np

from .classes import IMMEDIATE
from .facts import EntryFacts, OperandFacts, TargetFacts
from .flag_rules import FLAG_RULES, UNVERIFIED
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
    "r128": r"\b(r128|a16)\b",
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

DEFS = {"vdst", "vdst1", "vdstX", "vdstY", "src0_out", "ray_origin_out", "ray_dir_out"}
"""Roles that are always defs, but for `DEFS_THAT_ARE_USES`."""

DEFS_THAT_ARE_USES = re.compile(r"v_movrel|\w+_to_lds")
"""Mnemonics whose `vdst` is a use: the register that an index is added to (which is no use, but
LLVM says so), and the LDS address of a load into LDS."""

USES = re.compile(
    r"v?src\d[XY]?(_modifiers)?|vaddr\d*|saddr|srsrc|soffset|ssamp|sbase|data[01]|old|\w+_in"
)

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

KEEPS_CODES = re.compile(r"V_FMAC_\w+_e64_dpp")
"""Opcodes of which LLVM's decoder leaves inline constants as codes, and its printer shows these."""


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
        asked = (_shows(target, entry, operand) for entry, operand in members[::step])
        shown = [answer for answer in asked if answer is not None]
        agreeing = shown.count(True)
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
            is_use = not operand.is_def and not DEFS_THAT_ARE_USES.match(entry.mnemonic)
            if operand.role in DEFS and is_use:
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
            if problem and not KEEPS_CODES.match(entry.llvm):
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
