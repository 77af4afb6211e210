# SPDX-License-Identifier: Apache-2.0
"""Which registers may still be read: live variables.

    (1)  live behind b = union of live before all successors of b, and live_out(b)
    (2)  live before i = uses(i) | (live behind i & ~kills(i))

    live_out(b) is what lives on where control leaves: nothing behind the end of a wave, what the
    calling convention says behind a return, everything where the successors of b are not known.

    (3)  kills(i) = full_defs(i)                          if i is a scalar operation
         kills(i) = full_defs(i) without vector registers unless EXEC is proven full at i
         kills(i) = {} and uses(i) = everything           if the effects of i are not known

A write to a vector register leaves the lanes that EXEC masks as they were, so it ends the life of
the old value only where EXEC is full.  A write of a part of a register (16 bits, some lanes, on a
condition) ends nothing: it is no `full_def`.  The result may name too many registers, never too
few.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, final

import numpy as np

from postproc_cfg.dataflow.ranges import BlockRanges, InstructionFlow
from postproc_cfg.dataflow.solver import Solution, solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc_cfg.graph.csr import Graph

__all__ = ["Liveness", "killed_registers", "liveness"]


@final
class Liveness:
    """Live registers; rows are uint64[w], numbered as the caller numbers registers.

    at_start, at_end  uint64[n, w], of each block
    """

    def __init__(self, flow: InstructionFlow, solution: Solution) -> None:
        self._flow = flow
        self.at_start, self.at_end = solution.at_start, solution.at_end

    def before(self, instruction: int) -> NDArray[np.uint64]:
        """Live where the instruction is about to run."""
        return self._row(instruction, 0)

    def after(self, instruction: int) -> NDArray[np.uint64]:
        """Live when the instruction has run and control goes on in its block, or leaves it."""
        return self._row(instruction, 1)

    def in_block(self, block: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Live before and after each instruction of a block, uint64[k, w] each."""
        return self._flow.values(block, self.at_end[block])

    def _row(self, instruction: int, side: int) -> NDArray[np.uint64]:
        block = self._flow.ranges.block_of(instruction)
        rows = self.in_block(block)[side]
        row: NDArray[np.uint64] = rows[instruction - int(self._flow.ranges.first[block])]
        return row


def killed_registers(
    full_defs: NDArray[np.uint64],
    vector: NDArray[np.uint64],
    exec_full: NDArray[np.bool_] | None = None,
) -> NDArray[np.uint64]:
    """The `kills` of (3) for instructions whose effects are known.

    full_defs  uint64[i, w], registers of which the whole is written, if in active lanes only
    vector     uint64[w], which of the registers have lanes
    exec_full  bool[i], where EXEC is proven to have all lanes; left out: nowhere
    """
    kills = full_defs.copy()
    if exec_full is None:
        return kills & ~vector
    kills[~exec_full] &= ~vector
    return kills


def liveness(
    graph: Graph,
    ranges: BlockRanges,
    uses: NDArray[np.uint64],
    kills: NDArray[np.uint64],
    *,
    live_out: Mapping[int, NDArray[np.uint64]] | None = None,
    unknown: NDArray[np.bool_] | None = None,
) -> Liveness:
    """Solve (1) and (2).

    uses, kills  uint64[i, w], one row an instruction; the effects of callees belong to the calls
    live_out     rows uint64[w] of the blocks where control leaves.  A block without successors
                 that is not named lets everything live: name those that end the wave.
    unknown      bool[i], instructions whose effects are not known
    """
    full = np.full(uses.shape[1], ~np.uint64(0))
    if unknown is not None and unknown.any():
        uses = np.where(unknown[:, np.newaxis], full, uses)
        kills = np.where(unknown[:, np.newaxis], np.uint64(0), kills)
    flow = InstructionFlow(ranges, uses, kills, "backward")
    gen, kill = flow.block_effects()
    boundary = dict.fromkeys(graph.sinks.tolist(), full) | dict(live_out or {})
    solution = solve(graph, gen, kill, direction="backward", meet="may", boundary=boundary)
    return Liveness(flow, solution)
