# SPDX-License-Identifier: Apache-2.0
"""What calls do to liveness: summaries of callees.

Liveness is distributive, so for a function f and a set R of registers that live on behind its
returns, what is live where f begins is

    live(f, R) = uses(f) | (R & ~kills(f)),    uses(f)  = live(f, {})
                                               kills(f) = complement of live(f, everything)

A call i that goes to one of the functions F acts, once it has written its link register, like

    uses(i)  = own uses | (union of uses(f) for f in F, without own kills)
    kills(i) = own kills | intersection of kills(f) for f in F

Functions are summarized callees first.  A call to nobody knows where, and a call into a recursion
that is being summarized, uses everything and kills nothing: too much, never too little.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, final

import numpy as np

from postproc_cfg.dataflow.liveness import liveness
from postproc_cfg.dataflow.ranges import BlockRanges
from postproc_cfg.graph.csr import Graph
from postproc_cfg.graph.order import depth_first

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Program", "Summaries", "summarize", "with_calls"]

Calls = Mapping[int, Sequence[int]]
"""Functions that each call instruction may go to; none: not known."""


@final
@dataclass(frozen=True, eq=False)
class Program:
    """Functions over one graph of blocks, in which calls lead to the place behind them.

    uses, kills  uint64[i, w], of each instruction; of a call without what its callee does
    functions    the block where each function begins
    calls        functions that each call instruction may go to; none: not known
    returns      blocks that go back to the caller
    ends         blocks that end the wave.  Behind other blocks without successors everything lives
    """

    graph: Graph
    ranges: BlockRanges
    uses: NDArray[np.uint64]
    kills: NDArray[np.uint64]
    functions: Sequence[int]
    calls: Calls
    returns: Collection[int]
    ends: Collection[int]


@final
@dataclass(frozen=True, eq=False)
class Summaries:
    """uses, kills: uint64[f, w], one row a function."""

    uses: NDArray[np.uint64]
    kills: NDArray[np.uint64]


def summarize(program: Program) -> Summaries:
    """The summaries of all functions of a program."""
    shape = (len(program.functions), program.uses.shape[1])
    summaries = Summaries(np.full(shape, ~np.uint64(0)), np.zeros(shape, np.uint64))
    bodies = [_Body(program, entry) for entry in program.functions]
    called = [(f, callee) for f, body in enumerate(bodies) for callee in body.callees()]
    callers_first = depth_first(Graph.from_edges(len(bodies), called, range(len(bodies)))).order
    for f in callers_first[::-1].tolist():
        nothing, everything = bodies[f].live_at_entry(summaries)
        summaries.uses[f] = nothing
        summaries.kills[f] = ~everything
    return summaries


def with_calls(
    uses: NDArray[np.uint64], kills: NDArray[np.uint64], calls: Calls, summaries: Summaries
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """`uses` and `kills`, uint64[i, w], with what callees do; the keys of `calls` are rows."""
    uses, kills = uses.copy(), kills.copy()
    for at, callees in calls.items():
        if not callees:
            uses[at] = ~np.uint64(0)
            continue
        rows = list(callees)
        uses[at] |= reduce(np.bitwise_or, summaries.uses[rows]) & ~kills[at]
        kills[at] |= reduce(np.bitwise_and, summaries.kills[rows])
    return uses, kills


@final
class _Body:
    """The blocks that a function reaches, by themselves."""

    def __init__(self, program: Program, entry: int) -> None:
        self._program = program
        self._blocks = _reached(program.graph, entry)
        first, end = program.ranges.first[self._blocks], program.ranges.end[self._blocks]
        self._instructions = np.concatenate(
            [np.arange(a, b) for a, b in zip(first.tolist(), end.tolist(), strict=True)]
        )
        ends = np.cumsum(end - first)
        self._ranges = BlockRanges(ends - (end - first), ends)
        at = {instruction: row for row, instruction in enumerate(self._instructions.tolist())}
        self._calls = {at[i]: program.calls[i] for i in program.calls.keys() & at.keys()}
        self._graph = self._induced(int(np.searchsorted(self._blocks, entry)))

    def _induced(self, entry: int) -> Graph:
        graph, blocks = self._program.graph, self._blocks
        targets = [graph.successors(block) for block in blocks.tolist()]
        offsets = np.cumsum([0, *(len(some) for some in targets)])
        return Graph.of(offsets, np.searchsorted(blocks, np.concatenate(targets)), [entry])

    def callees(self) -> Iterator[int]:
        for callees in self._calls.values():
            yield from callees

    def live_at_entry(self, summaries: Summaries) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Live at the entry if nothing, and if everything, lives behind the returns."""
        program, rows = self._program, self._instructions
        uses, kills = with_calls(program.uses[rows], program.kills[rows], self._calls, summaries)
        nothing, everything = (
            np.zeros(uses.shape[1], np.uint64),
            np.full(uses.shape[1], ~np.uint64(0)),
        )
        place = {block: number for number, block in enumerate(self._blocks.tolist())}
        ends = {place[block]: nothing for block in program.ends if block in place}
        returns = [place[block] for block in program.returns if block in place]
        entry = int(self._graph.entries[0])
        found = [
            liveness(
                self._graph,
                self._ranges,
                uses,
                kills,
                live_out=ends | dict.fromkeys(returns, behind),
            ).at_start[entry]
            for behind in (nothing, everything)
        ]
        return found[0], found[1]


def _reached(graph: Graph, entry: int) -> NDArray[np.intp]:
    """Blocks that a block reaches, itself included, ascending."""
    seen, work = {entry}, [entry]
    while work:
        new = set(graph.successors(work.pop()).tolist()) - seen
        seen |= new
        work += new
    return np.array(sorted(seen), np.intp)
