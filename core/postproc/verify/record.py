# SPDX-License-Identifier: Apache-2.0
"""The record of a rewrite: what was meant, in plain values.

It is what the verifier believes in place of the plan, and what `--map` writes: a stranger can check
an output against its input with it (`postproc verify`), long after the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal, final

import msgspec

from postproc.codeobject import TextRange
from postproc.transaction.claims import (
    Claim,
    ClaimMode,
    DescriptorField,
    MetadataField,
    RegisterAt,
    SymbolRef,
)
from postproc.transaction.edits import Piece
from postproc.transaction.plan import Plan

__all__ = [
    "ClaimRecord",
    "Kept",
    "NewBytes",
    "NewText",
    "Record",
    "WindowRecord",
    "record_of",
]


@final
class NewText(msgspec.Struct, frozen=True, tag="text", tag_field="kind"):
    """New assembly, in LLVM syntax."""

    text: str


@final
class NewBytes(msgspec.Struct, frozen=True, tag="bytes", tag_field="kind"):
    """New code, given as bytes (hexadecimal)."""

    hex: Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{2})*$")]


@final
class Kept(msgspec.Struct, frozen=True, tag="kept", tag_field="kind"):
    """An original: `start`..`end` of the window's section in the input, now at `new_start`."""

    start: int
    end: int
    new_start: int


RecordedPiece = NewText | NewBytes | Kept


@final
class WindowRecord(msgspec.Struct, frozen=True):
    """A rewritten window; offsets are bytes from the start of `section`.

    The window `start`..`end` of the input has become the code at `new_start`..`new_end` of
    `new_section`, made of `pieces` in this order and `s_nop` behind them.
    """

    section: int
    start: int
    end: int
    new_section: int
    new_start: int
    new_end: int
    owners: tuple[str, ...]
    rules: tuple[str, ...]
    pieces: tuple[RecordedPiece, ...]


@final
class ClaimRecord(msgspec.Struct, frozen=True):
    """A claim; of the resource only the fields of its `kind` are set."""

    owner: str
    mode: ClaimMode
    kind: Literal["text", "register", "metadata", "descriptor", "symbol"]
    reason: str
    section: int = 0
    start: int = 0
    end: int = 0
    kernel: str = ""
    name: str = ""


@final
class Record(msgspec.Struct, frozen=True):
    """Everything that was done to one code object, sorted by place."""

    windows: tuple[WindowRecord, ...] = ()
    claims: tuple[ClaimRecord, ...] = ()


def record_of(plan: Plan, claims: Iterable[Claim]) -> Record:
    """The record of a plan and of the claims that have to hold in its result."""
    windows = []
    for edit in plan.placed:
        new_starts = iter(move.target.start for move in edit.moves)
        window, target = edit.merged.window, edit.target
        windows.append(
            WindowRecord(
                section=window.section,
                start=window.start,
                end=window.end,
                new_section=target.section,
                new_start=target.start,
                new_end=target.end,
                owners=tuple(e.owner for e in edit.merged.edits),
                rules=tuple(e.site.rule for e in edit.merged.edits),
                pieces=tuple(_piece(p, new_starts) for p in edit.merged.snippet.pieces),
            )
        )
    return Record(tuple(windows), tuple(_claim(claim) for claim in claims))


def _piece(piece: Piece, new_starts: Iterator[int]) -> RecordedPiece:
    if isinstance(piece, TextRange):
        return Kept(piece.start, piece.end, next(new_starts))
    return NewBytes(piece.hex()) if isinstance(piece, bytes) else NewText(piece)


def _claim(claim: Claim) -> ClaimRecord:
    resource = claim.resource
    common = (claim.owner, claim.mode)
    if isinstance(resource, TextRange):
        span = (resource.section, resource.start, resource.end)
        return ClaimRecord(*common, "text", claim.reason, *span)
    if isinstance(resource, RegisterAt):
        at = resource.position
        return ClaimRecord(
            *common, "register", claim.reason, at.section, at.offset, name=resource.register
        )
    if isinstance(resource, MetadataField):
        return ClaimRecord(
            *common, "metadata", claim.reason, kernel=resource.kernel, name=resource.key
        )
    if isinstance(resource, DescriptorField):
        return ClaimRecord(
            *common, "descriptor", claim.reason, kernel=resource.kernel, name=resource.name
        )
    assert isinstance(resource, SymbolRef)
    return ClaimRecord(*common, "symbol", claim.reason, name=resource.name)
