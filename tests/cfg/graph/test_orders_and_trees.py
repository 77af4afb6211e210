# SPDX-License-Identifier: Apache-2.0
"""Orders, dominators and cycles, compared with networkx and with the definitions."""

from __future__ import annotations

import random
import time

import networkx as nx
import numpy as np
import pytest

from postproc_cfg.graph import (
    ROOT,
    UNREACHABLE,
    Graph,
    depth_first,
    dominators,
    find_cycles,
    postdominators,
    reverse_postorder,
)

SEEDS = range(1000)
"""Graphs to compare: with self-loops, parallel edges, several entries, unreachable parts."""


def random_graph(seed: int) -> Graph:
    chance = random.Random(seed)
    count = chance.randint(1, 16)
    edges = [
        (chance.randrange(count), chance.randrange(count))
        for _ in range(chance.randint(0, 3 * count))
    ]
    entries = {chance.randrange(count) for _ in range(chance.choice((1, 1, 2, 3)))}
    return Graph.from_edges(count, edges, sorted(entries))


def as_networkx(graph: Graph) -> nx.DiGraph:
    other = nx.DiGraph()
    other.add_nodes_from(range(graph.node_count))
    other.add_edges_from(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))
    return other


def networkx_idoms(graph: nx.DiGraph, roots: list[int]) -> list[int]:
    rooted = graph.copy()
    rooted.add_node(ROOT)
    rooted.add_edges_from((ROOT, root) for root in roots)
    idoms = nx.immediate_dominators(rooted, ROOT)
    return [idoms.get(node, UNREACHABLE) for node in sorted(graph)]


def test_dominators_are_those_of_networkx() -> None:
    for seed in SEEDS:
        graph = random_graph(seed)
        expected = networkx_idoms(as_networkx(graph), graph.entries.tolist())
        assert dominators(graph).idom.tolist() == expected, seed


def test_postdominators_are_those_of_networkx_on_the_reversed_graph() -> None:
    for seed in SEEDS:
        graph = random_graph(seed)
        other = as_networkx(graph)
        exits = [node for node in other if other.out_degree(node) == 0]
        assert postdominators(graph).idom.tolist() == networkx_idoms(other.reverse(), exits), seed


def test_dominance_is_what_remains_unreachable_without_the_dominator() -> None:
    for seed in range(200):
        graph = random_graph(seed)
        tree, other = dominators(graph), as_networkx(graph)
        for upper in range(graph.node_count):
            without = other.copy()
            without.remove_node(upper)
            left = {
                node
                for entry in graph.entries.tolist()
                if entry != upper
                for node in nx.descendants(without, entry) | {entry}
            }
            reached = set(range(graph.node_count)) - set(tree.unreachable.tolist())
            expected = reached - left if upper in reached else set()
            assert set(tree.subtree(upper).tolist()) == expected
            assert {v for v in range(graph.node_count) if tree.dominates(upper, v)} == expected


def expected_cycles(graph: Graph) -> set[tuple[object, ...]]:
    """Cycles by their definition: components, then components without the header, and so on."""
    search, other = depth_first(graph), as_networkx(graph)
    entries = set(graph.entries.tolist())
    reached = {node for node in other if search.pre[node]}
    found: set[tuple[object, ...]] = set()

    def descend(nodes: set[int], outer: int, depth: int) -> None:
        inside = other.subgraph(nodes)
        for cycle in nx.strongly_connected_components(inside):
            if len(cycle) == 1 and not any(inside.has_edge(v, v) for v in cycle):
                continue
            header = min(cycle, key=lambda v: int(search.pre[v]))
            leaving = [(u, v) for u, v in other.out_edges(cycle) if v not in cycle]
            entering = {v for u, v in other.in_edges(cycle) if u in reached - cycle}
            found.add(
                (
                    header,
                    outer,
                    depth,
                    tuple(sorted(cycle)),
                    tuple(sorted(v for v in cycle if other.has_edge(v, header))),
                    tuple(sorted(entering | (entries & cycle))),
                    tuple(sorted({u for u, _ in leaving})),
                    tuple(sorted({v for _, v in leaving})),
                )
            )
            descend(set(cycle) - {header}, header, depth + 1)

    descend(reached, -1, 1)
    return found


def test_cycles_are_those_of_the_definition() -> None:
    for seed in SEEDS:
        graph = random_graph(seed)
        forest = find_cycles(graph)
        found = {
            (
                cycle.header,
                int(forest.header[cycle.parent]) if cycle.parent >= 0 else -1,
                cycle.depth,
                cycle.members,
                cycle.latches,
                cycle.entries,
                cycle.exiting,
                cycle.exits,
            )
            for cycle in forest
        }
        assert found == expected_cycles(graph), seed
        assert len(found) == len(forest)


