# SPDX-License-Identifier: Apache-2.0
"""`s_add_pc_i64` that goes backwards: reported, or refused by policy.

Forward ones are no sites: nothing is known against them.  Of those that add a register nobody can
tell the direction; they count as backward.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from postproc_cfg import constant_jump

if TYPE_CHECKING:
    from collections.abc import Iterable

    from postproc_hotswap.defects import Defect
    from postproc_hotswap.text import Finding, Text

__all__ = ["treat"]


def treat(text: Text, index: int, defect: Defect) -> Iterable[Finding]:
    """Preserve or refuse a jump that may go backwards."""
    distance = constant_jump(text.decoded[index])
    if distance is not None and distance >= 0:
        return
    if text.config.backward_add_pc == "refuse":
        yield text.refuse(index, defect.rule, defect.reason)
    else:
        yield text.preserve(index, defect.rule, f"kept by policy, although {defect.reason}")
