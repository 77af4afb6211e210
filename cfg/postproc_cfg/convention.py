# SPDX-License-Identifier: Apache-2.0
"""What LLVM's calling convention for functions promises (AMDGPUUsage, "Non-Kernel Functions").

A function is called with its return address in s[30:31].  Which registers it preserves has changed:
up to LLVM 20 all SGPRs from s30 on, since then stripes of eight (AMDGPUCallingConv.td,
CSR_AMDGPU_SGPRs).  Nobody can tell from an object which of the two its functions keep to, so only
what both preserve counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from postproc_cfg.definitions import LaneSlots

__all__ = ["LINK", "preserved"]

LINK: Final = 30
"""The return address is in s[30:31]."""

_PRESERVED_SGPRS: Final = (
    *range(32, 40),
    *range(48, 56),
    *range(64, 72),
    *range(80, 88),
    *range(96, 104),
)


def _is_preserved_vgpr(register: int) -> bool:
    """v40 to v47, v56 to v63, and so on: every other eight."""
    return register >= 40 and (register - 40) % 16 < 8


def preserved(slots: LaneSlots) -> int:
    """The set of registers and lane slots that a function leaves as they were."""
    found = 0
    for register in _PRESERVED_SGPRS:
        found |= 1 << register
    for (register, _), bit in slots.bits.items():
        if _is_preserved_vgpr(register):
            found |= 1 << bit
    return found
