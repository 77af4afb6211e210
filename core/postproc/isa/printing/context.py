# SPDX-License-Identifier: Apache-2.0
"""What the text of an instruction depends on besides its operands."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import final

__all__ = ["PrintContext", "TargetFacts"]


@final
@dataclass(frozen=True, slots=True)
class TargetFacts:
    """A processor as the printers see it; `version` is (major, minor, stepping) of `gfxMMms`."""

    processor: str
    version: tuple[int, int, int]
    wavefront_size: int

    @classmethod
    def of(cls, processor: str, wavefront_size: int) -> TargetFacts:
        """Raises ValueError for a name that is none of LLVM's processors."""
        found = re.fullmatch(r"gfx(\d+)([0-9a-f])([0-9a-f])(-\w+)?", processor)
        if found is None:
            raise ValueError(f"{processor!r} names no AMDGPU processor")
        major, minor, stepping = (int(found[1]), int(found[2], 16), int(found[3], 16))
        return cls(processor, (major, minor, stepping), wavefront_size)

    @property
    def major(self) -> int:
        return self.version[0]

    @property
    def is_gfx90a(self) -> bool:
        """GFX90A and what LLVM derives from it (gfx942, gfx950)."""
        return self.version[0] == 9 and (self.version[1] >= 4 or self.version[2] == 10)

    @property
    def is_gfx940(self) -> bool:
        """gfx942 and gfx950."""
        return self.version[0] == 9 and self.version[1] >= 4

    @property
    def is_gfx1250(self) -> bool:
        return self.version[:2] == (12, 5)


@final
@dataclass(frozen=True, slots=True)
class PrintContext:
    """A target, and on gfx1250 the low byte of the last `s_set_vgpr_msb` (0: none)."""

    target: TargetFacts
    vgpr_msb: int = 0

    @classmethod
    def of(cls, processor: str, wavefront_size: int = 32, vgpr_msb: int = 0) -> PrintContext:
        return cls(_facts(processor, wavefront_size), vgpr_msb)

    def with_vgpr_msb(self, mode: int) -> PrintContext:
        """The context behind `s_set_vgpr_msb mode`; only the low byte of `mode` counts."""
        return replace(self, vgpr_msb=mode & 0xFF)


@lru_cache(maxsize=64)
def _facts(processor: str, wavefront_size: int) -> TargetFacts:
    return TargetFacts.of(processor, wavefront_size)
