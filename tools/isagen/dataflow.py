# SPDX-License-Identifier: Apache-2.0
"""What data-flow analysis must know of an entry beyond its operands: the key `flow`.

Defs, uses, tied operands and implicit registers are LLVM's (`MCInstrDesc`).  Here stands what
follows from them and from the encoding, and what LLVM's MC layer does not model:

`memory`    what it accesses: "scalar", "buffer", "image", "flat", "global", "scratch", "lds",
            "gds", "ldsdir", "tensor" or "export".
`access`    of "load", "store", "atomic", "returns" (the atomic gives back the old value).
`counters`  counters that it increments: "vm", "exp", "lgkm", "tensor", "async".
`waits`     present if the wave may stop there for something else to happen.
`control`   "branch", "cbranch", "jump" (indirect), "call", "return", "end", "trap".
`partial`   [[operand index, why]]: defs that may leave some of the register's old bits in place, so
            that the old value lives on:
            "exec"         lanes that EXEC disables
            "dpp"          also lanes that DPP masks or bound_ctrl disable
            "sdwa"         also, with dst_unused = UNUSED_PRESERVE (2), the bytes that dst_sel does
                           not name
            "low16", "high16"  the other half (op_sel may turn "low16" round); "half": the half that
                           the register code does not name
            "lane"         all lanes but one
            "conditional"  the def may not happen at all (`s_cmov`)
            "indexed"      the register written is this one plus M0 or an index register
`indexed`   present if sources are addressed by M0 or an index register.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .facts import EntryFacts, Json, OperandFacts

_MEMORY: tuple[tuple[str, str], ...] = (
    ("TENSOR", "tensor"),
    ("SMEM", "scalar"),
    ("LDSDIR", "ldsdir"),
    ("DS", "lds"),
    ("EXP", "export"),
    *((name, "buffer") for name in ("MUBUF", "MTBUF", "VBUFFER")),
    *((name, "image") for name in ("MIMG", "VIMAGE", "VSAMPLE")),
    *((name, "global") for name in ("GLOBAL", "VGLOBAL")),
    *((name, "scratch") for name in ("SCRATCH", "VSCRATCH")),
    *((name, "flat") for name in ("FLAT", "VFLAT")),
)
"""By encoding format."""

_COUNTERS = {
    "VM_CNT": "vm",
    "EXP_CNT": "exp",
    "LGKM_CNT": "lgkm",
    "TENSOR_CNT": "tensor",
    "ASYNC_CNT": "async",
}

_WAITS = re.compile(
    r"s_wait|s_barrier(_wait)?$|s_barrier_leave|s_sleep|s_monitor_sleep|s_sethalt|s_sendmsghalt"
    r"|s_wakeup_barrier|ds_gws_(barrier|sema_p)|s_setkill|s_depctr"
)

_CONTROL: tuple[tuple[str, str], ...] = (
    (r"s_endpgm", "end"),
    (r"s_trap", "trap"),
    (r"s_rfe", "return"),
    (r"s_swappc|s_swap_pc|s_call", "call"),
    (r"s_cbranch_(g|i)_fork|s_cbranch_join", "jump"),
    (r"s_cbranch|s_subvector_loop", "cbranch"),
    (r"s_branch", "branch"),
    (r"s_setpc|s_set_pc|s_add_pc", "jump"),
)
"""By mnemonic; LLVM's flags are checked against it (`checks`)."""

_CONDITIONAL = re.compile(r"s_cmovk?_")
_INDEXED_DEF = re.compile(r"v_movreld|v_movrelsd|v_swaprel|s_movreld")
_INDEXED_USE = re.compile(r"v_movrels|v_swaprel|s_movrels")

_NARROW_RESULT = re.compile(
    r"(s_(?!load|buffer|cvt_pk)|v_(?!cmp|pk_|dot|interp_p1|mad_mix|fma_mix|permlane|swap|cvt_scale|cvt_sr|cvt_pk|m?q?sad))"
    r"[a-z0-9_]*?_(f16|u16|i16|b16|bf16)(_|$)"
)
_D16_LOADS = frozenset(
    {"DS", "FLAT", "GLOBAL", "SCRATCH", "VFLAT", "VGLOBAL", "VSCRATCH"}
    | {"MUBUF", "MTBUF", "VBUFFER"}
)
_D16_LOAD = re.compile(r"_d16(?!.*_xy(zw)?$)")
"""With an even number of halves they write whole registers."""

