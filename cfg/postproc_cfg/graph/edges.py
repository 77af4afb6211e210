# SPDX-License-Identifier: Apache-2.0
"""A set of edges that changes in batches.

Edges are counted, so that a jump table may name a target twice.  Successors are always taken in
ascending order: what is computed depends on the graph alone, not on how it came about.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from postproc_cfg.graph.csr import Graph

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EdgeSet", "Pairs", "edge_keys"]

Pairs = list[tuple[int, int]]

_LOW = 0xFFFFFFFF


def edge_keys(graph: Graph) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct edges of a graph as source << 32 | target, ascending, and how often each occurs."""
    keys = graph.sources.astype(np.int64) << 32 | graph.targets.astype(np.int64)
    distinct, counts = np.unique(keys, return_counts=True)
    return distinct, counts.astype(np.int64)


@final
@dataclass(eq=False)
class EdgeSet:
    """Counted edges, and changes that wait to be applied.

    keys    int64[m], distinct edges as source << 32 | target, ascending
    counts  int64[m], at least 1
    waiting change of the count of each edge
    """

    keys: NDArray[np.int64]
    counts: NDArray[np.int64]
    waiting: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: Graph) -> EdgeSet:
        return cls(*edge_keys(graph))

    def count(self, key: int) -> int:
        """How often an edge is there, waiting changes included."""
        return self._applied_count(key) + self.waiting.get(key, 0)

    def change(self, source: int, target: int, by: int) -> None:
        """Queue a change.  Raises KeyError if an edge would be there less than zero times."""
        key = source << 32 | target
        if self.count(key) + by < 0:
            raise KeyError(f"there is no edge from block {source} to block {target}")
        change = self.waiting.pop(key, 0) + by
        if change:
            self.waiting[key] = change

    def apply(self) -> tuple[Pairs, Pairs]:
        """Apply what waits; returns edges that have come and edges that have gone."""
        come, gone = [], []
        for key, change in self.waiting.items():
            before = self._applied_count(key)
            if before == 0:
                come.append(key)
            elif before + change == 0:
                gone.append(key)
            else:
                self.counts[np.searchsorted(self.keys, key)] += change
        new = np.array(sorted(come), np.int64)
        added = np.array([self.waiting[key] for key in new.tolist()], np.int64)
        at = np.searchsorted(self.keys, np.array(gone, np.int64))
        keys, counts = np.delete(self.keys, at), np.delete(self.counts, at)
        at = np.searchsorted(keys, new)
        self.keys, self.counts = np.insert(keys, at, new), np.insert(counts, at, added)
        self.waiting.clear()
        return _pairs(come), _pairs(gone)

    def graph(self, node_count: int, entries: NDArray[np.int32]) -> Graph:
        """The graph of the applied edges, each once."""
        sources = self.keys >> 32
        offsets = np.searchsorted(sources, np.arange(node_count + 1))
        return Graph.of(offsets, self.keys & _LOW, entries)

    def _applied_count(self, key: int) -> int:
        at = int(np.searchsorted(self.keys, key))
        present = at < self.keys.size and int(self.keys[at]) == key
        return int(self.counts[at]) if present else 0


def _pairs(keys: list[int]) -> Pairs:
    return [(key >> 32, key & _LOW) for key in keys]
