# SPDX-License-Identifier: Apache-2.0
"""What of the trees of a graph stays when some of its edges come or go.

With the orders and relations of the graph before the change:

1. The depth-first search stays as it was iff every edge that goes is no tree edge and every edge
   u -> v that comes finds v already discovered when the search of u arrives at it.  Then reached
   nodes stay reached, and:
2. Order the outermost cycles, and the nodes outside all cycles, by the rpo of their headers; that
   is a topological order.  An edge u -> v that leads forward in it changes no cycle.  Any other
   changes cycles only between v and u in that order.
3. Dominators stay if for every edge u -> v that comes idom(v) or v itself dominates u, and for
   every edge that goes v dominates u.  Otherwise they change only below the nearest common
   dominator of u and v (of an edge that comes) or below idom(v) (of an edge that goes), since all
   paths to what lies below lead through it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from postproc_cfg.graph.cycles import CycleForest
from postproc_cfg.graph.dominators import ROOT, DominatorTree, dominators
from postproc_cfg.graph.nesting import Nesting, nest_within

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc_cfg.graph.csr import Graph
    from postproc_cfg.graph.edges import Pairs
    from postproc_cfg.graph.order import DepthFirst

__all__ = ["reached_pairs", "search_stays", "updated_dominators", "updated_nesting"]


def reached_pairs(search: DepthFirst, pairs: Pairs) -> Pairs:
    """The edges that start at a reached node; no other edge matters to anything."""
    return [(u, v) for u, v in pairs if search.pre[u]]


def search_stays(graph: Graph, search: DepthFirst, come: Pairs, gone: Pairs) -> bool:
    """Whether 1. holds.  `graph` is the one before the change, successors ascending; both lists
    have only edges from reached nodes."""
    pre, parent = search.pre, search.parent
    return not any(parent[pre[v]] == pre[u] for u, v in gone) and all(
        _already_discovered(graph, search, u, v) for u, v in come
    )


def _already_discovered(graph: Graph, search: DepthFirst, u: int, v: int) -> bool:
    """Whether the search has seen v when, at u, it comes to a new successor v of u."""
    number, here = int(search.pre[v]), int(search.pre[u])
    if not number or number > search.last[here]:
        return False
    if number <= here:
        return True
    for child in graph.successors(u).tolist():  # v was discovered below one of the children of u
        at = int(search.pre[child])
        if search.parent[at] == here and at <= number <= search.last[at]:
            return bool(child < v)
    raise AssertionError(f"node {v} lies below node {u}, but below none of its children")


def updated_nesting(
    graph: Graph,
    search: DepthFirst,
    before: tuple[CycleForest, Nesting],
    come: Pairs,
    gone: Pairs,
) -> Nesting:
    """The nesting after the change, under 1., by 2.  `graph` is the one after it."""
    cycles, nesting = before
    rank = _topological_rank(cycles, search)
    changed = np.zeros(graph.node_count, np.bool_)
    for u, v in (*come, *gone):
        if rank[v] <= rank[u]:
            changed |= (rank[v] <= rank) & (rank <= rank[u])
    if not changed.any():
        return nesting
    after = Nesting(nesting.above.copy(), nesting.is_header.copy())
    nest_within(graph, search, np.flatnonzero(changed), after)
    return after


def _topological_rank(cycles: CycleForest, search: DepthFirst) -> NDArray[np.int32]:
    """rpo of the header of the outermost cycle of each node, or of the node; 0: not reached."""
    outermost = np.flatnonzero(cycles.parent < 0)
    if not outermost.size:
        return search.rpo
    around = np.searchsorted(outermost, cycles.innermost, side="right") - 1
    header = cycles.header[outermost[around]]
    return np.where(cycles.innermost >= 0, search.rpo[header], search.rpo)


def updated_dominators(
    graph: Graph, search: DepthFirst, tree: DominatorTree, come: Pairs, gone: Pairs
) -> DominatorTree:
    """The dominator tree after the change, under 1., by 3.  `graph` is the one after it."""
    tops = {
        tree.nearest_common(u, v)
        for u, v in come
        if not tree.dominates(v, u) and not _idom_dominates(tree, v, u)
    }
    tops |= {int(tree.idom[v]) for u, v in gone if not tree.dominates(v, u)}
    if not tops:
        return tree
    top = tops.pop()
    for other in tops:
        top = tree.nearest_common(top, other)
    if top == ROOT:
        return dominators(graph, search)
    below = tree.subtree(top)
    part = dominators(graph.induced(below, np.array([top])))
    idom = tree.idom.copy()
    idom[below] = np.append(below, np.int32(ROOT))[part.idom]
    idom[top] = tree.idom[top]
    return DominatorTree(idom, search.nodes[1:])


def _idom_dominates(tree: DominatorTree, lower: int, node: int) -> bool:
    above = int(tree.idom[lower])
    return above == ROOT or tree.dominates(above, node)
