# SPDX-License-Identifier: Apache-2.0
"""What kind of instruction an entry is, as one set of bits, so that whole texts can be asked.

Formats, MCInstrDesc flags and TSFlags of LLVM are the source; mnemonics decide only where LLVM has
no flag (which transfers are conditional, which read the program counter).
"""

from __future__ import annotations

from enum import IntFlag
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postproc.isa.model import Entry


class Flag(IntFlag):
    """Properties of an instruction; an instruction has several."""

    SALU = 1 << 0
    VALU = 1 << 1
    SMEM = 1 << 2
    VMEM = 1 << 3
    """Vector memory: buffer, image, global, scratch, flat."""
    FLAT = 1 << 4
    """The flat form of vector memory, which may reach LDS."""
    SCRATCH = 1 << 5
    DS = 1 << 6
    EXPORT = 1 << 7
    TENSOR = 1 << 8
    LOAD = 1 << 9
    STORE = 1 << 10
    ATOMIC = 1 << 11
    BRANCH = 1 << 12
    """Direct jump or indirect jump that is no call."""
    CONDITIONAL = 1 << 13
    INDIRECT = 1 << 14
    CALL = 1 << 15
    END = 1 << 16
    """Ends the wave (`s_endpgm*`)."""
    TRAP = 1 << 17
    BARRIER = 1 << 18
    WAIT = 1 << 19
    READS_PC = 1 << 20
    DPP = 1 << 21
    SDWA = 1 << 22
    TRANS = 1 << 23
    MATRIX = 1 << 24
    """MFMA, WMMA and their sparse forms."""
    DUAL = 1 << 25
    IMAGE = 1 << 26
    BUFFER = 1 << 27
    GLOBAL = 1 << 28
    LANE_ACCESS = 1 << 29
    """Reads or writes single lanes: readlane, writelane, readfirstlane, permlane."""


FORMATS: dict[str, Flag] = {
    **dict.fromkeys(("SOP1", "SOP2", "SOPC", "SOPK", "SOPP"), Flag.SALU),
    "SMEM": Flag.SMEM,
    "DS": Flag.DS,
    "EXP": Flag.EXPORT,
    "LDSDIR": Flag.DS,
    "VINTRP": Flag.VALU,
    "VINTERP": Flag.VALU,
    **dict.fromkeys(("FLAT", "VFLAT"), Flag.VMEM | Flag.FLAT),
    **dict.fromkeys(("GLOBAL", "VGLOBAL"), Flag.VMEM | Flag.GLOBAL),
    **dict.fromkeys(("SCRATCH", "VSCRATCH"), Flag.VMEM | Flag.SCRATCH),
    **dict.fromkeys(("MUBUF", "MTBUF", "VBUFFER"), Flag.VMEM | Flag.BUFFER),
    **dict.fromkeys(("MIMG", "VIMAGE", "VSAMPLE"), Flag.VMEM | Flag.IMAGE),
    "TENSOR": Flag.VMEM | Flag.TENSOR,
}
"""By encoding format; every other format is VALU."""

_PREFIXES: tuple[tuple[tuple[str, ...], Flag], ...] = (
    (("s_endpgm",), Flag.END),
    (("s_trap",), Flag.TRAP),
    (("s_swappc", "s_swap_pc", "s_call"), Flag.CALL),
    (("s_swappc", "s_swap_pc", "s_setpc", "s_set_pc", "s_add_pc", "s_rfe"), Flag.INDIRECT),
    (("s_branch", "s_cbranch", "s_setpc", "s_set_pc", "s_add_pc", "s_rfe"), Flag.BRANCH),
    (("s_subvector_loop",), Flag.BRANCH | Flag.CONDITIONAL),
    (("s_cbranch",), Flag.CONDITIONAL),
    (("s_getpc", "s_get_pc", "s_swappc", "s_swap_pc", "s_call", "s_add_pc"), Flag.READS_PC),
    (("s_prefetch_inst_pc_rel", "s_prefetch_data_pc_rel"), Flag.READS_PC),
    (("s_barrier",), Flag.BARRIER),
    (("s_wait",), Flag.WAIT),
    (("v_readlane", "v_writelane", "v_readfirstlane", "v_permlane"), Flag.LANE_ACCESS),
    (("v_mfma", "v_smfmac", "v_wmma", "v_swmmac"), Flag.MATRIX),
    (("v_dual",), Flag.DUAL),
)


def classify(entry: Entry) -> Flag:
    """The flags of an entry."""
    flags = FORMATS.get(entry.format, Flag.VALU)
    for prefixes, more in _PREFIXES:
        if entry.mnemonic.startswith(prefixes):
            flags |= more
    if "_DPP" in entry.format:
        flags |= Flag.DPP
    if entry.format.endswith("_SDWA"):
        flags |= Flag.SDWA
    if "TRANS" in entry.ts_flags:
        flags |= Flag.TRANS
    if flags & (Flag.VMEM | Flag.SMEM | Flag.DS):
        flags |= Flag.LOAD if "mayload" in entry.desc_flags else Flag(0)
        flags |= Flag.STORE if "maystore" in entry.desc_flags else Flag(0)
        if {"ATOMIC_RET", "ATOMIC_NORET"} & entry.ts_flags or "_atomic_" in entry.mnemonic:
            flags |= Flag.ATOMIC
    return flags