_WIDE_RESULT = re.compile(r"_(f32|u32|i32|b32|f64|b64|u64|i64)_[a-z0-9]*16")
"""A result type before the 16-bit source type, as in `v_cvt_f32_f16`."""


def flow_of(entry: EntryFacts, generation: int) -> Json:
    """`generation`: 9, 10, 11 or 12."""
    mnemonic = entry.mnemonic
    flow: Json = {}
    memory = _memory(entry)
    if memory:
        flow["memory"] = memory
    access = list(_access(entry, memory))
    if access:
        flow["access"] = access
    counters = [name for flag, name in _COUNTERS.items() if flag in entry.ts_flags]
    if counters:
        flow["counters"] = counters
    if _WAITS.match(mnemonic):
        flow["waits"] = 1
    control = next((kind for pattern, kind in _CONTROL if re.match(pattern, mnemonic)), None)
    if control:
        flow["control"] = control
    partial = [
        [index, why]
        for index, operand in enumerate(entry.operands)
        if operand.is_def or _is_indexed_def(entry, operand)
        for why in _partial(entry, operand, generation)
    ]
    if partial:
        flow["partial"] = partial
    if _INDEXED_USE.match(mnemonic):
        flow["indexed"] = 1
    return flow


def _is_indexed_def(entry: EntryFacts, operand: OperandFacts) -> bool:
    """`s_movreld`, `v_movreld`: LLVM takes the base of what is written for a use."""
    return operand.role in ("sdst", "vdst") and _INDEXED_DEF.match(entry.mnemonic) is not None


def _memory(entry: EntryFacts) -> str:
    memory = dict(_MEMORY).get(entry.format, "")
    if memory == "lds" and ("GWS" in entry.ts_flags or entry.mnemonic.startswith("ds_ordered")):
        return "gds"
    return memory


def _access(entry: EntryFacts, memory: str) -> Iterator[str]:
    if not memory:
        return
    if "mayload" in entry.desc_flags:
        yield "load"
    if "maystore" in entry.desc_flags:
        yield "store"
    if {"ATOMIC_RET", "ATOMIC_NORET"} & set(entry.ts_flags):
        yield "atomic"
    if "ATOMIC_RET" in entry.ts_flags:
        yield "returns"


def _partial(entry: EntryFacts, operand: OperandFacts, generation: int) -> Iterator[str]:
    mnemonic = entry.mnemonic
    if _CONDITIONAL.match(mnemonic):
        yield "conditional"
    if _INDEXED_DEF.match(mnemonic):
        yield "indexed"
    if not _is_vector(operand):
        if mnemonic.startswith("s_") and _written_half(entry, generation):
            yield "low16"
        return
    if mnemonic.startswith("v_writelane"):
        yield "lane"
    elif "EXEC" in entry.implicit_uses:
        yield "exec"
    if "_DPP" in entry.format:
        yield "dpp"
    if entry.format.endswith("_SDWA"):
        yield "sdwa"
    if operand.register_class.startswith("VGPR_16"):
        yield "half"
    elif half := _written_half(entry, generation):
        yield half


def _is_vector(operand: OperandFacts) -> bool:
    return operand.register_class.startswith(("VGPR", "VReg", "AGPR", "AReg", "AV", "VS"))


def _written_half(entry: EntryFacts, generation: int) -> str:
    """Of instructions that write 16 of 32 bits and say so in no operand.

    16-bit arithmetic clears the upper half up to GFX9, but where op_sel chooses the half, and
    leaves it from GFX10 on (LLVM's `zeroesHigh16BitsOfDest`); loads and conversions called `d16`,
    `mixlo` and `mixhi` always leave the other half.  Of scalar 16-bit arithmetic we do not know.
    """
    mnemonic = entry.mnemonic
    if "_d16_hi" in mnemonic or "mixhi" in mnemonic:
        return "high16"
    if "mixlo" in mnemonic or (entry.format in _D16_LOADS and _D16_LOAD.search(mnemonic)):
        return "low16"
    narrow = _NARROW_RESULT.match(mnemonic) and not _WIDE_RESULT.search(mnemonic)
    kept = generation >= 10 or "VOP3_OPSEL" in entry.ts_flags
    return "low16" if narrow and kept else ""
