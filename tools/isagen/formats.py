# SPDX-License-Identifier: Apache-2.0
"""Names the encoding format of an entry, after the ISA manuals."""

from __future__ import annotations

_PLAIN = (
    *("VSAMPLE", "VIMAGE", "MIMG", "EXP", "DS", "VINTERP", "VINTRP"),
    *("SOP1", "SOP2", "SOPC", "SOPK", "SOPP"),
)


def format_of(llvm_name: str, ts_flags: frozenset[str], size: int, value: int) -> str:
    """`size`: bytes of the encoding without literal; `value`: its fixed bits."""
    for prefix, name in (
        ("V_DUAL_", "VOPD3" if "VOPD3" in ts_flags else "VOPD"),
        ("TENSOR_", "TENSOR"),
    ):
        if llvm_name.startswith(prefix):
            return name
    if memory := _memory_format(ts_flags, size):
        return memory
    if "SDWA" in ts_flags:
        return _short_vop(value) + "_SDWA"
    dpp8 = "dpp8" in llvm_name
    dpp = "DPP8" if dpp8 else "DPP" if "DPP" in ts_flags or "_dpp" in llvm_name else ""
    if "DPP" in ts_flags and size == 8:
        return f"{_short_vop(value)}_{dpp}"
    if vector := _vector_format(ts_flags, size):
        return f"{vector}_{dpp}" if dpp else vector
    return next((name for name in _PLAIN if name in ts_flags), "OTHER")


def _memory_format(ts_flags: frozenset[str], size: int) -> str:
    if "FLAT" in ts_flags:
        segment = next((s for s in ("SCRATCH", "GLOBAL") if s in ts_flags), "FLAT")
        return f"V{segment}" if size == 12 else segment
    for name in ("MUBUF", "MTBUF"):
        if name in ts_flags:
            return "VBUFFER" if size == 12 else name
    if "SMRD" in ts_flags:
        return "SMEM"
    return "LDSDIR" if "LDSDIR" in ts_flags else ""


def _vector_format(ts_flags: frozenset[str], size: int) -> str:
    name = next((n for n in ("VOP3P", "VOP3", "VOPC", "VOP2", "VOP1") if n in ts_flags), "")
    if name and "VINTERP" in ts_flags:
        return "VINTERP"
    if name == "VOP3P":
        return "VOP3PX" if size == 16 else "VOP3P_MAI" if "MAI" in ts_flags else name
    return name


def _short_vop(value: int) -> str:
    """VOP1, VOP2 or VOPC by the top bits of the first dword."""
    top = value >> 25 & 0x7F
    return {0x3E: "VOPC", 0x3F: "VOP1"}.get(top, "VOP2")
