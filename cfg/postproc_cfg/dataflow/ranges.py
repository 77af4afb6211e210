# SPDX-License-Identifier: Apache-2.0
"""From effects of instructions to effects of blocks, and back to values at instructions.

For a block of instructions i1 .. ik with gen and kill each, in the direction of the analysis,

    gen(block)  = gen(ik) | (gen(i1 .. ik-1) & ~kill(ik))
    kill(block) = kill(i1) | ... | kill(ik)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from postproc_cfg.dataflow.bitsets import from_integers, to_integers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from postproc_cfg.dataflow.solver import Direction

__all__ = ["BlockRanges", "InstructionFlow"]


@final
@dataclass(frozen=True, eq=False)
class BlockRanges:
    """Which instructions each block has: numbers first[b] .. end[b]-1, as intp[n] each.

    Blocks do not overlap; instructions outside all blocks are left alone.
    """

    first: NDArray[np.intp]
    end: NDArray[np.intp]

    @classmethod
    def of(cls, first: ArrayLike, end: ArrayLike) -> BlockRanges:
        return cls(np.asarray(first, np.intp), np.asarray(end, np.intp))

    @classmethod
    def adjacent(cls, starts: ArrayLike, instruction_count: int) -> BlockRanges:
        """Blocks that follow one another without a gap up to the last instruction."""
        first = np.asarray(starts, np.intp)
        return cls(first, np.append(first[1:], instruction_count).astype(np.intp))

    def __len__(self) -> int:
        return int(self.first.size)

    @cached_property
    def _by_start(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        order = np.argsort(self.first, kind="stable")
        order = order[self.first[order] < self.end[order]]
        return order, self.first[order]

    def blocks(self, count: int) -> NDArray[np.intp]:
        """The block of each of `count` instructions, -1 for those in none."""
        length = self.end - self.first
        block = np.repeat(np.arange(len(self)), length)
        inside = np.arange(block.size) - np.repeat(np.cumsum(length) - length, length)
        result = np.full(count, -1, np.intp)
        result[self.first[block] + inside] = block
        return result

    def block_of(self, instruction: int) -> int:
        """The block of an instruction.  Raises ValueError if it is in none."""
        order, starts = self._by_start
        at = int(np.searchsorted(starts, instruction, side="right")) - 1
        if at < 0 or instruction >= self.end[order[at]]:
            raise ValueError(f"instruction {instruction} is in no block")
        return int(order[at])


@final
class InstructionFlow:
    """Effects of instructions, and what they make of the blocks that hold them.

    gen, kill: uint64[i, w], one row an instruction.
    """

    def __init__(
        self,
        ranges: BlockRanges,
        gen: NDArray[np.uint64],
        kill: NDArray[np.uint64],
        direction: Direction,
    ) -> None:
        self.ranges = ranges
        self.words = int(gen.shape[1])
        self._forward = direction == "forward"
        self._gen, self._kill = to_integers(gen), to_integers(kill)

    def _instructions(self, block: int) -> range:
        """Numbers of the instructions of a block, in the direction of the analysis."""
        first, end = int(self.ranges.first[block]), int(self.ranges.end[block])
        return range(first, end) if self._forward else range(end - 1, first - 1, -1)

    def block_effects(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """gen and kill of each block, uint64[n, w]."""
        gens, kills = [], []
        for block in range(len(self.ranges)):
            gen = kill = 0
            for i in self._instructions(block):
                gen = self._gen[i] | gen & ~self._kill[i]
                kill |= self._kill[i]
            gens.append(gen)
            kills.append(kill)
        return from_integers(gens, self.words), from_integers(kills, self.words)

    def values(
        self, block: int, value: NDArray[np.uint64]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Values before and after each instruction of a block, in the order of execution,
        uint64[k, w] each.  `value` is what holds where the direction enters the block."""
        current = to_integers(value[np.newaxis])[0]
        chain = [current]
        for i in self._instructions(block):
            current = self._gen[i] | current & ~self._kill[i]
            chain.append(current)
        if not self._forward:
            chain.reverse()
        rows = from_integers(chain, self.words)
        return rows[:-1], rows[1:]
