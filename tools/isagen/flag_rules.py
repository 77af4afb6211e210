# SPDX-License-Identifier: Apache-2.0
"""On which instructions each TSFlag has to be set, and on which it can be.

The names of TSFlags are only in LLVM's private headers.  Each rule says what must be true of the
real instructions if bit and name belong together; it is stated by mnemonic, format bits or
operands, never by the flags themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from .facts import EntryFacts

Predicate = Callable[[EntryFacts], bool]


@dataclass(frozen=True)
class FlagRule:
    """`must`: entries on which the flag has to be set; `may`: those on which it can be."""

    must: Predicate
    may: Predicate


def _same(predicate: Predicate) -> FlagRule:
    return FlagRule(predicate, predicate)


def _named(*patterns: str) -> Predicate:
    """By mnemonic."""
    compiled = re.compile("|".join(patterns))
    return lambda entry: compiled.match(entry.mnemonic) is not None


def _opcode(pattern: str) -> Predicate:
    """By LLVM's opcode name."""
    compiled = re.compile(pattern)
    return lambda entry: compiled.search(entry.llvm) is not None


def _top(mask: int, value: int) -> Predicate:
    """By fixed bits of the first dword."""

    def fits(entry: EntryFacts) -> bool:
        known, bits = entry.patterns[0]
        return known & mask == mask and bits & mask == value

    return fits


def _has_role(*roles: str) -> Predicate:
    return lambda entry: any(operand.role in roles for operand in entry.operands)


def _plain(predicate: Predicate) -> Predicate:
    """Without DPP and SDWA."""
    return lambda entry: predicate(entry) and entry.size == entry.encoded_size == 4


def _never(entry: EntryFacts) -> bool:
    return False


def _always(entry: EntryFacts) -> bool:
    return True


_VECTOR = _named("v_")
_SCALAR = _named("s_")
_MEMORY = _named(r"(t?buffer|global|flat|scratch|image|cluster|tensor|ds|lds)_")
_CLAMPED = FlagRule(_never, _has_role("clamp"))

