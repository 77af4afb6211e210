# SPDX-License-Identifier: Apache-2.0
"""The plan: accepted edits, placed and encoded, and nothing left to decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from postproc.codeobject import CodeObject, TextRange
    from postproc.transaction.arbitration import RefusedEdit
    from postproc.transaction.composition import MergedEdit

__all__ = ["Move", "Patch", "PlacedEdit", "Plan"]


@final
@dataclass(frozen=True, slots=True)
class Move:
    """An original that is kept: from where, to where (equal sizes, bytes)."""

    source: TextRange
    target: TextRange


@final
@dataclass(frozen=True, slots=True)
class Patch:
    """New bytes for `span`, `len(data) == span.end - span.start`."""

    span: TextRange
    data: bytes


@final
@dataclass(frozen=True, slots=True)
class PlacedEdit:
    """A merged edit with its place.

    `placement` names how it was placed ("in-place"); `target` is where its code lies, `patches` all
    bytes it writes (the window's among them), `moves` its kept originals, in layout order.  Added
    bytes count growth of the object, added dynamic instructions one straight execution.
    """

    merged: MergedEdit
    placement: str
    target: TextRange
    patches: tuple[Patch, ...]
    moves: tuple[Move, ...]
    added_bytes: int
    added_dynamic_instructions: int


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """All placed edits of one code object, sorted by place, and those that found none."""

    code_object: CodeObject
    placed: tuple[PlacedEdit, ...]
    refused: tuple[RefusedEdit, ...]
