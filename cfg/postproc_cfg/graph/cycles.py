# SPDX-License-Identifier: Apache-2.0
"""The forest of cycles: headers, latches, entries, exits, depth.

For a cycle C (see `postproc_cfg.graph.nesting`), as LLVM's CycleInfo and LoopInfo call them,

    latches(C)  = { p in C : p -> header(C) }
    entries(C)  = { e in C : p -> e for a reached p outside C, or e is an entry of the graph }
    exiting(C)  = { p in C : p -> v for a v outside C }
    exits(C)    = { v outside C : p -> v for a p in C }

C is *reducible* (a natural loop) iff it has one entry, which then is the header and dominates C.
A graph has a retreating edge whose target does not dominate its source iff one of its cycles is
irreducible.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from postproc_cfg.graph.nesting import nest
from postproc_cfg.graph.order import depth_first

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from postproc_cfg.graph.csr import Graph
    from postproc_cfg.graph.nesting import Nesting
    from postproc_cfg.graph.order import DepthFirst

__all__ = ["Cycle", "CycleForest", "Rows", "find_cycles"]


@final
@dataclass(frozen=True, eq=False)
class Rows:
    """For each cycle an ascending list of distinct nodes.

    cycles  int32[k], cycle numbers, ascending
    nodes   int32[k], the nodes, in parallel
    """

    cycles: NDArray[np.int32]
    nodes: NDArray[np.int32]

    def __getitem__(self, cycle: int) -> tuple[int, ...]:
        first, end = np.searchsorted(self.cycles, [cycle, cycle + 1])
        return tuple(self.nodes[first:end].tolist())


@final
@dataclass(frozen=True)
class Cycle:
    """One cycle; nodes ascend, `parent` is a cycle number or -1, `depth` is 1 outermost."""

    number: int
    header: int
    parent: int
    depth: int
    members: tuple[int, ...]
    latches: tuple[int, ...]
    entries: tuple[int, ...]
    exiting: tuple[int, ...]
    exits: tuple[int, ...]

    @property
    def is_reducible(self) -> bool:
        return len(self.entries) == 1


@final
class CycleForest:
    """The cycles of a graph, numbered so that a cycle is followed by all cycles inside it.

    header     int32[c], node
    parent     int32[c], cycle number, -1 for an outermost cycle
    end        int32[c], the cycles inside c, itself included, are c .. end[c]-1
    depth      int32[c], 1 for an outermost cycle
    innermost  int32[n], the innermost cycle of each node, -1 where there is none
    """

    def __init__(self, graph: Graph, search: DepthFirst, nesting: Nesting) -> None:
        self._graph = graph
        self._reached = search.pre > 0
        headers = np.flatnonzero(nesting.is_header)
        headers = headers[np.argsort(search.pre[headers])]
        self.header, self.parent, self.end, self.depth = _numbered(headers, nesting)
        number = np.full(graph.node_count + 1, -1, np.int32)  # item -1 stands for "no header"
        number[self.header] = np.arange(self.header.size, dtype=np.int32)
        own = np.where(nesting.is_header, np.arange(graph.node_count), nesting.above)
        self.innermost: NDArray[np.int32] = number[own]

    def __len__(self) -> int:
        return int(self.header.size)

    def __getitem__(self, number: int) -> Cycle:
        if not 0 <= number < len(self):
            raise IndexError(number)
        return Cycle(
            number,
            int(self.header[number]),
            int(self.parent[number]),
            int(self.depth[number]),
            tuple(self.members(number).tolist()),
            self.latches[number],
            self.entries[number],
            self.exiting[number],
            self.exits[number],
        )

    def __iter__(self) -> Iterator[Cycle]:
        return (self[number] for number in range(len(self)))

    @cached_property
    def node_depth(self) -> NDArray[np.int32]:
        """How many cycles contain each node, int32[n]."""
        return np.append(self.depth, np.int32(0))[self.innermost]

    def members(self, cycle: int) -> NDArray[np.int32]:
        """Nodes of a cycle, those of its children included, ascending."""
        order, keys = self._by_innermost
        first, end = np.searchsorted(keys, [cycle, self.end[cycle]])
        return np.sort(order[first:end])

    def contains(self, cycle: NDArray[np.integer], node: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether node lies in cycle, item by item."""
        inner = self.innermost[node]
        found: NDArray[np.bool_] = (cycle <= inner) & (inner < self.end[cycle])
        return found

    @cached_property
    def latches(self) -> Rows:
        sources, targets = self._reached_edges
        number = np.full(self._graph.node_count, -1, np.int32)
        number[self.header] = np.arange(len(self), dtype=np.int32)
        cycle = number[targets]
        sources, cycle = sources[cycle >= 0], cycle[cycle >= 0]
        inside = self.contains(cycle, sources)
        return _rows(cycle[inside], sources[inside])

    @cached_property
    def entries(self) -> Rows:
        sources, targets = self._reached_edges
        cycle, edge = self._climb(targets, sources)
        graph_entries = self._graph.entries
        all_of, entry = self._climb(graph_entries, None)
        return _rows(
            np.concatenate([cycle, all_of]),
            np.concatenate([targets[edge], graph_entries[entry]]),
        )

    @cached_property
    def exiting(self) -> Rows:
        cycle, edge = self._leaving
        return _rows(cycle, self._reached_edges[0][edge])

    @cached_property
    def exits(self) -> Rows:
        cycle, edge = self._leaving
        return _rows(cycle, self._reached_edges[1][edge])

    @cached_property
    def is_reducible(self) -> NDArray[np.bool_]:
        """Cycles with one entry, bool[c].  Almost linear, unlike `entries`."""
        sources, targets = self._reached_edges
        nodes = np.concatenate([targets, self._graph.entries])
        outside = np.concatenate([sources, np.full(self._graph.entries.size, -1)])
        cycle = self.innermost[nodes]
        own = (cycle >= 0) & (np.append(self.header, -1)[cycle] == nodes)
        cycle[own] = self.parent[cycle[own]]  # a header is a rightful entry of its cycle
        return self._first_item(cycle, outside) < 0

    def first_exit(self, rank: NDArray[np.integer]) -> NDArray[np.int32]:
        """The exit of least `rank` (one a node) of each cycle, int32[c]; -1: it has none.

        Almost linear, unlike `exits`."""
        sources, targets = self._reached_edges
        order = np.argsort(rank[targets], kind="stable")
        item = self._first_item(self.innermost[sources[order]], targets[order])
        return np.append(targets[order], np.int32(-1))[item]

    def _first_item(
        self, start: NDArray[np.int32], outside: NDArray[np.integer]
    ) -> NDArray[np.intp]:
        """For each cycle the first item such that start[item] lies in it, but outside[item] does
        not (-1 as `outside` lies nowhere); -1 if there is no such item."""
        first, skip = [-1] * len(self), [*range(len(self)), -1]
        parent, end = self.parent.tolist(), self.end.tolist()
        inner = np.append(self.innermost, np.int32(-1))[outside]
        useful = np.flatnonzero((start >= 0) & (start != inner))
        for item, innermost, other in zip(
            useful.tolist(), start[useful].tolist(), inner[useful].tolist(), strict=True
        ):
            cycle = _unclaimed(skip, innermost)
            while cycle >= 0 and not cycle <= other < end[cycle]:
                first[cycle] = item
                skip[cycle] = parent[cycle]
                cycle = _unclaimed(skip, cycle)
        return np.array(first, np.intp)

    @cached_property
    def _leaving(self) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
        return self._climb(*self._reached_edges)

    @cached_property
    def _reached_edges(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        reached = self._reached[self._graph.sources]
        return self._graph.sources[reached], self._graph.targets[reached]

    @cached_property
    def _by_innermost(self) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
        order = np.argsort(self.innermost, kind="stable")
        return order, self.innermost[order]

    def _climb(
        self, inside: NDArray[np.int32], outside: NDArray[np.int32] | None
    ) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
        """All (cycle, item) such that the cycle contains inside[item] but not outside[item]."""
        cycle, item = self.innermost[inside], np.arange(inside.size)
        found = [(cycle[:0], item[:0])]
        while item.size:
            keep = cycle >= 0
            cycle, item = cycle[keep], item[keep]
            if outside is not None:
                keep = ~self.contains(cycle, outside[item])
                cycle, item = cycle[keep], item[keep]
            found.append((cycle, item))
            cycle = self.parent[cycle]
        return np.concatenate([c for c, _ in found]), np.concatenate([i for _, i in found])


def find_cycles(graph: Graph, search: DepthFirst | None = None) -> CycleForest:
    """The cycles of the reached part of `graph`."""
    search = depth_first(graph) if search is None else search
    return CycleForest(graph, search, nest(graph, search))


def _numbered(
    headers: NDArray[np.intp], nesting: Nesting
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Header, parent, end and depth of cycles, numbered outside in.

    `headers` ascend in preorder, so that outer cycles come first.
    """
    order = headers.tolist()
    above: dict[int, int] = dict(zip(order, nesting.above[headers].tolist(), strict=True))
    size = dict.fromkeys(order, 1)
    for header in reversed(order):
        if above[header] >= 0:
            size[above[header]] += size[header]
    free, number, depth = 0, {-1: -1}, {-1: 0}
    within: dict[int, int] = {}  # next number inside each cycle
    for header in order:
        outer = above[header]
        at = free if outer < 0 else within[outer]
        if outer < 0:
            free += size[header]
        else:
            within[outer] += size[header]
        number[header], within[header] = at, at + 1
        depth[header] = depth[outer] + 1
    result = np.zeros((4, len(order)), np.int32)
    for header in order:
        at = number[header]
        result[:, at] = header, number[above[header]], at + size[header], depth[header]
    return result[0], result[1], result[2], result[3]


def _unclaimed(skip: list[int], cycle: int) -> int:
    """The cycle itself or the next one around it that has no item yet; -1: none."""
    while skip[cycle] != cycle and cycle >= 0:
        above = skip[cycle]
        if above >= 0:
            skip[cycle] = skip[above]
        cycle = above
    return cycle


def _rows(cycles: NDArray[np.int32], nodes: NDArray[np.int32]) -> Rows:
    pairs = np.unique(cycles.astype(np.int64) << 32 | nodes.astype(np.int64))
    return Rows((pairs >> 32).astype(np.int32), (pairs & 0xFFFFFFFF).astype(np.int32))
