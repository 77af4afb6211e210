# SPDX-License-Identifier: Apache-2.0
"""Targets: the processor in `e_flags`, its features, and how target identifiers are written.

Sources: llvm/include/llvm/BinaryFormat/ELF.h (EF_AMDGPU_*), llvm/docs/AMDGPUUsage.rst ("Target ID",
"ELF Header").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, final

__all__ = [
    "PROCESSORS",
    "FeatureSetting",
    "Processor",
    "Target",
    "decode_flags",
    "disagreement",
]

FeatureSetting = Literal["unsupported", "any", "off", "on"]
"""A target feature: the processor lacks it; code for either setting; for off only; for on only."""


@final
@dataclass(frozen=True, slots=True)
class Processor:
    """One value of EF_AMDGPU_MACH.

    `version` is (major, minor, stepping).  A generic processor has the version of the oldest
    processor that it covers.  `xnack` and `sramecc` tell whether code can be built for either
    setting of the feature.
    """

    mach: int
    name: str
    version: tuple[int, int, int]
    xnack: bool = False
    sramecc: bool = False

    @property
    def is_generic(self) -> bool:
        """Whether the code runs on a whole family."""
        return self.name.endswith("-generic")


def _exact(mach: int, name: str, features: str = "") -> Processor:
    """A processor `gfx<major><minor><stepping>`: minor and stepping are one hex digit each."""
    digits = name.removeprefix("gfx").removesuffix("-strict")
    version = (int(digits[:-2]), int(digits[-2], 16), int(digits[-1], 16))
    return Processor(mach, name, version, "x" in features, "s" in features)


# x: xnack, s: sramecc are selectable (AMDGPUUsage, "AMDGPU Processors").  Values above LLVM 22's
# table are those of its main branch; 0xeb is gfx1250 stepping A0, as Triton 3.9's LLVM writes it.
_TABLE: Final = (
    _exact(0x20, "gfx600"),
    _exact(0x21, "gfx601"),
    _exact(0x22, "gfx700"),
    _exact(0x23, "gfx701"),
    _exact(0x24, "gfx702"),
    _exact(0x25, "gfx703"),
    _exact(0x26, "gfx704"),
    _exact(0x28, "gfx801", "x"),
    _exact(0x29, "gfx802"),
    _exact(0x2A, "gfx803"),
    _exact(0x2B, "gfx810", "x"),
    _exact(0x2C, "gfx900", "x"),
    _exact(0x2D, "gfx902", "x"),
    _exact(0x2E, "gfx904", "x"),
    _exact(0x2F, "gfx906", "xs"),
    _exact(0x30, "gfx908", "xs"),
    _exact(0x31, "gfx909", "x"),
    _exact(0x32, "gfx90c", "x"),
    _exact(0x33, "gfx1010", "x"),
    _exact(0x34, "gfx1011", "x"),
    _exact(0x35, "gfx1012", "x"),
    _exact(0x36, "gfx1030"),
    _exact(0x37, "gfx1031"),
    _exact(0x38, "gfx1032"),
    _exact(0x39, "gfx1033"),
    _exact(0x3A, "gfx602"),
    _exact(0x3B, "gfx705"),
    _exact(0x3C, "gfx805"),
    _exact(0x3D, "gfx1035"),
    _exact(0x3E, "gfx1034"),
    _exact(0x3F, "gfx90a", "xs"),
    _exact(0x40, "gfx940", "xs"),
    _exact(0x41, "gfx1100"),
    _exact(0x42, "gfx1013", "x"),
    _exact(0x43, "gfx1150"),
    _exact(0x44, "gfx1103"),
    _exact(0x45, "gfx1036"),
    _exact(0x46, "gfx1101"),
    _exact(0x47, "gfx1102"),
    _exact(0x48, "gfx1200"),
    _exact(0x49, "gfx1250", "xs"),
    _exact(0x4A, "gfx1151"),
    _exact(0x4B, "gfx941", "xs"),
    _exact(0x4C, "gfx942", "xs"),
    _exact(0x4E, "gfx1201"),
    _exact(0x4F, "gfx950", "xs"),
    _exact(0x50, "gfx1310"),
    Processor(0x51, "gfx9-generic", (9, 0, 0), xnack=True),
    Processor(0x52, "gfx10-1-generic", (10, 1, 0), xnack=True),
    Processor(0x53, "gfx10-3-generic", (10, 3, 0)),
    Processor(0x54, "gfx11-generic", (11, 0, 0)),
    _exact(0x55, "gfx1152"),
    _exact(0x57, "gfx1154"),
    _exact(0x58, "gfx1153"),
    Processor(0x59, "gfx12-generic", (12, 0, 0)),
    _exact(0x5A, "gfx1251", "xs"),
    Processor(0x5B, "gfx12-5-generic", (12, 5, 0), xnack=True, sramecc=True),
    _exact(0x5C, "gfx1172"),
    _exact(0x5D, "gfx1170"),
    _exact(0x5E, "gfx1171"),
    Processor(0x5F, "gfx9-4-generic", (9, 4, 0), xnack=True, sramecc=True),
    Processor(0x62, "gfx11-7-generic", (11, 7, 0)),
    Processor(0x63, "gfx13-generic", (13, 1, 0)),
    _exact(0xEB, "gfx1250-strict", "xs"),
)

PROCESSORS: Final[Mapping[int, Processor]] = {entry.mach: entry for entry in _TABLE}
"""Processors by EF_AMDGPU_MACH.

