# SPDX-License-Identifier: Apache-2.0
"""Data flow over small finite lattices, for what is no set of bits.

    (1)  after(b)  = transfer(b, before(b))
    (2)  before(b) = join { after(p) : p -> b }  join  boundary(b)

as in `postproc_cfg.dataflow.solver`; the least solution is taken, from `bottom`, which is what
holds where no path arrives.  `transfer` must be monotone.  A value may rise once a step of its
chain, so chains should be short.

    flat lattice over V:   bottom  <  each v in V  <  UNKNOWN
    finite sets over V:    {}  <  ...  <  sets of at most `limit` items  <  UNKNOWN
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar, final

from postproc_cfg.dataflow.solver import Direction, evaluation_order, flow_edges

if TYPE_CHECKING:
    from postproc_cfg.graph.csr import Graph

__all__ = [
    "UNKNOWN",
    "UNREACHED",
    "Extreme",
    "FlatLattice",
    "Lattice",
    "LatticeSolution",
    "SetLattice",
    "solve_lattice",
]

T = TypeVar("T")
V = TypeVar("V", bound=Hashable)


class Extreme(Enum):
    """The ends of a lattice."""

    UNREACHED = "unreached"
    UNKNOWN = "unknown"


UNREACHED: Final = Extreme.UNREACHED
"""Bottom: no path arrives here."""

UNKNOWN: Final = Extreme.UNKNOWN
"""Top: anything may hold here."""


class Lattice(Protocol[T]):
    """A join-semilattice of finite height."""

    @property
    def bottom(self) -> T: ...

    def join(self, one: T, other: T) -> T:
        """The least value that is at least both."""
        ...


@final
class FlatLattice(Generic[V]):
    """One value, or several (UNKNOWN), or none yet (UNREACHED)."""

    bottom: V | Extreme = UNREACHED

    def join(self, one: V | Extreme, other: V | Extreme) -> V | Extreme:
        if one is UNREACHED or one == other:
            return other
        return one if other is UNREACHED else UNKNOWN


@final
@dataclass(frozen=True)
class SetLattice(Generic[V]):
    """A set of at most `limit` values, or UNKNOWN."""

    limit: int

    @property
    def bottom(self) -> frozenset[V] | Extreme:
        return frozenset()

    def join(
        self, one: frozenset[V] | Extreme, other: frozenset[V] | Extreme
    ) -> frozenset[V] | Extreme:
        if isinstance(one, Extreme) or isinstance(other, Extreme):
            return UNKNOWN
        both = one | other
        return both if len(both) <= self.limit else UNKNOWN


@final
@dataclass(frozen=True)
class LatticeSolution(Generic[T]):
    """Values at the start and the end of each block, in the order of execution."""

    at_start: tuple[T, ...]
    at_end: tuple[T, ...]
    steps: int


def solve_lattice(
    graph: Graph,
    lattice: Lattice[T],
    transfer: Callable[[int, T], T],
    boundary: Mapping[int, T],
    *,
    direction: Direction = "forward",
) -> LatticeSolution[T]:
    """Solve (1) and (2); `boundary` has the blocks where control comes from outside."""
    sources, targets = flow_edges(graph, direction)
    order = evaluation_order(graph, direction)
    place = {node: position for position, node in enumerate(order)}
    before = [boundary.get(node, lattice.bottom) for node in range(graph.node_count)]
    outside, after = list(before), [lattice.bottom] * graph.node_count
    waiting, steps = list(range(graph.node_count)), 0
    queued = set(waiting)
    while waiting:
        position = heapq.heappop(waiting)
        queued.remove(position)
        node, steps = order[position], steps + 1
        value = outside[node]
        for source in sources[node]:
            value = lattice.join(value, after[source])
        before[node] = value
        value = transfer(node, value)
        if value != after[node]:
            after[node] = value
            for again in {place[target] for target in targets[node]} - queued:
                queued.add(again)
                heapq.heappush(waiting, again)
    ends = (tuple(before), tuple(after))
    if direction == "backward":
        ends = ends[::-1]
    return LatticeSolution(*ends, steps)
