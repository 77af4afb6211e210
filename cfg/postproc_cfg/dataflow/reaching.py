# SPDX-License-Identifier: Apache-2.0
"""Which writes may have given a register its value: reaching definitions.

A definition is a pair (i, r) of an instruction and a register it writes, wholly or in part; one
more for each register stands for the value it has from outside (`OUTSIDE`).

    (1)  reach(entry)   = { (OUTSIDE, r) : r }
    (2)  reach(b)       = union of what reaches the end of all predecessors of b
    (3)  reach behind i = { (i, r) : i writes r }
                        | { (j, r) reaching i : i does not kill r }

The caller names the registers that matter; a definition costs a bit a block.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, final

import numpy as np

from postproc_cfg.dataflow.bitsets import members, row_of, word_count
from postproc_cfg.dataflow.ranges import BlockRanges
from postproc_cfg.dataflow.solver import solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc_cfg.graph.csr import Graph

__all__ = ["OUTSIDE", "ReachingDefinitions", "reaching_definitions"]

OUTSIDE: Final = -1
"""Stands for the instruction of a value that was there before."""


@final
class ReachingDefinitions:
    """Definitions of some registers, and where they reach.

    instructions, registers  intp[d], the definitions; the first ones are those from `OUTSIDE`
    """

    def __init__(
        self,
        graph: Graph,
        ranges: BlockRanges,
        effects: tuple[NDArray[np.bool_], NDArray[np.bool_]],
        registers: Sequence[int],
        entered: Iterable[int],
    ) -> None:
        self._ranges = ranges
        self._writes, self._kills = effects
        self._column = {register: k for k, register in enumerate(registers)}
        at, column = np.nonzero(self._writes)
        outside = np.full(len(registers), OUTSIDE)
        self.instructions = np.concatenate([outside, at])
        self._columns = np.concatenate([np.arange(len(registers)), column])
        self.registers = np.asarray(registers, np.intp)[self._columns]
        words = word_count(self.instructions.size)
        self._of_register = [
            row_of(np.flatnonzero(self._columns == k).tolist(), words)
            for k in range(len(registers))
        ]
        entry = row_of(range(len(registers)), words)
        self._solution = solve(
            graph,
            *self._block_effects(words),
            direction="forward",
            meet="may",
            boundary=dict.fromkeys([*graph.entries.tolist(), *entered], entry),
        )

    def _block_effects(self, words: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """gen: definitions that no later instruction of their block kills."""
        gen = np.zeros((len(self._ranges), words), np.uint64)
        kill = np.zeros_like(gen)
        block_of = self._ranges.blocks(len(self._writes))
        for column, row in enumerate(self._of_register):
            killers = np.flatnonzero(self._kills[:, column])
            hit = block_of[killers]
            kill[np.unique(hit[hit >= 0])] |= row
            numbers = np.array(members(row)[1:], np.intp)  # the first is from outside
            at = self.instructions[numbers]
            later = np.append(killers, len(self._writes))
            next_killer = later[np.searchsorted(killers, at, side="right")]
            block = block_of[at]
            reaches = (block >= 0) & (next_killer >= self._ranges.end[block])
            number = numbers[reaches]
            bit = np.uint64(1) << (number & 63).astype(np.uint64)
            np.bitwise_or.at(gen, (block[reaches], number >> 6), bit)
        return gen, kill

    def _in_range(self, first: int, end: int, column: int) -> tuple[list[int], bool]:
        """Instructions of a range whose definitions of a register reach behind it, and whether no
        earlier one does."""
        killers = np.flatnonzero(self._kills[first:end, column])
        start = first + int(killers[-1]) if killers.size else first
        writes = start + np.flatnonzero(self._writes[start:end, column])
        return writes.tolist(), bool(killers.size)

    def before(self, instruction: int, register: int) -> tuple[int, ...]:
        """Instructions whose write to `register` may be in force before `instruction`, ascending,
        `OUTSIDE` first.  Empty where no path arrives.  Raises KeyError for a register that was not
        named."""
        column = self._column[register]
        block = self._ranges.block_of(instruction)
        here, killed = self._in_range(int(self._ranges.first[block]), instruction, column)
        found = set(here)
        if not killed:
            reaching = members(self._solution.at_start[block] & self._of_register[column])
            found |= set(self.instructions[list(reaching)].tolist())
        return tuple(sorted(found))


def reaching_definitions(
    graph: Graph,
    ranges: BlockRanges,
    defs: NDArray[np.uint64],
    kills: NDArray[np.uint64],
    registers: Sequence[int],
    *,
    entered: Iterable[int] = (),
) -> ReachingDefinitions:
    """Solve (1) to (3) for some registers.

    defs, kills  uint64[i, w]; what an instruction kills it also writes
    registers    distinct numbers in those rows
    entered      further blocks that may be entered from unknown places
    """
    columns = np.asarray(registers, np.intp)
    bits = np.uint64(1) << (columns & 63).astype(np.uint64)
    writes, killed = (rows[:, columns >> 6] & bits != 0 for rows in (defs | kills, kills))
    return ReachingDefinitions(graph, ranges, (writes, killed), columns.tolist(), entered)
