# SPDX-License-Identifier: Apache-2.0
"""Which VGPR bank `s_set_vgpr_msb` selects for an operand (gfx1250).

The low byte of the mode holds two bits each for source 0, source 1, source 2 and destination,
from the lowest.  Which operand counts as which depends on the kind of instruction (LLVM 22:
AMDGPU::getVGPRLoweringOperandTables).
"""

from __future__ import annotations

from postproc.isa.model import Entry

__all__ = ["bank_of", "bank_slot"]

_SRC0, _SRC1, _SRC2, _DST = range(4)

_VALU = {"src0": _SRC0, "src1": _SRC1, "src2": _SRC2, "vdst": _DST}
_DUAL = {
    f"{role}{half}": slot
    for role, slot in {
        "src0": _SRC0,
        "vsrc1": _SRC1,
        "vsrc2": _SRC2,
        "src2": _SRC2,
        "vdst": _DST,
    }.items()
    for half in "XY"
}
_DS = {"addr": _SRC0, "data0": _SRC1, "data1": _SRC2, "vdst": _DST}
_FLAT = {"vaddr": _SRC0, "vdata": _SRC1, "vdst": _DST}
_BUFFER = {"vaddr": _SRC0, "vdata": _DST}
_IMAGE = {"vaddr0": _SRC0, "vaddr1": _SRC1, "vaddr2": _SRC2, "vdata": _DST}
_MADMK = {"src0": _SRC0, "src1": _SRC2, "vdst": _DST}

_UNBANKED = ("V_WMMA_LD_SCALE",)


def bank_slot(entry: Entry, role: str) -> int | None:
    """0 to 3 for source 0, source 1, source 2, destination; None: always bank 0."""
    return _slots(entry).get(role)


def bank_of(entry: Entry, role: str, mode: int) -> int:
    """The bank (0 to 3) of an operand under the mode byte `mode`."""
    slot = bank_slot(entry, role)
    return 0 if slot is None else mode >> 2 * slot & 3


def _slots(entry: Entry) -> dict[str, int]:
    flags = entry.ts_flags
    if entry.format.startswith("VOPD"):
        return _DUAL
    if "VALU" in flags:
        if entry.llvm_name.startswith(_UNBANKED):
            return {}
        return _MADMK if "MK_F" in entry.llvm_name else _VALU
    if "DS" in flags:
        return _DS
    if "FLAT" in flags:
        return _FLAT
    if "MUBUF" in flags or "MTBUF" in flags:
        return _BUFFER
    if "VIMAGE" in flags or "VSAMPLE" in flags:
        return _IMAGE
    return {}
