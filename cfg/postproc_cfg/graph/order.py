# SPDX-License-Identifier: Apache-2.0
"""Depth-first search and the orders that come from it.

A virtual root, whose successors are the entries, is searched; it has preorder number 0.  With
pre(v) the number of v in order of discovery, and last(v) the greatest number in the subtree of v,

    u is an ancestor of v (or v itself)  iff  pre(u) <= pre(v) <= last(u)

and an edge u -> v is *retreating* iff v is an ancestor of u, which holds iff rpo(v) <= rpo(u).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc_cfg.graph.csr import Graph

__all__ = ["DepthFirst", "depth_first", "reverse_postorder"]


@final
@dataclass(frozen=True, eq=False)
class DepthFirst:
    """A depth-first forest.  r nodes were reached.

    pre      int32[n], number from 1 in order of discovery; 0: not reached
    rpo      int32[n], number from 1 in reverse postorder; 0: not reached
    nodes    int32[r + 1], node of each preorder number; -1 for the virtual root
    parent   int32[r + 1], preorder number of the parent of each preorder number; root: 0
    last     int32[r + 1], greatest preorder number in the subtree of each preorder number
    """

    pre: NDArray[np.int32]
    rpo: NDArray[np.int32]
    nodes: NDArray[np.int32]
    parent: NDArray[np.int32]
    last: NDArray[np.int32]

    @property
    def reached(self) -> int:
        return int(self.nodes.size) - 1

    @cached_property
    def order(self) -> NDArray[np.int32]:
        """Reached nodes in reverse postorder, int32[r]."""
        order = np.empty(self.reached, np.int32)
        nodes = self.nodes[1:]
        order[self.rpo[nodes] - 1] = nodes
        return order

    @property
    def unreachable(self) -> NDArray[np.int32]:
        """Nodes that no entry reaches, ascending."""
        return np.flatnonzero(self.pre == 0).astype(np.int32)


def depth_first(graph: Graph) -> DepthFirst:
    """Search from the entries, in their order, each node's successors in theirs.  O(n + m)."""
    n = graph.node_count
    first, targets = graph.offsets.tolist(), graph.targets.tolist()
    following, ends = first[:n], first[1:]
    pre = [0] * n
    nodes, parent, last = [-1], [0], [0]
    rpo, finished = [0] * n, 0
    for entry in graph.entries.tolist():
        if pre[entry]:
            continue
        pre[entry] = len(nodes)
        nodes.append(entry)
        parent.append(0)
        last.append(0)
        stack = [entry]
        while stack:
            node = stack[-1]
            at = following[node]
            if at == ends[node]:
                stack.pop()
                rpo[node] = finished
                finished += 1
                last[pre[node]] = len(nodes) - 1
                continue
            following[node] = at + 1
            target = targets[at]
            if not pre[target]:
                pre[target] = len(nodes)
                nodes.append(target)
                parent.append(pre[node])
                last.append(0)
                stack.append(target)
    last[0] = len(nodes) - 1
    pre_numbers = np.array(pre, np.int32)
    numbers = np.where(pre_numbers > 0, finished - np.array(rpo, np.int32), 0).astype(np.int32)
    return DepthFirst(
        pre_numbers,
        numbers,
        np.array(nodes, np.int32),
        np.array(parent, np.int32),
        np.array(last, np.int32),
    )


def reverse_postorder(graph: Graph) -> NDArray[np.int32]:
    """Nodes that an entry reaches, in reverse postorder of `depth_first`."""
    return depth_first(graph).order
