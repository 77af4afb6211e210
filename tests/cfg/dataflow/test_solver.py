# SPDX-License-Identifier: Apache-2.0
"""The solvers against all paths of small graphs.

A path is followed by its state, the block it has arrived at and what holds there.  Two paths with
the same state go on alike, so exploring the states enumerates all paths, however long.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import reduce
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postproc_cfg.dataflow import (
    UNKNOWN,
    UNREACHED,
    Extreme,
    FlatLattice,
    SetLattice,
    solve,
    solve_lattice,
)
from postproc_cfg.dataflow.bitsets import (
    from_integers,
    members,
    pack,
    row_of,
    to_integers,
    unpack,
    word_count,
)
from postproc_cfg.graph import Graph

BITS = 4
State = TypeVar("State", bound=Hashable)

graphs = st.integers(1, 6).flatmap(
    lambda n: st.builds(
        lambda edges, entries: Graph.from_edges(n, edges, sorted(entries)),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=2 * n),
        st.sets(st.integers(0, n - 1), min_size=1, max_size=2),
    )
)
sets = st.integers(0, (1 << BITS) - 1)


def explore(
    graph: Graph, starts: Iterable[tuple[int, State]], transfer: Callable[[int, State], State]
) -> list[set[State]]:
    """What may hold before each block, on the paths that begin with `starts`."""
    states: list[set[State]] = [set() for _ in range(graph.node_count)]
    work = list(starts)
    while work:
        node, value = work.pop()
        if value in states[node]:
            continue
        states[node].add(value)
        work += [(target, transfer(node, value)) for target in graph.successors(node).tolist()]
    return states


@settings(max_examples=100, deadline=None)
@given(st.data())
@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("meet", ["may", "must"])
def test_sets_equal_the_meet_over_all_paths(direction: str, meet: str, data: st.DataObject) -> None:
    graph = data.draw(graphs)
    n = graph.node_count
    gen, kill = (data.draw(st.lists(sets, min_size=n, max_size=n)) for _ in range(2))
    boundary = data.draw(st.dictionaries(st.integers(0, n - 1), sets, max_size=3))
    solution = solve(
        graph,
        from_integers(gen, 1),
        from_integers(kill, 1),
        direction=direction,  # type: ignore[arg-type]  # parametrized
        meet=meet,  # type: ignore[arg-type]  # parametrized
        boundary={
            b: row_of([k for k in range(BITS) if v >> k & 1], 1) for b, v in boundary.items()
        },
    )

    def transfer(node: int, value: int) -> int:
        return gen[node] | value & ~kill[node]

    full = (1 << 64) - 1
    starts = list(boundary.items())
    if direction == "backward":  # paths need not end
        starts += [(node, 0 if meet == "may" else full) for node in range(n)]
    states = explore(graph if direction == "forward" else graph.reversed, starts, transfer)
    for node, values in enumerate(states):
        if meet == "may":
            expected = reduce(int.__or__, values, 0)
        else:
            expected = reduce(int.__and__, values, full)
        before, after = solution.at_start[node, 0], solution.at_end[node, 0]
        if direction == "backward":
            before, after = after, before
        assert int(before) == expected
        assert int(after) == (transfer(node, expected) if values else expected)


def test_the_boundary_is_empty_at_the_entries_or_at_the_sinks_if_it_is_left_out() -> None:
    graph = Graph.from_edges(3, [(0, 1), (2, 1)])
    nothing = np.zeros((3, 1), np.uint64)
    forward = solve(graph, nothing, nothing, direction="forward", meet="must")
    assert [int(v) for v in forward.at_start[:, 0]] == [0, 0, (1 << 64) - 1]
    assert int(forward.at_end[2, 0]) == (1 << 64) - 1
    backward = solve(graph, nothing, nothing, direction="backward", meet="must")
    assert not backward.at_end.any()


def test_blocks_are_evaluated_in_an_order_that_needs_few_steps() -> None:
    chain = Graph.from_edges(2000, [(i, i + 1) for i in range(1999)])
    gen = np.zeros((2000, 1), np.uint64)
    gen[0] = gen[1999] = 1
    none = np.zeros_like(gen)
    assert solve(chain, gen, none, direction="forward", meet="may").steps == 2000
    assert solve(chain, gen, none, direction="backward", meet="may").steps == 2000


Effect = tuple[str, int]
Flat = int | Extreme


@settings(max_examples=100, deadline=None)
@given(st.data())
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_flat_lattices_equal_the_join_over_all_paths(direction: str, data: st.DataObject) -> None:
    graph = data.draw(graphs)
    effects: list[Effect] = data.draw(
        st.lists(
            st.tuples(st.sampled_from(["keep", "set", "lose"]), st.integers(0, 2)),
            min_size=graph.node_count,
            max_size=graph.node_count,
        )
    )
    lattice: FlatLattice[int] = FlatLattice()

    def transfer(node: int, value: Flat) -> Flat:
        kind, new = effects[node]
        if value is UNREACHED or kind == "keep":
            return value
        return new if kind == "set" else UNKNOWN

    ends = graph.entries if direction == "forward" else graph.sinks
    boundary: dict[int, Flat] = dict.fromkeys(ends.tolist(), 7)
    solution = solve_lattice(
        graph,
        lattice,
        transfer,
        boundary,
        direction=direction,  # type: ignore[arg-type]  # parametrized
    )
    walked = graph if direction == "forward" else graph.reversed
    for node, values in enumerate(explore(walked, boundary.items(), transfer)):
        expected: Flat = UNREACHED
        if values:
            expected = values.copy().pop() if len(values) == 1 else UNKNOWN
        found = solution.at_start if direction == "forward" else solution.at_end
        assert found[node] == expected


def test_sets_of_values_are_joined_until_they_are_too_great() -> None:
    lattice: SetLattice[str] = SetLattice(2)
    one, other = frozenset("a"), frozenset("b")
    assert lattice.join(lattice.bottom, one) == one
    assert lattice.join(one, other) == frozenset("ab")
    assert lattice.join(frozenset("ab"), frozenset("c")) is UNKNOWN
    assert lattice.join(UNKNOWN, one) is UNKNOWN


@given(st.lists(st.sets(st.integers(0, 199)), min_size=1, max_size=5))
def test_rows_and_integers_and_matrices_say_the_same(contents: list[set[int]]) -> None:
    words = word_count(200)
    rows = np.array([row_of(content, words) for content in contents])
    assert words == 4
    assert [members(row) for row in rows] == [tuple(sorted(content)) for content in contents]
    assert np.array_equal(from_integers(to_integers(rows), words), rows)
    assert np.array_equal(pack(unpack(rows, 200)), rows)


def test_rows_of_no_words() -> None:
    assert to_integers(np.zeros((3, 0), np.uint64)) == [0, 0, 0]
    assert to_integers(np.zeros((0, 2), np.uint64)) == []
