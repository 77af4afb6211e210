# SPDX-License-Identifier: Apache-2.0
"""Placement: where accepted edits go.  The core chooses, never a plugin.

A `Placement` tries one way; `place` tries the ways that the configuration allows, in order, for all
merged edits of an object in order of place.  What no way can place is refused; where a merged edit
holds required and optional edits, the required ones are tried once more without the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from postproc.errors import Refusal
from postproc.placement.in_place import InPlace
from postproc.transaction import MergedEdit, PlacedEdit, Plan, RefusedEdit

if TYPE_CHECKING:
    from postproc.passes import ObjectView

__all__ = ["InPlace", "Placement", "place", "placements"]


class Placement(Protocol):
    """One way to place code."""

    @property
    def name(self) -> str:
        """As reports show it: "in-place"."""

    def place(self, view: ObjectView, merged: MergedEdit) -> PlacedEdit | Refusal:
        """Place one merged edit, or say why this way cannot."""


def placements(setting: str) -> tuple[Placement, ...]:
    """The ways that `[postproc] placement` allows, in the order in which they are tried."""
    known: dict[str, tuple[Placement, ...]] = {"auto": (InPlace(),), "in-place": (InPlace(),)}
    return known[setting]


def place(view: ObjectView, accepted: Sequence[MergedEdit], ways: Sequence[Placement]) -> Plan:
    """Place all edits of one code object.  The result does not depend on their order."""
    placed: list[PlacedEdit] = []
    refused: list[RefusedEdit] = []
    queue = list(reversed(accepted))
    while queue:
        merged = queue.pop()
        result = _try(view, merged, ways)
        if isinstance(result, PlacedEdit):
            placed.append(result)
            continue
        rest = merged.without_optional()
        keep = {id(edit) for part in rest for edit in part.edits}
        retry = len(keep) < len(merged.edits)
        lost = [edit for edit in merged.edits if not retry or id(edit) not in keep]
        refused.extend(RefusedEdit(edit, result) for edit in lost)
        queue.extend(reversed(rest) if retry else ())
    return Plan(view.code_object, tuple(placed), tuple(refused))


def _try(view: ObjectView, merged: MergedEdit, ways: Sequence[Placement]) -> PlacedEdit | Refusal:
    reasons = []
    for way in ways:
        result = way.place(view, merged)
        if isinstance(result, PlacedEdit):
            return result
        reasons.append((way.name, result))
    first = reasons[0][1]
    others = tuple(f"{name}: {refusal.reason}" for name, refusal in reasons[1:])
    return Refusal(first.reason, (*first.evidence, *others))
