# SPDX-License-Identifier: Apache-2.0
"""Which cycle each node lies in: the nesting of cycles, reducible or not.

In the terms of LLVM's CycleTerminology, for the nodes that the entries reach,

    a cycle      is a maximal strongly connected set C of nodes with at least one edge inside,
    its header   is the node of C that the depth-first search finds first,
    its children are the cycles of the graph induced on C without the header.

Headers and the insides of cycles depend on the search where a cycle has several entries; outermost
cycles do not.  In a reducible graph cycles are the natural loops.

The nodes are taken in reverse preorder.  Let h be the node at hand:

    1. an edge p -> e whose endpoints have h as their lowest common ancestor in the search tree
       becomes visible: it is an edge into the outermost cycle around e that is known so far,
    2. if a retreating edge reaches h, the nodes that visible edges lead back to from its source,
       up to h, are the cycle with header h; known cycles among them become its children.

1. is what makes the method almost linear for irreducible graphs as well (Ramalingam, Identifying
loops in almost linear time, TOPLAS 21(2), 1999); 2. is Tarjan's and Havlak's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc_cfg.graph.csr import Graph
    from postproc_cfg.graph.order import DepthFirst

__all__ = ["Nesting", "nest", "nest_within"]


@final
@dataclass(frozen=True, eq=False)
class Nesting:
    """Cycles, node by node.

    above      int32[n], header of the innermost cycle that contains the node and of which it is
               not the header; -1: none
    is_header  bool[n]
    """

    above: NDArray[np.int32]
    is_header: NDArray[np.bool_]


def nest(graph: Graph, search: DepthFirst) -> Nesting:
    """The cycles of the reached part of a graph."""
    sources, targets = search.pre[graph.sources], search.pre[graph.targets]
    reached = sources > 0
    above, is_header = _nest(search.parent, search.last, sources[reached], targets[reached])
    nesting = Nesting(np.full(graph.node_count, -1, np.int32), np.zeros(graph.node_count, np.bool_))
    nesting.above[search.nodes[1:]] = search.nodes[above[1:]]
    nesting.is_header[search.nodes[1:]] = is_header[1:]
    return nesting


def nest_within(
    graph: Graph, search: DepthFirst, members: NDArray[np.integer], nesting: Nesting
) -> None:
    """Do it again in `nesting` for `members` only.

    `members` are reached nodes such that no cycle of the graph, now or as `nesting` has it, has
    nodes both inside and outside.
    """
    numbers = np.sort(search.pre[members])
    local = np.zeros(search.reached + 1, np.int32)
    local[numbers] = np.arange(1, numbers.size + 1, dtype=np.int32)
    last = np.searchsorted(numbers, search.last[numbers], side="right")
    parent = _nearest_ancestors(last.tolist())
    sources, targets = local[search.pre[graph.sources]], local[search.pre[graph.targets]]
    inside = (sources > 0) & (targets > 0)
    above, is_header = _nest(
        parent,
        np.concatenate([[numbers.size], last]).astype(np.int32),
        sources[inside],
        targets[inside],
    )
    nodes = np.concatenate([[-1], search.nodes[numbers]]).astype(np.int32)
    nesting.above[nodes[1:]] = nodes[above[1:]]
    nesting.is_header[nodes[1:]] = is_header[1:]


def _nearest_ancestors(last: list[int]) -> NDArray[np.int32]:
    """Parents of the numbers 1, 2, ... whose subtrees end with `last`; 0 for roots."""
    parent, path = [0], [(0, len(last))]
    for number, end in enumerate(last, 1):
        while path[-1][1] < number:
            path.pop()
        parent.append(path[-1][0])
        path.append((number, end))
    return np.array(parent, np.int32)


def _nest(
    parent: NDArray[np.int32],
    last: NDArray[np.int32],
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """`above` (0: none) and `is_header` by preorder number, for edges between such numbers."""
    retreating = (targets <= sources) & (sources <= last[targets])
    latches: dict[int, list[int]] = {}
    for p, h in zip(sources[retreating].tolist(), targets[retreating].tolist(), strict=True):
        latches.setdefault(h, []).append(p)
    above, is_header = np.zeros(parent.size, np.int32), np.zeros(parent.size, np.bool_)
    if not latches:
        return above, is_header
    is_header[list(latches)] = True
    sources, targets = sources[~retreating], targets[~retreating]
    visible = _by_common_ancestor(parent, sources, targets)
    above[:] = _collapse(parent.size, latches, visible)
    return above, is_header


def _collapse(
    count: int, latches: dict[int, list[int]], visible: dict[int, list[tuple[int, int]]]
) -> list[int]:
    """Steps 1 and 2: the header above each number, 0 where there is none."""
    above = [0] * count
    outermost = list(range(count))  # union-find: number -> header of the outermost known cycle
    predecessors: list[list[int]] = [[] for _ in range(count)]
    for h in range(count - 1, 0, -1):
        for p, e in visible.get(h, ()):
            predecessors[_find(outermost, e)].append(p)
        if h not in latches:
            continue
        found = {h}
        work = latches[h]
        while work:
            x = _find(outermost, work.pop())
            if x not in found:
                found.add(x)
                work.extend(predecessors[x])
                predecessors[x] = []
        found.remove(h)
        for x in found:
            above[x] = outermost[x] = h
    return above


def _find(outermost: list[int], x: int) -> int:
    while outermost[x] != x:
        outermost[x] = outermost[outermost[x]]
        x = outermost[x]
    return x


def _by_common_ancestor(
    parent: NDArray[np.int32], sources: NDArray[np.int32], targets: NDArray[np.int32]
) -> dict[int, list[tuple[int, int]]]:
    """Edges by the lowest common ancestor of their endpoints.

    For preorder numbers u < v that is the least parent of the numbers in (u, v].
    """
    low, high = np.minimum(sources, targets), np.maximum(sources, targets)
    ancestors = _range_minimum(parent, low + 1, high)
    inside = ancestors > 0
    grouped: dict[int, list[tuple[int, int]]] = {}
    for h, p, e in zip(
        ancestors[inside].tolist(), sources[inside].tolist(), targets[inside].tolist(), strict=True
    ):
        grouped.setdefault(h, []).append((p, e))
    return grouped


def _range_minimum(
    values: NDArray[np.int32], first: NDArray[np.int32], last: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Least of values[first .. last], both included, for many ranges (a sparse table)."""
    found = np.empty(first.size, np.int32)
    level = np.frexp((last - first + 1).astype(np.float64))[1] - 1  # floor of the logarithm
    table = values
    for power in range(int(level.max(initial=-1)) + 1):
        here = np.flatnonzero(level == power)
        found[here] = np.minimum(table[first[here]], table[last[here] + 1 - (1 << power)])
        table = np.minimum(table[: -(1 << power)], table[1 << power :])
    return found