gfx940 and gfx941 were withdrawn (LLVM reserves their numbers again), but code objects exist.
"""


@final
@dataclass(frozen=True, slots=True)
class Target:
    """What a code object is for; `str()` gives its target identifier.

    `generic_version` is 0 unless the processor is generic.  `code_object_version` is 3 to 6.
    """

    processor: str
    version: tuple[int, int, int]
    xnack: FeatureSetting
    sramecc: FeatureSetting
    generic_version: int
    code_object_version: int

    def __str__(self) -> str:
        suffix = "".join(
            f":{name}{_SIGN[setting]}"
            for name, setting in (("sramecc", self.sramecc), ("xnack", self.xnack))
            if setting in _SIGN
        )
        return f"amdgcn-amd-amdhsa--{self.processor}{suffix}"

    @property
    def is_generic(self) -> bool:
        """Whether the code runs on a whole family of processors."""
        return self.processor.endswith("-generic")


_SIGN: Final[Mapping[str, str]] = {"on": "+", "off": "-"}
_V4_SETTINGS: Final[tuple[FeatureSetting, ...]] = ("unsupported", "any", "off", "on")


def decode_flags(flags: int, code_object_version: int) -> Target | None:
    """The target that `e_flags` name; None if the processor is not known.

    Version 3 has one bit a feature (0x100 xnack, 0x200 sramecc); version 4 and later have fields of
    two bits (0x300 xnack, 0xc00 sramecc), and version 6 a generic version in the top byte.
    """
    processor = PROCESSORS.get(flags & 0xFF)
    if processor is None:
        return None
    if code_object_version == 3:
        xnack = _v3_setting(bool(flags & 0x100), processor.xnack)
        sramecc = _v3_setting(bool(flags & 0x200), processor.sramecc)
    else:
        xnack = _V4_SETTINGS[flags >> 8 & 3]
        sramecc = _V4_SETTINGS[flags >> 10 & 3]
    return Target(
        processor.name,
        processor.version,
        xnack,
        sramecc,
        flags >> 24 if code_object_version >= 6 else 0,
        code_object_version,
    )


def _v3_setting(enabled: bool, supported: bool) -> FeatureSetting:
    if enabled:
        return "on"
    return "off" if supported else "unsupported"


_TARGET_ID: Final = re.compile(r"[^-]+-amd-amdhsa-[^-]*-(gfx[0-9a-z-]+?)((?:[:+](?:.*))?)")
_FEATURE: Final = re.compile(r"(xnack|sramecc)([+-])")


def disagreement(target: Target, identifier: str) -> str | None:
    """How the metadata's `amdhsa.target` contradicts `target`; None if it does not.

    Identifiers are written `amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-` and, by newer LLVM,
    `amdgpu12.50-amd-amdhsa-unknown-gfx1250`.  One of another form contradicts nothing.
    """
    match = _TARGET_ID.fullmatch(identifier)
    if match is None:
        return None
    if match[1] != target.processor:
        return f"e_flags say {target.processor}, the metadata say {match[1]}"
    for name, sign in _FEATURE.findall(match[2]):
        setting: FeatureSetting = target.xnack if name == "xnack" else target.sramecc
        if setting in _SIGN and _SIGN[setting] != sign:
            return f"e_flags say {name}{_SIGN[setting]}, the metadata say {name}{sign}"
    return None
