# SPDX-License-Identifier: Apache-2.0
"""The loop service: what it says of a graph, and that edits never make it say anything else."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postproc_cfg.graph import Graph, dominators
from postproc_cfg.graph.loop_service import LoopService, ReentryError
from postproc_cfg.graph.tags import (
    ANALYSIS_BITS,
    BlockFlag,
    GraphFlag,
    LoopTags,
    SecondaryFlag,
)

FOREIGN = 0xFFFFFFFF & ~ANALYSIS_BITS


def loop_with_tail() -> Graph:
    """0 -> 1 -> 2 -> 1, 2 -> 3; block 4 is reached by nobody and jumps into the loop."""
    return Graph.from_edges(5, [(0, 1), (1, 2), (2, 1), (2, 3), (4, 1)])


# ---------------------------------------------------------------- what the tags say
def test_the_tags_of_a_loop() -> None:
    tags = LoopService(loop_with_tail()).analyze()
    assert tags.rpo.tolist() == [1, 2, 3, 4, 0]
    assert tags.latch_pred_rpo.tolist() == [0, 3, 0, 0, 0]
    assert tags.loop_exit_rpo.tolist() == [0, 4, 0, 0, 0]
    assert tags.having(BlockFlag.LOOP_HEADER).tolist() == [1]
    assert tags.having(BlockFlag.IN_LOOP).tolist() == [1, 2]
    assert tags.having(BlockFlag.HAS_PRED).tolist() == [1, 2, 3]
    assert tags.having(BlockFlag.ANALYSIS_OK).tolist() == [0, 1, 2, 3]
    assert tags.having(SecondaryFlag.BACK_EDGE_CANDIDATE).tolist() == [2]
    assert tags.ok
    assert not tags.rpo_violation


def test_blocks_laid_out_inside_a_loop_but_not_of_it_are_not_in_it() -> None:
    # 1 and 3 are the loop; the cold block 2 lies between them and leaves
    tags = LoopService(
        Graph.from_edges(5, [(0, 1), (1, 2), (1, 3), (3, 1), (2, 4), (3, 4)])
    ).analyze()
    assert tags.having(BlockFlag.IN_LOOP).tolist() == [1, 3]


def test_a_backward_jump_that_is_no_loop_makes_no_header() -> None:
    tags = LoopService(Graph.from_edges(4, [(0, 3), (3, 1), (1, 2)])).analyze()
    assert tags.having(BlockFlag.LOOP_HEADER).size == 0
    assert tags.having(SecondaryFlag.BACK_EDGE_CANDIDATE).size == 0


def test_a_loop_of_one_block_that_never_ends() -> None:
    tags = LoopService(Graph.from_edges(2, [(0, 1), (1, 1)])).analyze()
    assert (tags.latch_pred_rpo[1], tags.loop_exit_rpo[1]) == (2, 0)
    assert tags.having(SecondaryFlag.BACK_EDGE_CANDIDATE).tolist() == [1]


def test_the_least_latch_and_the_least_exit_count() -> None:
    graph = Graph.from_edges(6, [(0, 1), (1, 2), (2, 3), (2, 1), (3, 1), (2, 5), (3, 4)])
    tags = LoopService(graph).analyze()
    rpo = tags.rpo
    assert tags.latch_pred_rpo[1] == rpo[2]
    assert tags.loop_exit_rpo[1] == min(rpo[4], rpo[5])


def test_rpo_violation_means_irreducible_and_does_not_outlive_its_cause() -> None:
    service = LoopService(Graph.from_edges(3, [(0, 1), (0, 2), (1, 2), (2, 1)]))
    assert service.analyze().rpo_violation
    assert service.graph_flags & GraphFlag.RPO_VIOLATION
    service.delete_edge(0, 2)
    assert not service.analyze().rpo_violation


def test_an_unresolved_jump_withdraws_the_guarantee_and_says_why() -> None:
    service = LoopService(loop_with_tail(), unresolved={3: "s_setpc_b64 of a loaded address"})
    tags = service.analyze()
    assert not tags.ok
    assert tags.unresolved == ((3, "s_setpc_b64 of a loaded address"),)
    assert tags.having(BlockFlag.ANALYSIS_OK).size == 0
    service.set_unresolved(3, None)
    assert service.analyze().ok


def test_an_unresolved_jump_that_is_not_reached_harms_nobody() -> None:
    assert LoopService(loop_with_tail(), unresolved={4: "unknown"}).analyze().ok


# ---------------------------------------------------------------- how it behaves
def test_the_analysis_owns_exactly_nine_bits_of_the_word() -> None:
    assert FOREIGN == 0xFF78F98F


def test_a_reset_keeps_foreign_flags() -> None:
    service = LoopService(loop_with_tail())
    for block in range(5):
        service.mark(block, FOREIGN)
    service.analyze()
    service.insert_edge(3, 0)
    tags = service.analyze(force_full_rebuild=True)
    assert (service.words & np.uint32(FOREIGN) == FOREIGN).all()
    assert (service.words & np.uint32(ANALYSIS_BITS)).tolist() == tags.flags.tolist()
    service.unmark(2, 1 << 8)
    assert int(service.words[2]) & FOREIGN == FOREIGN & ~(1 << 8)


@pytest.mark.parametrize("bits", [int(BlockFlag.IN_LOOP), 1 << 6, 1 << 32])
def test_nobody_else_sets_the_bits_of_the_analysis(bits: int) -> None:
    with pytest.raises(ValueError, match="belong to the analysis"):
        LoopService(loop_with_tail()).mark(0, bits)


def test_an_early_exit_counts_where_it_is_reached() -> None:
    service = LoopService(loop_with_tail())
    service.mark(4, BlockFlag.EARLY_EXIT)
    assert not service.graph_flags & GraphFlag.EARLY_EXIT
    service.mark(1, BlockFlag.EARLY_EXIT)
    assert service.graph_flags & GraphFlag.EARLY_EXIT


def test_edits_that_keep_blocks_reuse_everything() -> None:
    service = LoopService(loop_with_tail())
    tags, tree, cycles = service.analyze(), service.dominators, service.cycles
    service.keep_blocks()
    assert service.revision == 1
    assert service.analyze() is tags
    assert service.dominators is tree
    assert service.cycles is cycles


def test_changes_that_cancel_out_reuse_everything() -> None:
    service = LoopService(loop_with_tail())
    tags = service.analyze()
    service.delete_edge(2, 1)
    service.insert_edge(2, 1)
    service.insert_edge(0, 3)
    service.delete_edge(0, 3)
    assert service.analyze() is tags


def test_a_second_edge_between_the_same_blocks_changes_nothing() -> None:
    service = LoopService(loop_with_tail())
    tags = service.analyze()
    service.insert_edge(2, 1)
    assert service.analyze() is tags
    service.delete_edge(2, 1)
    assert service.analyze() is tags
    service.delete_edge(2, 1)
    assert service.analyze().having(BlockFlag.IN_LOOP).size == 0


def test_edge_changes_wait_until_somebody_asks() -> None:
    service = LoopService(loop_with_tail())
    service.analyze()
    service.insert_edge(3, 0)
    service.insert_edge(3, 1)
    assert service.routes == {"rebuilt": 1}
    service.analyze()
    assert service.routes == {"rebuilt": 1, "updated": 1}


def test_a_forced_rebuild_gives_the_same_answer_from_new_work() -> None:
    service = LoopService(loop_with_tail())
    first = service.analyze()
    second = service.analyze(force_full_rebuild=True)
    assert second is not first
    assert service.routes == {"rebuilt": 2}
    assert_same_tags(first, second)


def test_the_gate_closes_the_phase_only() -> None:
    service = LoopService(loop_with_tail(), phase_enabled=False)
    assert service.run_phase() is None
    assert service.routes == {}
    assert service.analyze().having(BlockFlag.LOOP_HEADER).tolist() == [1]
    assert LoopService(loop_with_tail()).run_phase() is not None


def test_re_entry_is_an_error_and_leaves_the_service_usable() -> None:
    calls: list[LoopTags] = []

    def nosy(tags: LoopTags) -> None:
        calls.append(tags)
        if len(calls) == 1:
            service.analyze()

    service = LoopService(loop_with_tail(), listeners=[nosy])
    with pytest.raises(ReentryError, match="while it was at work"):
        service.analyze()
    tags = service.analyze()
    assert calls[1:] == [tags]


def test_a_listener_may_not_edit() -> None:
    service = LoopService(loop_with_tail(), listeners=[lambda _: service.insert_edge(0, 3)])
    with pytest.raises(ReentryError):
        service.analyze()


def test_edges_and_blocks_that_are_not_there_are_refused() -> None:
    service = LoopService(loop_with_tail())
    with pytest.raises(KeyError, match="no edge from block 0 to block 3"):
        service.delete_edge(0, 3)
    with pytest.raises(IndexError, match="no block 5"):
        service.insert_edge(0, 5)
    with pytest.raises(IndexError, match="no block -1"):
        service.set_unresolved(-1, "why")


def test_a_new_graph_is_taken_over_by_its_differences() -> None:
    service = LoopService(loop_with_tail())
    service.analyze()
    service.mark(3, 1 << 8)
    service.update(Graph.from_edges(5, [(0, 1), (1, 2), (2, 1), (2, 3), (3, 1), (4, 1)]))
    assert service.analyze().having(BlockFlag.IN_LOOP).tolist() == [1, 2, 3]
    assert service.routes == {"rebuilt": 1, "updated": 1}
    service.update(Graph.from_edges(4, [(0, 1), (1, 2), (2, 1), (2, 3)]), {2: "unknown"})
    assert service.analyze().unresolved == ((2, "unknown"),)
    assert service.words[3] & np.uint32(1 << 8)
    assert service.block_count == 4


# ---------------------------------------------------------------- edits against rebuilds
def assert_same_tags(one: LoopTags, other: LoopTags) -> None:
    for name in ("rpo", "latch_pred_rpo", "loop_exit_rpo", "flags", "secondary"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name
    assert one.rpo_violation == other.rpo_violation
    assert one.unresolved == other.unresolved


def assert_same_answers(service: LoopService, scratch: LoopService) -> None:
    assert_same_tags(service.analyze(), scratch.analyze())
    assert list(service.cycles) == list(scratch.cycles)
    assert service.search.order.tolist() == scratch.search.order.tolist()
    assert service.dominators.idom.tolist() == scratch.dominators.idom.tolist()
    assert service.postdominators.idom.tolist() == scratch.postdominators.idom.tolist()


@dataclass
class Model:
    """What the edits should have led to, kept in the plainest way."""

    blocks: int
    entries: list[int]
    edges: list[tuple[int, int]] = field(default_factory=list)
    unresolved: dict[int, str] = field(default_factory=dict)

    def graph(self) -> Graph:
        return Graph.from_edges(self.blocks, self.edges, self.entries)

    def scratch(self) -> LoopService:
        return LoopService(self.graph(), unresolved=self.unresolved)


EDITS = ("insert", "insert", "insert", "delete", "delete", "block", "unresolved", "ask", "graph")


@settings(max_examples=250, deadline=None)
@given(st.data())
def test_any_sequence_of_edits_equals_a_rebuild_from_scratch(data: st.DataObject) -> None:
    draw = data.draw
    count = draw(st.integers(1, 9))
    block = st.integers(0, count - 1)
    edges = draw(st.lists(st.tuples(block, block), max_size=3 * count))
    model = Model(count, sorted(draw(st.sets(block, min_size=1, max_size=2))), edges)
    service = model.scratch()
    assert_same_answers(service, model.scratch())
    for edit in draw(st.lists(st.sampled_from(EDITS), max_size=12)):
        any_block = st.integers(0, model.blocks - 1)
        if edit == "insert":
            pair = draw(st.tuples(any_block, any_block))
            model.edges.append(pair)
            service.insert_edge(*pair)
        elif edit == "delete" and model.edges:
            pair = draw(st.sampled_from(model.edges))
            model.edges.remove(pair)
            service.delete_edge(*pair)
        elif edit == "block":
            model.blocks += 1
            assert service.add_block() == model.blocks - 1
        elif edit == "unresolved":
            model.unresolved[draw(any_block)] = "unknown"
            for at, why in model.unresolved.items():
                service.set_unresolved(at, why)
        elif edit == "graph":
            model.edges.append(draw(st.tuples(any_block, any_block)))
            service.update(model.graph(), model.unresolved)
        else:
            assert_same_answers(service, model.scratch())
    assert_same_answers(service, model.scratch())


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_single_edits_of_greater_graphs_equal_a_rebuild(seed: int) -> None:
    chance = np.random.default_rng(seed)
    count = int(chance.integers(20, 60))
    jumps = chance.integers(0, count, (int(chance.integers(0, count)), 2)).tolist()
    edges = [(i, i + 1) for i in range(count - 1)] + [(u, v) for u, v in jumps]
    model = Model(count, [0], edges)
    service = model.scratch()
    assert service.dominators.idom.tolist() == dominators(model.graph()).idom.tolist()
    service.analyze()
    for _ in range(8):
        if model.edges and chance.random() < 0.5:
            pair = model.edges.pop(int(chance.integers(len(model.edges))))
            service.delete_edge(*pair)
        else:
            u, v = chance.integers(0, count, 2).tolist()
            model.edges.append((u, v))
            service.insert_edge(u, v)
        assert_same_answers(service, model.scratch())


def test_local_edits_of_a_long_kernel_are_updates_not_rebuilds() -> None:
    edges = [(i, i + 1) for i in range(999)] + [(i + 8, i) for i in range(1, 990, 10)]
    service = LoopService(Graph.from_edges(1000, edges))
    service.analyze()
    for i in range(0, 980, 10):
        service.insert_edge(i + 5, i + 3)
        service.analyze()
    assert service.routes == {"rebuilt": 1, "updated": 98}
