# SPDX-License-Identifier: Apache-2.0
"""Register names, as LLVM spells them.

Scalar registers are numbered by their hardware code (`postproc.isa.model.RegisterCode`); which
codes carry names depends on the generation (LLVM: SIRegisterInfo.td).  LLVM's disassembler names
a code after the register of any generation, so `null` appears on GFX9 too.
"""

from __future__ import annotations

from functools import lru_cache

from postproc.isa.model import OperandValue, RegisterCode
from postproc.isa.printing.context import TargetFacts

__all__ = ["in_class", "register_name", "special_registers", "value_register"]

_TTMP = 108
_HALVES = ("", ".l", ".h")

_APERTURES = {
    230: "src_flat_scratch_base_lo",
    231: "src_flat_scratch_base_hi",
    235: "src_shared_base",
    236: "src_shared_limit",
    237: "src_private_base",
    238: "src_private_limit",
}
_SOURCES = {
    239: "src_pops_exiting_wave_id",
    251: "src_vccz",
    252: "src_execz",
    253: "src_scc",
    254: "src_lds_direct",
}


@lru_cache(maxsize=64)
def special_registers(target: TargetFacts) -> dict[tuple[int, int], str]:
    """Names of (hardware code, width in dwords) of the scalar registers that have one."""
    major = target.major
    pairs = {106: "vcc", 126: "exec"}
    if major < 10:
        pairs |= {102: "flat_scratch", 104: "xnack_mask"}
    names = {(code, 2): name for code, name in pairs.items()}
    for code, name in pairs.items():
        names |= {(code, 1): f"{name}_lo", (code + 1, 1): f"{name}_hi"}
    m0, null = (125, 124) if major >= 11 else (124, 125)
    names[m0, 1] = "m0"
    names |= {(null, width): "null" for width in range(1, 33)}
    for code, name in (_APERTURES | _SOURCES).items():
        names |= {(code, width): name for width in (1, 2)}
    return names


@lru_cache(maxsize=1 << 14)
def register_name(code: RegisterCode, width: int, target: TargetFacts) -> str:
    """The name of `width` dwords from `code` on, or of a 16-bit half of one."""
    if code.file == "-":
        return ""
    if code.file == "s":
        special = special_registers(target).get((code.index, max(width, 1)))
        if special is not None:
            return special + _HALVES[code.half]
        if _TTMP <= code.index < _TTMP + 16:
            return _numbered("ttmp", code.index - _TTMP, width, code.half)
    return _numbered(code.file, code.index, width, code.half)


def _numbered(file: str, index: int, width: int, half: int) -> str:
    if width > 1:
        return f"{file}[{index}:{index + width - 1}]"
    return f"{file}{index}{_HALVES[half]}"


def value_register(value: OperandValue, target: TargetFacts, bank: int = 0) -> str:
    """The register of an operand; `bank` is its VGPR bank on gfx1250 (0 to 3)."""
    code = value.register
    if code is None:
        raise ValueError(f"{value.spec.role} is no register")
    name = register_name(code, value.width, target)
    if bank and code.file == "v":
        banked = RegisterCode("v", code.half, code.index + 256 * bank, code.width)
        return f"{name} /*{register_name(banked, value.width, target)}*/"
    return name


_CLASS_FILES = {
    "VGPR": "v",
    "VReg": "v",
    "AGPR": "a",
    "AReg": "a",
    "AV": "va",
    "VS": "vs",
    "SReg": "s",
    "SRegOrLds": "s",
    "VRegOrLds": "v",
}
_EXEC_LO, _EXEC_HI, _LDS_DIRECT = 126, 127, 254
_INLINE_VALUES = frozenset((*_APERTURES, *(c for c in _SOURCES if c != _LDS_DIRECT)))


@lru_cache(maxsize=1 << 14)
def in_class(code: RegisterCode, width: int, name: str, target: TargetFacts) -> bool:
    """Whether LLVM's register class `name` holds the register, or LLVM does not mind.

    The classes are known by their names: file, bits, `Align2` (even first register), `Lo128` and
    `Lo256` (first registers only), `XM0`, `XEXEC`, `XEXEC_HI`, `XNULL` (without that register).
    """
    kind, _, rest = name.partition("_")
    files = _CLASS_FILES.get(kind)
    if files is None or code.file == "-":
        return True
    bits, *traits = rest.split("_")
    if code.file == "s":
        if code.index not in _INLINE_VALUES and max(width, 1) != max(int(bits) // 32, 1):
            return code.index == (124 if target.major >= 11 else 125)
        return _scalar_in_class(code.index, kind, files, traits, target)
    if code.file not in files:
        return False
    if (bits == "16") != bool(code.half):
        return False
    if ("Align2" in traits or "Lo256" in traits) and width > 1 and code.index % 2:
        return False
    return code.index < (128 if "Lo128" in traits else 256)


def _scalar_in_class(
    index: int, kind: str, files: str, traits: list[str], target: TargetFacts
) -> bool:
    if index in _INLINE_VALUES:
        return True
    null = 124 if target.major >= 11 else 125
    if index == null:
        return True
    if index == _LDS_DIRECT:
        return kind in ("SRegOrLds", "VRegOrLds", "VS")
    if "s" not in files:
        return False
    m0 = 125 if target.major >= 11 else 124
    excluded = set()
    if "XM0" in traits:
        excluded.add(m0)
    if "XEXEC" in traits:
        excluded |= {_EXEC_HI} if "HI" in traits else {_EXEC_LO, _EXEC_HI}
    return index not in excluded
