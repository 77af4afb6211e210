# SPDX-License-Identifier: Apache-2.0
"""Which VGPR bank `s_set_vgpr_msb` selects for an operand (gfx1250).

The low byte of the mode holds two bits each for source 0, source 1, source 2 and destination,
from the lowest.  Which operand counts as which depends on the kind of instruction (LLVM 22:
AMDGPU::getVGPRLoweringOperandTables).
"""

from __future__ import annotations

from functools import lru_cache

from postproc.isa.model import Entry, OperandValue

__all__ = ["bank_of", "bank_slot", "mode_after"]

_SRC0, _SRC1, _SRC2, _DST = range(4)

_VALU = {"src0": _SRC0, "src1": _SRC1, "src2": _SRC2, "vdst": _DST}
_SWAP = {"vdst": _DST, "vdst1": _SRC0, "src0_out": _SRC0}
_DUAL = {
    "src0": _SRC0,
    "vsrc1": _SRC1,
    "vsrc2": _SRC2,
    "src2": _SRC2,
    "vdst": _DST,
}
_DUAL_MADMK = {"src0": _SRC0, "vsrc1": _SRC2, "vdst": _DST}
_DS = {"addr": _SRC0, "data0": _SRC1, "data1": _SRC2, "vdst": _DST}
_FLAT = {"vaddr": _SRC0, "vdata": _SRC1, "vdst": _DST}
_BUFFER = {"vaddr": _SRC0, "vdata": _DST}
_IMAGE = {"vaddr0": _SRC0, "vaddr1": _SRC1, "vaddr2": _SRC2, "vdata": _DST}
_MADMK = {"src0": _SRC0, "src1": _SRC2, "vdst": _DST}

_BY_FLAG = {
    "DS": _DS,
    "FLAT": _FLAT,
    "MUBUF": _BUFFER,
    "MTBUF": _BUFFER,
    "VIMAGE": _IMAGE,
    "VSAMPLE": _IMAGE,
}

_UNBANKED = ("V_WMMA_LD_SCALE",)


def bank_slot(entry: Entry, role: str) -> int | None:
    """0 to 3 for source 0, source 1, source 2, destination; None: always bank 0."""
    return _slots(entry.llvm_name, entry.mnemonic, entry.ts_flags).get(role)


def bank_of(entry: Entry, role: str, mode: int) -> int:
    """The bank (0 to 3) of an operand under the mode byte `mode`."""
    slot = bank_slot(entry, role)
    return 0 if slot is None else mode >> 2 * slot & 3


def mode_after(entry: Entry | None, operands: tuple[OperandValue, ...], mode: int) -> int:
    """The mode byte that llvm-objdump assumes behind an instruction (None: undecodable).

    It reads the text linearly: `s_set_vgpr_msb` sets the mode, a terminator or an undecodable
    word clears it, and so does every symbol, which the caller sees to.
    """
    if entry is None or "terminator" in entry.desc_flags:
        return 0
    if entry.mnemonic == "s_set_vgpr_msb":
        return operands[0].value & 0xFF
    return mode


@lru_cache(maxsize=1 << 13)
def _slots(llvm_name: str, mnemonic: str, flags: frozenset[str]) -> dict[str, int]:
    if " :: " in mnemonic:
        return _dual_slots(mnemonic)
    for flag, slots in _BY_FLAG.items():
        if flag in flags:
            return slots
    if "VALU" not in flags or llvm_name.startswith(_UNBANKED):
        return {}
    if llvm_name.startswith(("V_FMAMK", "V_MADMK")):
        return _MADMK
    return _SWAP if "SWAP" in llvm_name else _VALU


def _dual_slots(mnemonic: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for half, name in zip("XY", mnemonic.split(" :: "), strict=True):
        slots = _DUAL_MADMK if "fmamk" in name else _DUAL
        found |= {role + half: slot for role, slot in slots.items()}
    return found
