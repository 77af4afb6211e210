# SPDX-License-Identifier: Apache-2.0
"""Nesting of edits: which edit stands inside which, and the one snippet that results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

from postproc.codeobject import TextRange
from postproc.transaction.edits import ANYONE, Edit, Piece, Snippet, edit_key

__all__ = ["MergedEdit", "fold", "nests"]


@final
@dataclass(frozen=True, slots=True)
class MergedEdit:
    """What is placed: one window, one snippet, and the edits it was made of, outer ones first."""

    window: TextRange
    snippet: Snippet
    edits: tuple[Edit, ...]

    @property
    def required(self) -> bool:
        """Whether any of the edits is required."""
        return any(edit.required for edit in self.edits)

    def without_optional(self) -> tuple[MergedEdit, ...]:
        """The required edits alone: what remains to be tried where the whole cannot be placed.

        An optional edit that shares a label with a required one stays: they stand together.
        """
        labels = {edit.composes for edit in self.edits if edit.required} - {None, ANYONE}
        return fold(edit for edit in self.edits if edit.required or edit.composes in labels)


def nests(inner: Edit, outer: Edit) -> bool:
    """Whether the window of `inner` lies in one original that `outer` keeps."""
    return outer.keeps(inner.window)


def fold(edits: Iterable[Edit]) -> tuple[MergedEdit, ...]:
    """Fold edits whose windows overlap into one each; the result is sorted by place.

    Any two edits that overlap must be equal in window and snippet, or nest (the arbiter saw to it);
    ValueError otherwise.
    """
    return tuple(_merge(cluster) for cluster in _clusters(sorted(edits, key=edit_key)))


def _clusters(ordered: Sequence[Edit]) -> list[list[Edit]]:
    """Runs of edits whose windows overlap; `ordered` is sorted by start, larger windows first."""
    clusters: list[list[Edit]] = []
    section, end = -1, -1
    for edit in ordered:
        window = edit.window
        if clusters and window.section == section and window.start < end:
            clusters[-1].append(edit)
            end = max(end, window.end)
        else:
            clusters.append([edit])
            section, end = window.section, window.end
    return clusters


def _merge(cluster: Sequence[Edit]) -> MergedEdit:
    """The larger window is the outer one; of equal windows, the edit that keeps the whole."""
    nesting = sorted(
        cluster,
        key=lambda edit: (
            edit.window.start - edit.window.end,
            not edit.keeps(edit.window),
        ),
    )
    outermost = nesting[0]
    pieces = list(outermost.snippet.pieces)
    placed = {(outermost.window, outermost.snippet)}
    for edit in nesting[1:]:
        if (edit.window, edit.snippet) not in placed:
            _substitute(pieces, edit)
            placed.add((edit.window, edit.snippet))
    return MergedEdit(outermost.window, Snippet(*pieces), tuple(nesting))


def _substitute(pieces: list[Piece], inner: Edit) -> None:
    """Put the snippet of `inner` where its window stands among the kept originals."""
    window = inner.window
    for rank, piece in enumerate(pieces):
        if not isinstance(piece, TextRange):
            continue
        if piece.section == window.section and piece.start <= window.start < piece.end:
            if window.end > piece.end:
                break
            before = TextRange(piece.section, piece.start, window.start)
            after = TextRange(piece.section, window.end, piece.end)
            around = [span for span in (before, after) if span.start < span.end]
            put: list[Piece] = [span for span in around if span.end <= window.start]
            put.extend(inner.snippet.pieces)
            put.extend(span for span in around if span.start >= window.end)
            pieces[rank : rank + 1] = put
            return
    raise ValueError(f"window {window} of {inner.site} does not nest in the edits around it")
