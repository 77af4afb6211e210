# SPDX-License-Identifier: Apache-2.0
"""The rules, by the names that the table of defects uses.

A row whose rule has no module here is detected only: its sites are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from postproc_hotswap.rules import (
    backward_add_pc,
    clause,
    cluster_load,
    integer_wmma,
    mode_write,
    scale_prefix,
    sethalt,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from postproc_hotswap.defects import Defect
    from postproc_hotswap.text import Finding, Rule, Text

__all__ = ["RULES", "treat"]

RULES: Final[Mapping[str, Rule]] = {
    "backward-add-pc": backward_add_pc.treat,
    "clause": clause.treat,
    "cluster-load": cluster_load.treat,
    "integer-wmma": integer_wmma.treat,
    "mode-write": mode_write.treat,
    "scale-prefix": scale_prefix.treat,
    "sethalt": sethalt.treat,
}

_LOOK_FIRST: Final = frozenset({"backward-add-pc"})
"""Rules that find out whether there is a site at all before the policy counts."""

_NO_REWRITE: Final = "; this version detects it and does not rewrite it"


def treat(text: Text, index: int, defect: Defect) -> Iterable[Finding]:
    """What becomes of the site at instruction `index`, which belongs to the row `defect`."""
    policy = getattr(text.config, defect.policy)
    if defect.rule in _LOOK_FIRST:
        return RULES[defect.rule](text, index, defect)
    if policy == "refuse":
        why = "" if defect.rule in RULES else _NO_REWRITE
        return [text.refuse(index, defect.rule, f"{defect.reason}{why}")]
    if policy == "keep":
        return [text.preserve(index, defect.rule, f"kept by policy, although {defect.reason}")]
    return RULES[defect.rule](text, index, defect)
