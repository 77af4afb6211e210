# SPDX-License-Identifier: Apache-2.0
"""What passes want to know of each block: its rank, and its part in loops.

For a reached block b, with cycles as in `postproc_cfg.graph.cycles`:

    rpo(b)             number in reverse postorder, from 1; 0: not reached
    latch_pred_rpo(b)  for a header: least rpo of the latches of its cycle; else 0
    loop_exit_rpo(b)   for a header: least rpo of the exits of its cycle; 0 if it has none
    LOOP_HEADER        b is the header of a cycle
    IN_LOOP            b lies in a cycle
    HAS_PRED           b has a predecessor of lesser rpo
    BACK_EDGE_CANDIDATE  b is the source of a retreating edge
    ANALYSIS_OK        no reached block has successors that are not known

    RPO_VIOLATION      a retreating edge's target does not dominate its source, that is, the graph
                       is irreducible.  It holds for the whole graph; who takes IN_LOOP for "the
                       header runs before" has to look at it first.

The bits lie where the seed of the design has them: a 32-bit word of which the analysis owns nine
bits, and a secondary byte of which it owns two.  All others belong to whoever sets them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntFlag
from typing import TYPE_CHECKING, Final, final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc_cfg.graph.csr import Graph
    from postproc_cfg.graph.cycles import CycleForest
    from postproc_cfg.graph.order import DepthFirst

__all__ = [
    "ANALYSIS_BITS",
    "SECONDARY_BITS",
    "BlockFlag",
    "GraphFlag",
    "LoopTags",
    "SecondaryFlag",
    "tag_blocks",
]


class BlockFlag(IntFlag):
    """Bits of a block's word."""

    EARLY_EXIT = 1 << 0
    """The first instruction may leave the kernel; set by whoever builds blocks, kept by resets."""
    LOOP_HEADER = 1 << 4
    HAS_PRED = 1 << 5
    ANALYSIS_OK = 1 << 18
    IN_LOOP = 1 << 23


class SecondaryFlag(IntFlag):
    """Bits of a block's secondary byte."""

    BACK_EDGE_CANDIDATE = 1 << 3


class GraphFlag(IntFlag):
    """Bits that hold for the whole graph."""

    RPO_VIOLATION = 1 << 5
    EARLY_EXIT = 1 << 7
    """A reached block has `BlockFlag.EARLY_EXIT`."""


ANALYSIS_BITS: Final = sum(1 << bit for bit in (4, 5, 6, 9, 10, 16, 17, 18, 23))
"""What a reset clears in the word; some of it is reserved and never set."""

SECONDARY_BITS: Final = 1 << 2 | 1 << 3


@final
@dataclass(frozen=True, eq=False)
class LoopTags:
    """Tags of the n blocks of a graph; the arrays cannot be written.

    rpo, latch_pred_rpo, loop_exit_rpo  uint32[n]
    flags       uint32[n], `BlockFlag` bits that the analysis owns
    secondary   uint8[n], `SecondaryFlag` bits that the analysis owns
    rpo_violation  latched as soon as one such edge is found, cleared by the next analysis
    unresolved  reached blocks with unknown successors, and why they are not known
    """

    rpo: NDArray[np.uint32]
    latch_pred_rpo: NDArray[np.uint32]
    loop_exit_rpo: NDArray[np.uint32]
    flags: NDArray[np.uint32]
    secondary: NDArray[np.uint8]
    rpo_violation: bool
    unresolved: tuple[tuple[int, str], ...]

    @property
    def ok(self) -> bool:
        """Whether all edges are known."""
        return not self.unresolved

    def having(self, flag: BlockFlag | SecondaryFlag) -> NDArray[np.intp]:
        """The blocks that have `flag`, ascending."""
        words = self.secondary if isinstance(flag, SecondaryFlag) else self.flags
        return np.flatnonzero(words & words.dtype.type(int(flag)))


def tag_blocks(
    graph: Graph, search: DepthFirst, cycles: CycleForest, unresolved: Mapping[int, str]
) -> LoopTags:
    """The tags of a graph; `unresolved` are blocks with unknown successors, and the reasons."""
    rpo = search.rpo.astype(np.uint32)
    reached = rpo > 0
    open_ends = tuple((b, why) for b, why in sorted(unresolved.items()) if reached[b])
    edges = reached[graph.sources]
    sources, targets = graph.sources[edges], graph.targets[edges]
    retreating = rpo[targets] <= rpo[sources]

    flags, secondary = np.zeros(rpo.size, np.uint32), np.zeros(rpo.size, np.uint8)
    flags[targets[~retreating]] |= np.uint32(BlockFlag.HAS_PRED)
    flags[cycles.header] |= np.uint32(BlockFlag.LOOP_HEADER)
    flags[cycles.innermost >= 0] |= np.uint32(BlockFlag.IN_LOOP)
    if not open_ends:
        flags[reached] |= np.uint32(BlockFlag.ANALYSIS_OK)
    secondary[sources[retreating]] |= np.uint8(SecondaryFlag.BACK_EDGE_CANDIDATE)

    latch, leave = np.zeros_like(rpo), np.zeros_like(rpo)
    latch[targets[retreating]] = rpo.size + 1
    np.minimum.at(latch, targets[retreating], rpo[sources[retreating]])
    leave[cycles.header] = np.append(rpo, np.uint32(0))[cycles.first_exit(search.rpo)]
    for array in (rpo, latch, leave, flags, secondary):
        array.flags.writeable = False
    violated = not bool(cycles.is_reducible.all())
    return LoopTags(rpo, latch, leave, flags, secondary, violated, open_ends)
