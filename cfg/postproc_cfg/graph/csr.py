# SPDX-License-Identifier: Apache-2.0
"""Directed graphs in compressed sparse rows.

    successors(v) = targets[offsets[v] : offsets[v + 1]]

Nodes are 0 .. n-1.  Parallel edges and self-loops are allowed; the order of the successors of a
node is kept, and it decides in which order a depth-first search visits them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Graph"]


@final
@dataclass(frozen=True, eq=False)
class Graph:
    """A graph with entry nodes.

    offsets  int32[n + 1], not decreasing, from 0 to m
    targets  int32[m], node numbers
    entries  int32[e], where control may enter: the successors of a virtual root
    """

    offsets: NDArray[np.int32]
    targets: NDArray[np.int32]
    entries: NDArray[np.int32]

    def __post_init__(self) -> None:
        n, m = self.node_count, self.edge_count
        if self.offsets[0] != 0 or self.offsets[-1] != m or (np.diff(self.offsets) < 0).any():
            raise ValueError("offsets must rise from 0 to the number of targets")
        for nodes in (self.targets, self.entries):
            if nodes.size and (int(nodes.min()) < 0 or int(nodes.max()) >= n):
                raise ValueError(f"a target or an entry is no node (0 to {n - 1})")

    @classmethod
    def of(cls, offsets: ArrayLike, targets: ArrayLike, entries: ArrayLike = (0,)) -> Graph:
        """From any integer sequences; raises ValueError where they do not fit together."""
        return cls(*(np.asarray(part, np.int32) for part in (offsets, targets, entries)))

    @classmethod
    def from_edges(
        cls,
        node_count: int,
        edges: Iterable[tuple[int, int]] | NDArray[np.integer],
        entries: Sequence[int] | NDArray[np.integer] = (0,),
    ) -> Graph:
        """From (source, target) pairs; edges of one source keep their order."""
        pairs = edges if isinstance(edges, np.ndarray) else np.array(list(edges), np.int64)
        sources, targets = pairs.reshape(-1, 2).T
        return cls.from_arrays(node_count, sources, targets, np.asarray(entries))

    @classmethod
    def from_arrays(
        cls,
        node_count: int,
        sources: NDArray[np.integer],
        targets: NDArray[np.integer],
        entries: NDArray[np.integer],
    ) -> Graph:
        if sources.size and not 0 <= int(sources.min()) <= int(sources.max()) < node_count:
            raise ValueError(f"a source is no node (0 to {node_count - 1})")
        order = np.argsort(sources, kind="stable")
        degree = np.bincount(sources, minlength=node_count)
        return cls.of(np.concatenate([[0], np.cumsum(degree)]), targets[order], entries)

    @property
    def node_count(self) -> int:
        return int(self.offsets.size) - 1

    @property
    def edge_count(self) -> int:
        return int(self.targets.size)

    @cached_property
    def sources(self) -> NDArray[np.int32]:
        """Source of each edge, int32[m]."""
        nodes = np.arange(self.node_count, dtype=np.int32)
        return np.repeat(nodes, np.diff(self.offsets))

    def successors(self, node: int) -> NDArray[np.int32]:
        return self.targets[self.offsets[node] : self.offsets[node + 1]]

    def predecessors(self, node: int) -> NDArray[np.int32]:
        return self.reversed.successors(node)

    @cached_property
    def reversed(self) -> Graph:
        """Every edge turned around; the entries are the nodes that had no successor."""
        return Graph.from_arrays(self.node_count, self.targets, self.sources, self.sinks)

    @cached_property
    def sinks(self) -> NDArray[np.int32]:
        """Nodes without successor, int32, ascending."""
        return np.flatnonzero(np.diff(self.offsets) == 0).astype(np.int32)

    def with_entries(self, entries: ArrayLike) -> Graph:
        return Graph.of(self.offsets, self.targets, entries)

    def induced(self, members: NDArray[np.integer], entries: NDArray[np.integer]) -> Graph:
        """The subgraph on `members` (distinct nodes), which become 0 .. len(members)-1 in the
        given order.  `entries` are numbers of this graph, and members."""
        number = np.full(self.node_count, -1, np.int32)
        number[members] = np.arange(members.size, dtype=np.int32)
        sources, targets = number[self.sources], number[self.targets]
        inside = (sources >= 0) & (targets >= 0)
        return Graph.from_arrays(
            int(members.size), sources[inside], targets[inside], number[entries]
        )