def test_summaries_of_cycles_agree_with_their_lists() -> None:
    for seed in SEEDS:
        graph = random_graph(seed)
        search = depth_first(graph)
        forest = find_cycles(graph, search)
        rpo = search.rpo
        assert forest.is_reducible.tolist() == [c.is_reducible for c in forest]
        assert forest.first_exit(rpo).tolist() == [
            min(c.exits, key=lambda v: int(rpo[v]), default=-1) for c in forest
        ]
        assert forest.node_depth.tolist() == [
            sum(node in c.members for c in forest) for node in range(graph.node_count)
        ]


def test_a_cycle_is_irreducible_iff_a_retreating_edge_ends_in_no_dominator() -> None:
    seen = set()
    for seed in SEEDS:
        graph = random_graph(seed)
        search, tree = depth_first(graph), dominators(graph)
        source, target = graph.sources, graph.targets
        retreating = (search.rpo[target] <= search.rpo[source]) & (search.rpo[target] > 0)
        violated = retreating & ~tree.dominates_each(target, source)
        assert violated.any() == (not find_cycles(graph, search).is_reducible.all()), seed
        seen.add(bool(violated.any()))
    assert seen == {False, True}


def test_reverse_postorder_puts_a_node_before_its_successors_but_for_retreating_edges() -> None:
    for seed in SEEDS:
        graph = random_graph(seed)
        search = depth_first(graph)
        order = search.order.tolist()
        assert sorted(order + search.unreachable.tolist()) == list(range(graph.node_count))
        assert [search.rpo[node] for node in order] == list(range(1, len(order) + 1))
        pre, last, sources = search.pre, search.last, graph.sources
        for u, v in zip(sources.tolist(), graph.targets.tolist(), strict=True):
            if pre[u]:
                ancestor = pre[v] <= pre[u] <= last[pre[v]]
                assert (search.rpo[v] <= search.rpo[u]) == ancestor


def test_nearest_common_dominator() -> None:
    #      0
    #     / \
    #    1   2      3 is reached from both, 4 only from 1, 5 not at all
    #   / \ /
    #  4   3
    tree = dominators(Graph.from_edges(6, [(0, 1), (0, 2), (1, 3), (2, 3), (1, 4), (5, 3)]))
    assert tree.nearest_common(4, 3) == 0
    assert tree.nearest_common(4, 1) == 1
    assert tree.depth.tolist() == [1, 2, 2, 2, 3, 0]
    assert list(tree.dominators_of(4)) == [4, 1, 0]
    assert list(tree.dominators_of(5)) == []
    assert tree.strictly_dominates(0, 3)
    assert not tree.strictly_dominates(3, 3)
    assert not tree.dominates(5, 5)


def test_two_entries_have_only_the_virtual_root_in_common() -> None:
    tree = dominators(Graph.from_edges(3, [(0, 2), (1, 2)], entries=[0, 1]))
    assert tree.idom.tolist() == [ROOT, ROOT, ROOT]
    assert tree.nearest_common(0, 1) == ROOT


def test_endless_loops_have_no_postdominators() -> None:
    graph = Graph.from_edges(4, [(0, 1), (0, 2), (2, 2), (0, 3), (1, 3)])
    assert postdominators(graph).unreachable.tolist() == [2]
    assert postdominators(graph, np.array([2, 3])).unreachable.tolist() == []


@pytest.mark.parametrize(
    ("offsets", "targets", "entries"),
    [([0, 1], [1], [0]), ([0, 2, 1], [0], [0]), ([1, 1], [], [0]), ([0, 0], [], [1])],
)
def test_arrays_that_do_not_fit_are_refused(
    offsets: list[int], targets: list[int], entries: list[int]
) -> None:
    with pytest.raises(ValueError, match=r"offsets|no node"):
        Graph.of(offsets, targets, entries)


def test_a_source_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match="source"):
        Graph.from_edges(2, [(2, 0)])


def test_an_empty_graph() -> None:
    graph = Graph.of([0], [], [])
    assert reverse_postorder(graph).tolist() == []
    assert dominators(graph).idom.tolist() == []
    assert len(find_cycles(graph)) == 0
    with pytest.raises(IndexError):
        find_cycles(graph)[0]


def deep_graphs(count: int) -> dict[str, Graph]:
    chain = [(i, i + 1) for i in range(count - 1)]
    half = count // 2
    nest = [(count - 1 - i, i) for i in range(half)]
    return {
        "a chain": Graph.from_edges(count, chain),
        "loops in loops": Graph.from_edges(count, chain + nest),
        "loops in loops, each entered everywhere": Graph.from_edges(
            count, chain + nest + [(0, i) for i in range(1, half)]
        ),
    }


@pytest.mark.parametrize("name", deep_graphs(4))
def test_graphs_of_a_hundred_thousand_nodes_take_seconds_not_minutes(name: str) -> None:
    graph = deep_graphs(100_000)[name]
    started = time.process_time()
    search = depth_first(graph)
    assert dominators(graph, search).idom[1] == 0
    forest = find_cycles(graph, search)
    assert forest.depth.max(initial=0) in (0, 50_000)
    entered_once = 2 if "everywhere" in name else len(forest)  # the outermost, the innermost
    assert forest.is_reducible.sum() == entered_once
    assert time.process_time() - started < 20  # quadratic work would take hours
