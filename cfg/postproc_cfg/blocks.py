# SPDX-License-Identifier: Apache-2.0
"""Blocks of direct control flow, and who reaches whom, as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Final, final

import numpy as np

from postproc_cfg.vocabulary import Transfer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc_cfg.text import Text

__all__ = ["STOPS", "Blocks", "compressed", "reached"]

STOPS: Final = (
    Transfer.BRANCH,
    Transfer.SET_PC,
    Transfer.ADD_PC,
    Transfer.TRAP_RETURN,
    Transfer.FORK,
    Transfer.END,
)
"""Kinds that do not fall through."""


_CODE_END: Final = 0xBF9F0000


@final
class Blocks:
    """A text cut into blocks.  Arrays have one item a block.

    starts   intp, the first instruction, ascending;  ends: the one behind the last
    kinds    int8, the `Transfer` of the last instruction
    falls    intp, the block that control falls through to, -1 if none
    goes     intp, the block that its last instruction branches to directly, -1 if none
    """

    def __init__(self, text: Text, heads: Iterable[int]) -> None:
        """A block begins at each of `heads`, at targets of direct transfers, behind every transfer,
        and at and behind what is unknown; a run of `s_code_end` or of unknown words is one."""
        self.starts = _starts(text, heads)
        count = len(text)
        self.ends = np.append(self.starts[1:], count) if len(self.starts) else self.starts
        last = self.ends - 1
        self.kinds = text.kind[last]
        following = np.arange(1, len(self.starts) + 1)
        section_ends = [stretch.end for stretch in text.stretches]
        has_next = np.logical_not(np.isin(self.kinds, STOPS) | np.isin(self.ends, section_ends))
        self.falls = np.where(has_next, following, -1)
        branches = np.isin(self.kinds, (Transfer.BRANCH, Transfer.CONDITIONAL, Transfer.ADD_PC))
        targets = np.where(branches, text.indices_at(text.target[last]), -1)
        self.goes = np.where(targets >= 0, self.number_at(targets), -1)

    def __len__(self) -> int:
        return len(self.starts)

    def number_at(self, instructions: NDArray[np.intp]) -> NDArray[np.intp]:
        """The blocks that hold some instructions."""
        return np.searchsorted(self.starts, instructions, side="right") - 1

    @cached_property
    def direct_edges(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Sources and targets of direct edges, those of fall-through included."""
        numbers = np.arange(len(self))
        sources = np.concatenate([numbers[self.falls >= 0], numbers[self.goes >= 0]])
        targets = np.concatenate([self.falls[self.falls >= 0], self.goes[self.goes >= 0]])
        return sources, targets

    def reaching(self, blocks: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which blocks lead to one of `blocks` by direct edges."""
        sources, targets = self.direct_edges
        return reached(*compressed(targets, sources, len(self)), blocks)


def _starts(text: Text, heads: Iterable[int]) -> NDArray[np.intp]:
    marked = np.zeros(len(text) + 1, bool)
    unknown = text.kind == Transfer.UNKNOWN
    marked[1:] |= text.kind != Transfer.NONE
    marked[:-1] |= unknown
    padding = unknown | (text.word == _CODE_END) & (text.kind == Transfer.END)
    inner = padding[1:] & padding[:-1] & (text.kind[1:] == text.kind[:-1])
    marked[1:-1][inner] = False
    marked[np.fromiter(heads, np.intp)] = True
    targets = text.indices_at(text.target)
    marked[targets[targets >= 0]] = True
    marked[[stretch.first for stretch in text.stretches if stretch.first < stretch.end]] = True
    return np.flatnonzero(marked[:-1])


def compressed(
    sources: NDArray[np.signedinteger], targets: NDArray[np.signedinteger], count: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Edges in compressed sparse rows: offsets (count + 1) and targets; edges of one source keep
    their order."""
    order = np.argsort(sources, kind="stable")
    offsets = np.zeros(count + 1, np.intp)
    np.cumsum(np.bincount(sources, minlength=count), out=offsets[1:])
    return offsets, targets[order].astype(np.intp)


def reached(
    offsets: NDArray[np.intp], targets: NDArray[np.intp], seeds: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Which nodes can be reached from the seeds, these included."""
    found = np.zeros(len(offsets) - 1, bool)
    found[seeds] = True
    front = np.unique(seeds)
    while len(front):
        counts = offsets[front + 1] - offsets[front]
        starts = np.repeat(offsets[front] - np.append(0, np.cumsum(counts)[:-1]), counts)
        following = targets[starts + np.arange(len(starts))]
        front = np.unique(following[np.logical_not(found[following])])
        found[front] = True
    return found
