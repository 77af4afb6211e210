# SPDX-License-Identifier: Apache-2.0
"""DPP, DPP8, SDWA and `ds_swizzle`: which lane or part of a register an operand takes."""

from __future__ import annotations

from postproc.isa.model import CodedField, Entry
from postproc.isa.printing.fields import Fields, OperandPrinter

__all__ = ["DPP_RANGES", "DPP_SINGLE", "SDWA_SELECTS", "SDWA_UNUSED", "TRAILING"]

DPP_RANGES = {
    "row_shl": (0x101, 0x10F, 0x100),
    "row_shr": (0x111, 0x11F, 0x110),
    "row_ror": (0x121, 0x12F, 0x120),
    "row_share": (0x150, 0x15F, 0x150),
    "row_newbcast": (0x150, 0x15F, 0x150),
    "row_xmask": (0x160, 0x16F, 0x160),
}
"""Control -> (first code, last code, code of operand 0) of `dpp_ctrl`."""

DPP_SINGLE = {
    0x130: "wave_shl:1",
    0x134: "wave_rol:1",
    0x138: "wave_shr:1",
    0x13C: "wave_ror:1",
    0x140: "row_mirror",
    0x141: "row_half_mirror",
    0x142: "row_bcast:15",
    0x143: "row_bcast:31",
}

SDWA_SELECTS = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")
SDWA_UNUSED = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")

_BEFORE_GFX10_ONLY = {0x130, 0x134, 0x138, 0x13C, 0x142, 0x143}


def _has_double_width(entry: Entry) -> bool:
    return any(
        spec.role in ("vdst", "src0", "src1")
        and isinstance(spec.source, CodedField)
        and spec.source.width == 2
        for spec in entry.operands
    )


def dpp_control(fields: Fields, role: str) -> str:
    code = fields.number(role)
    target = fields.target
    if not 0x150 <= code <= 0x15F and _has_double_width(fields.entry) and target.is_gfx90a:
        return "  /* DP ALU dpp only supports row_newbcast */"
    if code <= 0xFF:
        lanes = ",".join(str(code >> shift & 3) for shift in (0, 2, 4, 6))
        return f" quad_perm:[{lanes}]"
    single = DPP_SINGLE.get(code)
    if single is not None:
        if code in _BEFORE_GFX10_ONLY and target.major >= 10:
            name = single.partition(":")[0]
            return f" /* {name} is not supported starting from GFX10 */"
        return " " + single
    for name, (first, last, zero) in DPP_RANGES.items():
        if first <= code <= last:
            return _ranged(name, code - zero, target.major, target.is_gfx90a)
    return " /* Invalid dpp_ctrl value */"


def _ranged(name: str, operand: int, major: int, is_gfx90a: bool) -> str:
    if name == "row_share" and is_gfx90a:
        name = "row_newbcast"
    elif name == "row_share" and major < 10:
        return "  /* row_newbcast/row_share is not supported on ASICs earlier than GFX90A/GFX10 */"
    elif name == "row_xmask" and major < 10:
        return " /* row_xmask is not supported on ASICs earlier than GFX10 */"
    return f" {name}:{operand}"


def dpp8(fields: Fields, role: str) -> str:
    code = fields.number(role)
    return f" dpp8:[{','.join(str(code >> 3 * lane & 7) for lane in range(8))}]"


def fetch_inactive(fields: Fields, role: str) -> str:
    """1, or the DPP8 source code 0xEA."""
    return " fi:1" if fields.number(role) in (1, 0xEA) else ""


def bound_control(fields: Fields, role: str) -> str:
    return " bound_ctrl:1" if fields.number(role) else ""


def lane_mask(fields: Fields, role: str) -> str:
    return f" {role}:{fields.number(role) & 0xF:#x}"


def sdwa_select(fields: Fields, role: str) -> str:
    code = fields.number(role)
    return f" {role}:{SDWA_SELECTS[code]}" if code < len(SDWA_SELECTS) else f" {role}:{code}"


def sdwa_unused(fields: Fields, role: str) -> str:
    code = fields.number(role)
    return f" {role}:{SDWA_UNUSED[code]}" if code < len(SDWA_UNUSED) else f" {role}:{code}"


def swizzle(fields: Fields, role: str) -> str:
    """The offset of `ds_swizzle_b32` as a macro (LLVM: AMDGPU::Swizzle)."""
    code = fields.number(role) & 0xFFFF
    return f" offset:{_swizzle(code)}" if code else ""


def _swizzle(code: int) -> str:
    if code >= 0xE000:
        return f"swizzle(FFT,{code & 0x1F})"
    if code >= 0xC000:
        return f"swizzle(ROTATE,{code >> 10 & 1},{code >> 5 & 0x1F})"
    if code & 0xFF00 == 0x8000:
        return f"swizzle(QUAD_PERM,{','.join(str(code >> 2 * lane & 3) for lane in range(4))})"
    if code & 0x8000:
        return str(code)
    return _bitmask_swizzle(code & 0x1F, code >> 5 & 0x1F, code >> 10 & 0x1F)


def _bitmask_swizzle(keep: int, force: int, flip: int) -> str:
    if keep == 0x1F and not force and flip and flip & flip - 1 == 0:
        return f"swizzle(SWAP,{flip})"
    if keep == 0x1F and not force and flip and flip & flip + 1 == 0:
        return f"swizzle(REVERSE,{flip + 1})"
    group = 0x1F - keep + 1
    if group > 1 and group & group - 1 == 0 and force < group and not flip:
        return f"swizzle(BROADCAST,{group},{force})"
    zeros = force ^ flip
    ones = (keep | force) ^ flip
    bits = []
    for mask in (16, 8, 4, 2, 1):
        low, high = bool(zeros & mask), bool(ones & mask)
        bits.append(str(int(low)) if low == high else ("i" if low else "p"))
    return f'swizzle(BITMASK_PERM,"{"".join(bits)}")'


TRAILING: dict[str, OperandPrinter] = {
    "dpp_ctrl": dpp_control,
    "dpp8": dpp8,
    "fi": fetch_inactive,
    "bound_ctrl": bound_control,
    "row_mask": lane_mask,
    "bank_mask": lane_mask,
    "dst_sel": sdwa_select,
    "src0_sel": sdwa_select,
    "src1_sel": sdwa_select,
    "dst_unused": sdwa_unused,
    "swizzle": swizzle,
}