FLAG_RULES: dict[str, FlagRule] = {
    "SALU": FlagRule(_named(r"s_(add|and|or|xor|mov|cmp|lshl|lshr|mul)_"), _SCALAR),
    # LLVM also sets it on memory operations that go past the registers to LDS
    "VALU": FlagRule(
        _named(r"v_(add|mul|fma|mov|cmp|and|or|xor|cvt|mfma|wmma)_"),
        _named(
            "v_",
            "tensor_",
            "ds_",
            "buffer_(load|store_lds)_",
            "(global|scratch|cluster)_(load|store)_",
        ),
    ),
    "SOP1": _same(_top(0xFF800000, 0xBE800000)),
    "SOP2": FlagRule(_never, _top(0xC0000000, 0x80000000)),
    "SOPC": _same(_top(0xFF800000, 0xBF000000)),
    "SOPK": FlagRule(_never, _top(0xF0000000, 0xB0000000)),
    "SOPP": _same(_top(0xFF800000, 0xBF800000)),
    "VOP1": FlagRule(_plain(_top(0xFE000000, 0x7E000000)), _named(r"v_(?!cmp)")),
    "VOP2": FlagRule(_never, _VECTOR),
    "VOPC": FlagRule(_plain(_top(0xFE000000, 0x7C000000)), _named("v_cmp")),
    "VOP3": FlagRule(
        lambda e: _opcode("_e64")(e) and _named("v_(?!dual|(read|write)lane)")(e), _VECTOR
    ),
    "VOP3P": FlagRule(_named(r"v_pk_(add|mul|fma|min|max)_[fui]16", "v_wmma", "v_swmmac"), _VECTOR),
    "VINTRP": _same(lambda e: e.mnemonic.startswith("v_interp") and e.size == 4),
    "SDWA": _same(_opcode("_sdwa")),
    "DPP": FlagRule(
        lambda e: _opcode("_dpp")(e) and not _opcode("dpp8|e64")(e), _opcode("_dpp|_DPP")
    ),
    # LLVM forgets TRANS and DOT on some DPP forms
    "TRANS": FlagRule(
        lambda e: _named(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_")(e) and not _opcode("dpp")(e),
        _VECTOR,
    ),
    "MUBUF": _same(_named("buffer_")),
    "MTBUF": _same(_named("tbuffer_")),
    "SMRD": FlagRule(_named(r"s_(buffer_)?(load|store)_"), _SCALAR),
    "MIMG": FlagRule(_never, _named("image_")),
    "VIMAGE": FlagRule(_never, _named("image_", "tensor_")),
    "VSAMPLE": FlagRule(_never, _named("image_")),
    "EXP": _same(_named("exp")),
    "FLAT": FlagRule(
        _named(r"(flat|global|scratch)_(load|store)"),
        _named("flat_", "global_", "scratch_", "tensor_", "cluster_"),
    ),
    "DS": FlagRule(_named(r"ds_(read|write|load|store)"), _named("ds_", "lds_")),
    "SPILL": _same(_never),
    "LDSDIR": _same(_named(r"(ds|lds)_(direct|param)_load")),
    "VINTERP": _same(lambda e: _named("v_interp_p")(e) and _opcode("_gfx1[12]")(e)),
    "VOPD3": _same(_opcode(r"^V_DUAL.*_e96_")),
    "VM_CNT": FlagRule(_named(r"(buffer|global|tbuffer|scratch)_load_(?!lds|async)"), _MEMORY),
    "EXP_CNT": FlagRule(
        _named("exp"), _named(r"exp|ds_|lds_|(t?buffer|image|flat|global|scratch)_")
    ),
    # also set on loads into LDS
    "LGKM_CNT": FlagRule(
        _named(r"s_load_|ds_(read|load)_b32"),
        _named("s_", "ds_", "flat_", "(buffer|global|scratch)_(load|store)_"),
    ),
    "WQM": FlagRule(
        _named(r"image_sample(_c)?(_b)?(_cl)?(_o)?$"),
        _named("image_", "v_interp", "s_wqm", "ds_", "lds_"),
    ),
    "GATHER4": FlagRule(_named(r"image_gather4(?!h)"), _named("image_(gather4|msaa_load)")),
    "TENSOR_CNT": _same(_named(r"tensor_(load_to|store_from)_lds")),
    "SCALAR_STORE": FlagRule(_named(r"s_(buffer_)?store_"), _SCALAR),
    "ASYNC_CNT": _same(_named(r"(global|cluster)_(load|store)_async", "ds_atomic_async_barrier")),
    "VOP3_OPSEL": FlagRule(_never, _has_role("op_sel", "src0_modifiers")),
    "MAYBE_ATOMIC": FlagRule(_named(r"(global|flat|buffer)_atomic"), _always),
    "FPCLAMP": _CLAMPED,
    "INTCLAMP": _CLAMPED,
    "CLAMPLO": _CLAMPED,
    "CLAMPHI": _CLAMPED,
    "PACKED": FlagRule(
        _named(r"v_pk_(add|mul|fma)_f16"),
        _named(r"v_(pk|dot|wmma|swmmac|fma_mix|mad_mix|mfma|smfmac|accvgpr|cvt_scale)"),
    ),
    "D16BUF": FlagRule(_named(r"t?buffer_(load|store)_format_d16_x"), _named(r"(t?buffer|image)_")),
    "GLOBAL": FlagRule(_named(r"global_(load|store)"), _named("global_", "cluster_", "tensor_")),
    "FPDP": FlagRule(_named(r"v_(add|mul|fma)_f64"), _named(r".*(64|16)")),
    "FPATOMIC": FlagRule(
        _named(r"(buffer|global|flat)_atomic_add_f(32|64)"),
        _named(r".*(_f16|_f32|_f64|bf16|fcmpswap|fmin|fmax|num|_flt)"),
    ),
    "MAI": _same(_named(r"v_(mfma(?!_ld)|smfmac|accvgpr_(read|write))")),
    "DOT": FlagRule(
        lambda e: _named(r"v_dot\d_")(e) and not _opcode("dpp")(e), _named(r"v_(dot|dual_dot)")
    ),
    "SCRATCH": _same(_named("scratch_")),
    "ATOMIC_NORET": FlagRule(_never, _named(r".*atomic", "ds_")),
    "ATOMIC_RET": FlagRule(
        _named(r"ds_(add|sub|min|max|and|or)_rtn_[ufb]32"), _named(r".*atomic", "ds_")
    ),
    "WMMA": FlagRule(_named(r"v_wmma_(scale|f32|f16|bf16|i32)"), _named(r"v_s?wmma")),
    "GWS": _same(_named("ds_gws_")),
    "SWMMAC": _same(_named("v_swmmac")),
}

UNVERIFIED = frozenset(
    {"DISABLE_WQM", "FIXED_SIZE", "RENAMED_GFX9", "TIED_NOT_READ", "NEVER_UNIFORM"}
)
"""Flags whose names only LLVM's source explains; nothing of ours is derived from them."""
