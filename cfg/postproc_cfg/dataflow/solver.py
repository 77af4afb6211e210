# SPDX-License-Identifier: Apache-2.0
"""Data flow over sets: forward or backward, on some path or on all of them.

Every block b turns the set that holds before it (in the direction of the analysis) into one that
holds after it,

    (1)  after(b)  = gen(b) | (before(b) & ~kill(b))

and what holds before it comes from its neighbours against the direction and, where control comes
from outside, from a boundary:

    (2)  before(b) = meet { after(p) : p -> b }  meet  boundary(b)      forward
         before(b) = meet { after(s) : b -> s }  meet  boundary(b)      backward

    may:  meet is union, the least solution is taken, and it starts from the empty set;
    must: meet is intersection, the greatest solution is taken, and it starts from the full set.

(1) is distributive, so the solution is the meet over all paths.

    forward:   paths begin at blocks with a boundary.  A block that none of them reaches holds the
               meet of nothing, the empty set for may and the full set for must, and gives no other
               block anything: control does not come from there.
    backward:  paths end at blocks with a boundary, or never.

(3)  By default boundary(b) is the empty set, for the entries of the graph (forward) or for the
blocks without successors (backward).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from postproc_cfg.dataflow.bitsets import from_integers, to_integers
from postproc_cfg.graph.order import depth_first

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc_cfg.graph.csr import Graph

__all__ = ["Direction", "Meet", "Solution", "evaluation_order", "flow_edges", "solve"]

Direction = Literal["forward", "backward"]
Meet = Literal["may", "must"]


@final
@dataclass(frozen=True, eq=False)
class Solution:
    """A solution, in the order of execution whatever the direction was.

    at_start  uint64[n, w], at the start of each block
    at_end    uint64[n, w], at its end
    steps     how many blocks were evaluated until nothing changed
    """

    at_start: NDArray[np.uint64]
    at_end: NDArray[np.uint64]
    steps: int


def solve(
    graph: Graph,
    gen: NDArray[np.uint64],
    kill: NDArray[np.uint64],
    *,
    direction: Direction,
    meet: Meet,
    boundary: Mapping[int, NDArray[np.uint64]] | None = None,
) -> Solution:
    """Solve (1) and (2).

    gen, kill  uint64[n, w], one row a block
    boundary   rows uint64[w] of the blocks that have one; (3) if it is left out
    """
    words = gen.shape[1]
    full = (1 << 64 * words) - 1
    outside = _boundary(graph, direction, boundary)
    start = 0 if meet == "may" else full
    transfer = [(g, full & ~k) for g, k in zip(to_integers(gen), to_integers(kill), strict=True)]
    before, after, steps = _iterate(
        _Flow(*flow_edges(graph, direction), evaluation_order(graph, direction)),
        transfer,
        [outside.get(node, start) for node in range(graph.node_count)],
        begin=outside if direction == "forward" else range(graph.node_count),
        is_union=meet == "may",
    )
    rows = [from_integers([v & full for v in values], words) for values in (before, after)]
    if direction == "backward":
        rows.reverse()
    return Solution(rows[0], rows[1], steps)


def _boundary(
    graph: Graph, direction: Direction, boundary: Mapping[int, NDArray[np.uint64]] | None
) -> dict[int, int]:
    if boundary is None:
        nodes = graph.entries if direction == "forward" else graph.sinks
        return dict.fromkeys(nodes.tolist(), 0)
    return {node: to_integers(row[np.newaxis])[0] for node, row in boundary.items()}


def flow_edges(graph: Graph, direction: Direction) -> tuple[list[list[int]], list[list[int]]]:
    """Neighbours against the direction, and along it, of each node."""
    lists = []
    for one in (graph.reversed, graph):
        targets, offsets = one.targets.tolist(), one.offsets.tolist()
        lists.append([targets[a:b] for a, b in pairwise(offsets)])
    if direction == "backward":
        lists.reverse()
    return lists[0], lists[1]


def evaluation_order(graph: Graph, direction: Direction) -> list[int]:
    """All nodes, such that few are evaluated before what they depend on: reverse postorder, or
    backwards postorder; nodes that are not reached come last."""
    search = depth_first(graph)
    order: list[int] = search.order.tolist()
    if direction == "backward":
        order.reverse()
    order.extend(search.unreachable.tolist())
    return order


@final
@dataclass(frozen=True)
class _Flow:
    sources: list[list[int]]
    targets: list[list[int]]
    order: list[int]


def _iterate(
    flow: _Flow,
    transfer: list[tuple[int, int]],
    outside: list[int],
    *,
    begin: Iterable[int],
    is_union: bool,
) -> tuple[list[int], list[int], int]:
    """`before`, `after` and the steps.  `outside` is the meet of nothing where nothing comes from
    outside; the blocks of `begin` are evaluated, and all that they reach."""
    place = [0] * len(flow.order)
    for position, node in enumerate(flow.order):
        place[node] = position
    neutral = 0 if is_union else -1
    before, after = list(outside), [neutral] * len(outside)
    waiting = sorted(place[node] for node in begin)  # positions; a sorted list is a heap
    queued, evaluated, steps = set(waiting), set[int](), 0
    while waiting:
        position = heapq.heappop(waiting)
        queued.remove(position)
        node, steps = flow.order[position], steps + 1
        value = outside[node]
        for source in flow.sources[node]:
            value = value | after[source] if is_union else value & after[source]
        before[node] = value
        gen, keep = transfer[node]
        value = gen | value & keep
        if value != after[node] or node not in evaluated:
            evaluated.add(node)
            after[node] = value
            for target in flow.targets[node]:
                if place[target] not in queued:
                    queued.add(place[target])
                    heapq.heappush(waiting, place[target])
    return before, after, steps
