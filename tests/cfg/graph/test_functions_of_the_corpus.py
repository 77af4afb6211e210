# SPDX-License-Identifier: Apache-2.0
"""Dominators and cycles of every function of the corpus, compared with networkx."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from postproc.codeobject import CodeObject, Section
from postproc.errors import PostprocError
from postproc.isa import Decoded, load
from postproc_cfg.flow_graph import control_flow_graph
from postproc_cfg.graph import (
    ROOT,
    UNREACHABLE,
    Graph,
    dominators,
    find_cycles,
    postdominators,
)
from postproc_cfg.graph.loop_service import LoopService

CORPUS = Path(__file__).parents[2] / "corpus"


def functions_of(path: Path) -> list[Graph]:
    """The blocks of an object, once for each of its functions, entered there only."""
    try:
        code_object = CodeObject.parse(path.read_bytes(), path.name)
        isa = load(code_object.target.processor)
    except PostprocError:
        return []  # no instruction table

    def decode(section: Section) -> Decoded:
        return isa.decode(code_object.code(section))

    flow = control_flow_graph(code_object, decode)
    return [flow.graph.with_entries([function.entry]) for function in flow.functions]


@pytest.fixture(scope="module")
def functions() -> list[Graph]:
    found = [graph for path in sorted(CORPUS.glob("gfx*/*")) for graph in functions_of(path)]
    assert len(found) > 100
    return found


def as_networkx(graph: Graph) -> nx.DiGraph:
    other = nx.DiGraph()
    other.add_nodes_from(range(graph.node_count))
    other.add_edges_from(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))
    return other


def networkx_idoms(graph: nx.DiGraph, roots: list[int]) -> list[int]:
    rooted = graph.copy()
    rooted.add_edges_from((ROOT, root) for root in roots)
    idoms = nx.immediate_dominators(rooted, ROOT) if roots else {}
    return [idoms.get(node, UNREACHABLE) for node in sorted(graph)]


def test_dominators_and_postdominators(functions: list[Graph]) -> None:
    for graph in functions:
        other = as_networkx(graph)
        assert dominators(graph).idom.tolist() == networkx_idoms(other, graph.entries.tolist())
        exits = [node for node in other if other.out_degree(node) == 0]
        assert postdominators(graph).idom.tolist() == networkx_idoms(other.reverse(), exits)


def test_outermost_cycles_are_the_strong_components_of_what_a_function_reaches(
    functions: list[Graph],
) -> None:
    loops = 0
    for graph in functions:
        other, entry = as_networkx(graph), int(graph.entries[0])
        reached = other.subgraph(nx.descendants(other, entry) | {entry})
        expected = {
            tuple(sorted(nodes))
            for nodes in nx.strongly_connected_components(reached)
            if len(nodes) > 1 or reached.has_edge(*2 * tuple(nodes))
        }
        forest = find_cycles(graph)
        assert {cycle.members for cycle in forest if cycle.depth == 1} == expected
        loops += len(forest)
    assert loops > 20


def test_what_compilers_emit_is_reducible(functions: list[Graph]) -> None:
    for graph in functions:
        tree, forest = dominators(graph), find_cycles(graph)
        assert all(tree.dominates(c.header, member) for c in forest for member in c.members)
        assert not LoopService(graph).analyze().rpo_violation
