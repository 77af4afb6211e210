# SPDX-License-Identifier: Apache-2.0
"""Facts that hold on every path: "a vector memory operation has run".

    (1)  facts(entry)   = {}                        nothing has happened yet
    (2)  facts(b)       = intersection of facts behind all predecessors of b
    (3)  facts behind i = established(i) | (facts before i & ~lost(i))

A fact in the result was established on every path from every entry to that instruction and not
lost since.  Where code may be entered from unknown places, name the block in `entered`: (1) then
holds there as well.  Every fact holds at the start of a block that no path reaches.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, final

import numpy as np

from postproc_cfg.dataflow.bitsets import pack
from postproc_cfg.dataflow.ranges import BlockRanges, InstructionFlow
from postproc_cfg.dataflow.solver import Solution, solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc_cfg.graph.csr import Graph

__all__ = ["MustFacts", "happened_on_every_path", "must_facts"]


@final
class MustFacts:
    """Which facts hold where; rows are uint64[w]."""

    def __init__(self, flow: InstructionFlow, solution: Solution) -> None:
        self._flow = flow
        self.at_start, self.at_end = solution.at_start, solution.at_end

    def before(self, instruction: int) -> NDArray[np.uint64]:
        block = self._flow.ranges.block_of(instruction)
        rows, _ = self._flow.values(block, self.at_start[block])
        row: NDArray[np.uint64] = rows[instruction - int(self._flow.ranges.first[block])]
        return row


def must_facts(
    graph: Graph,
    ranges: BlockRanges,
    established: NDArray[np.uint64],
    lost: NDArray[np.uint64],
    *,
    entered: Iterable[int] = (),
    at_entry: NDArray[np.uint64] | None = None,
) -> MustFacts:
    """Solve (1) to (3).  `established` and `lost` are uint64[i, w], one row an instruction; what
    an instruction both loses and establishes holds behind it.  `at_entry` replaces {} in (1)."""
    flow = InstructionFlow(ranges, established, lost, "forward")
    row = np.zeros(established.shape[1], np.uint64) if at_entry is None else at_entry
    boundary = dict.fromkeys([*graph.entries.tolist(), *entered], row)
    gen, kill = flow.block_effects()
    return MustFacts(
        flow, solve(graph, gen, kill, direction="forward", meet="must", boundary=boundary)
    )


def happened_on_every_path(
    graph: Graph,
    ranges: BlockRanges,
    happens: NDArray[np.bool_],
    forgotten: NDArray[np.bool_] | None = None,
    *,
    entered: Iterable[int] = (),
    at_entry: bool = False,
) -> NDArray[np.bool_]:
    """Whether on every path to each instruction one of those in `happens` has run before it.

    bool[i] each.  `forgotten` are instructions behind which it counts no more; `at_entry` says
    that it has happened before the entries (not: before blocks in `entered`).  Instructions
    outside all blocks get False, the first one of a block that no path reaches True.
    """
    lost = np.zeros_like(happens) if forgotten is None else forgotten
    # the last change in a block decides, so that blocks need no walk over instructions
    changes = np.flatnonzero(happens | lost)
    last = np.searchsorted(changes, ranges.end) - 1
    changed = (last >= 0) & (changes[last] >= ranges.first) if changes.size else last >= 0
    gen = np.zeros(len(ranges), np.bool_)
    gen[changed] = happens[changes[last[changed]]]
    boundary = dict.fromkeys(graph.entries.tolist(), np.full(1, at_entry, np.uint64))
    boundary |= dict.fromkeys(entered, np.zeros(1, np.uint64))
    solution = solve(
        graph,
        pack(gen[:, np.newaxis]),
        pack((changed & ~gen)[:, np.newaxis]),
        direction="forward",
        meet="must",
        boundary=boundary,
    )
    return _inside_blocks(ranges, happens, changes, (solution.at_start[:, 0] & np.uint64(1)) != 0)


def _inside_blocks(
    ranges: BlockRanges,
    happens: NDArray[np.bool_],
    changes: NDArray[np.intp],
    at_start: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """The value before each instruction: that of the last change in its block, or of its start."""
    result = np.zeros(happens.size, np.bool_)
    block = ranges.blocks(happens.size)
    instruction = np.flatnonzero(block >= 0)
    block = block[instruction]
    if not changes.size:
        result[instruction] = at_start[block]
        return result
    last = np.searchsorted(changes, instruction) - 1
    inside = (last >= 0) & (changes[last] >= ranges.first[block])
    result[instruction] = np.where(inside, happens[changes[last]], at_start[block])
    return result
