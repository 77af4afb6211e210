# SPDX-License-Identifier: Apache-2.0
"""How a kernel descriptor counts registers: granules by target, as data.

Sources: AMDGPUUsage, "compute_pgm_rsrc1"; llvm/lib/Target/AMDGPU/Utils/AMDGPUBaseInfo.cpp,
getVGPREncodingGranule and getSGPREncodingGranule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

__all__ = ["RegisterGranules", "granules"]


@final
@dataclass(frozen=True, slots=True)
class RegisterGranules:
    """Registers that one step of a count in compute_pgm_rsrc1 stands for.

    `vgpr`: the field is max(0, ceil(n / vgpr) - 1).  `sgpr`: likewise; None where the hardware
    gives each wave a fixed number and the field means nothing.  `unified`: accumulation registers
    are counted too, after `align(arch VGPRs, 4)`.
    """

    vgpr: int
    sgpr: int | None
    unified: bool

    def vgpr_field(self, count: int) -> int:
        """The value of granulated_workitem_vgpr_count for `count` registers."""
        return max(0, -(-count // self.vgpr) - 1)

    def vgprs_owned(self, field: int) -> int:
        """The registers that a wave has with that field."""
        return (field + 1) * self.vgpr

    def sgpr_field(self, count: int) -> int:
        """The value of granulated_wavefront_sgpr_count; 0 where it means nothing."""
        return 0 if self.sgpr is None else max(0, -(-count // self.sgpr) - 1)

    def sgprs_owned(self, field: int) -> int | None:
        """The registers that a wave certainly has with that field; None where it means nothing."""
        return None if self.sgpr is None else (field + 1) * self.sgpr


@final
@dataclass(frozen=True, slots=True)
class _Row:
    """Targets with `first <= version`, up to the next row of the same wavefront size."""

    first: tuple[int, int, int]
    wavefront_size: int
    granules: RegisterGranules


# The SGPR granule of gfx9 is 8, as LLVM's encoder and decoder have it; the documentation's formula
# gives 16, in pairs (https://github.com/llvm/llvm-project/issues/193035).  With 8, a count that is
# written is never too small and a count that is read never too large.
_TABLE: Final[Sequence[_Row]] = (
    _Row((6, 0, 0), 64, RegisterGranules(4, 8, unified=False)),
    _Row((9, 0, 0xA), 64, RegisterGranules(8, 8, unified=True)),  # gfx90a
    _Row((9, 0, 0xB), 64, RegisterGranules(4, 8, unified=False)),  # gfx90c
    _Row((9, 4, 0), 64, RegisterGranules(8, 8, unified=True)),  # gfx940 family, gfx950
    _Row((10, 0, 0), 64, RegisterGranules(4, None, unified=False)),
    _Row((10, 0, 0), 32, RegisterGranules(8, None, unified=False)),
    _Row((12, 5, 0), 64, RegisterGranules(8, None, unified=False)),
    _Row((12, 5, 0), 32, RegisterGranules(16, None, unified=False)),
)
_UNKNOWN_FROM: Final = (13, 0, 0)


def granules(version: tuple[int, int, int], wavefront_size: int) -> RegisterGranules | None:
    """The granules of targets of that version; None if they are not known."""
    if version >= _UNKNOWN_FROM:
        return None
    found = None
    for row in _TABLE:
        if row.wavefront_size == wavefront_size and row.first <= version:
            found = row.granules
    return found
