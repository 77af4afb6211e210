# SPDX-License-Identifier: Apache-2.0
"""Dominators and postdominators.

    d dominates v        iff  every path from the virtual root to v contains d
    idom(v)              the dominator of v, other than v, that all its other dominators dominate
    p postdominates v    iff  every path from v to an exit contains p

Nodes that no entry reaches (for postdominators: that reach no exit) have no dominators; they are
reported as `unreachable`, and `dominates` is false for them.

The algorithm is that of Lengauer and Tarjan (TOPLAS 1(1), 1979) with simple path compression:

    1. number the nodes depth-first,
    2. in reverse preorder, semi(w) = min over edges v -> w of semi(eval(v)),
    3. idom(v) = semi(v), or that of the node on the path with a lesser semidominator,
    4. in preorder, resolve what 3. put off.

O(m log n) in the worst case, without recursion.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, final

import numpy as np

from postproc_cfg.graph.order import depth_first

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from postproc_cfg.graph.csr import Graph
    from postproc_cfg.graph.order import DepthFirst

__all__ = ["ROOT", "UNREACHABLE", "DominatorTree", "dominators", "postdominators"]

ROOT: Final = -1
"""The virtual root: immediate dominator of entries, and of what several entries reach."""

UNREACHABLE: Final = -2
"""Stands for the immediate dominator of a node that has no dominators."""


@final
@dataclass(frozen=True, eq=False)
class DominatorTree:
    """idom: int32[n], `ROOT` or `UNREACHABLE` where it is no node.

    order: int32[r], reached nodes such that a node comes after its immediate dominator.
    """

    idom: NDArray[np.int32]
    order: NDArray[np.int32]

    @property
    def unreachable(self) -> NDArray[np.int32]:
        return np.flatnonzero(self.idom == UNREACHABLE).astype(np.int32)

    @cached_property
    def depth(self) -> NDArray[np.int32]:
        """Nodes between the virtual root and a node, 1 for its children; 0: unreachable."""
        depth, idom = [0] * (self.idom.size + 1), self.idom.tolist()  # depth[ROOT] stays 0
        for node in self.order.tolist():
            depth[node] = depth[idom[node]] + 1
        return np.array(depth[:-1], np.int32)

    @cached_property
    def _intervals(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Half-open interval of tree preorder numbers for each subtree; empty if unreachable."""
        idom, order = self.idom.tolist(), self.order.tolist()
        size = [1] * len(idom) + [1]
        for node in reversed(order):
            size[idom[node]] += size[node]
        first, free = [0] * (len(idom) + 1), [0] * (len(idom) + 1)
        for node in order:
            above = idom[node]
            first[node] = free[above]
            free[node] = first[node] + 1
            free[above] += size[node]
        start = np.array(first[:-1], np.int32)
        end = start + np.array(size[:-1], np.int32)
        lost = self.idom == UNREACHABLE
        start[lost] = end[lost] = -1
        return start, end

    def dominates(self, upper: int, lower: int) -> bool:
        """Whether `upper` dominates `lower`; a reached node dominates itself.  O(1)."""
        start, end = self._intervals
        return bool(0 <= start[upper] <= start[lower] < end[upper])

    def dominates_each(
        self, upper: NDArray[np.integer], lower: NDArray[np.integer]
    ) -> NDArray[np.bool_]:
        """`dominates`, item by item."""
        start, end = self._intervals
        found: NDArray[np.bool_] = (
            (start[upper] >= 0) & (start[upper] <= start[lower]) & (start[lower] < end[upper])
        )
        return found

    def strictly_dominates(self, upper: int, lower: int) -> bool:
        return upper != lower and self.dominates(upper, lower)

    def dominators_of(self, node: int) -> Iterator[int]:
        """The dominators of `node`, from itself upwards; none if it is unreachable."""
        above = int(self.idom[node])
        if above == UNREACHABLE:
            return
        yield node
        while above != ROOT:
            yield above
            above = int(self.idom[above])

    def nearest_common(self, one: int, other: int) -> int:
        """The lowest node that dominates both; `ROOT` if none does.  Both must be reached."""
        depth = self.depth
        while one != other:
            if one == ROOT or other == ROOT:
                return ROOT
            if depth[one] < depth[other]:
                one, other = other, one
            one = int(self.idom[one])
        return one

    def subtree(self, node: int) -> NDArray[np.int32]:
        """The nodes that `node` dominates, ascending."""
        start, end = self._intervals
        inside = (start >= start[node]) & (start < end[node]) & (start >= 0)
        return np.flatnonzero(inside).astype(np.int32)


def dominators(graph: Graph, search: DepthFirst | None = None) -> DominatorTree:
    """The dominator tree.  `search` is the graph's depth-first search if the caller has it."""
    search = depth_first(graph) if search is None else search
    by_number = _immediate(search.parent.tolist(), _numbered_predecessors(graph, search))
    idom = np.full(graph.node_count, UNREACHABLE, np.int32)
    idom[search.nodes[1:]] = search.nodes[by_number[1:]]
    return DominatorTree(idom, search.nodes[1:])


def postdominators(graph: Graph, exits: NDArray[np.integer] | None = None) -> DominatorTree:
    """The postdominator tree, below a virtual exit.

    `exits` are the nodes where control leaves, by default those without successor.  Nodes that
    reach none of them (endless loops) are `unreachable`.
    """
    backward = graph.reversed
    return dominators(backward if exits is None else backward.with_entries(exits))


def _numbered_predecessors(graph: Graph, search: DepthFirst) -> list[list[int]]:
    """Predecessors of each preorder number, as preorder numbers; those that are reached."""
    predecessors: list[list[int]] = [[] for _ in range(search.reached + 1)]
    sources, targets = search.pre[graph.sources], search.pre[graph.targets]
    useful = (sources > 0) & (sources != targets)
    for source, target in zip(sources[useful].tolist(), targets[useful].tolist(), strict=True):
        predecessors[target].append(source)
    for entry in search.pre[graph.entries].tolist():
        predecessors[entry].append(0)
    return predecessors


def _immediate(parent: list[int], predecessors: list[list[int]]) -> list[int]:
    """Immediate dominators by preorder number (steps 2 to 4); the root's is itself."""
    count = len(parent)
    semi, label, idom = list(range(count)), list(range(count)), [0] * count
    forest = [-1] * count  # parent in the forest of linked nodes
    bucket: list[list[int]] = [[] for _ in range(count)]
    for w in range(count - 1, 0, -1):
        least = semi[w]
        for v in predecessors[w]:
            u = _evaluate(v, forest, label, semi)
            least = min(least, semi[u])
        semi[w] = least
        bucket[least].append(w)
        above = forest[w] = parent[w]
        for v in bucket[above]:
            u = _evaluate(v, forest, label, semi)
            idom[v] = u if semi[u] < semi[v] else above
        bucket[above] = []
    for w in range(1, count):
        if idom[w] != semi[w]:
            idom[w] = idom[idom[w]]
    return idom


def _evaluate(v: int, forest: list[int], label: list[int], semi: list[int]) -> int:
    """The node of least semidominator on the linked path above v, root of the path excluded."""
    above = forest[v]
    if above < 0:
        return v
    path = []
    x = v
    while forest[above] >= 0:
        path.append(x)
        x, above = above, forest[above]
    for y in reversed(path):
        over = forest[y]
        if semi[label[over]] < semi[label[y]]:
            label[y] = label[over]
        forest[y] = forest[over]
    return label[v]
