# SPDX-License-Identifier: Apache-2.0
"""Liveness across calls, against all paths through callers and callees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from postproc_cfg.dataflow import BlockRanges, liveness
from postproc_cfg.dataflow.bitsets import from_integers, members
from postproc_cfg.dataflow.summaries import Program, summarize, with_calls
from postproc_cfg.graph import Graph

REGISTERS = 3
FULL = (1 << REGISTERS) - 1


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Functions of one to three blocks of two instructions; each calls only later ones."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    starts = np.cumsum([0, *sizes])
    edges: list[tuple[int, int]] = []
    calls: dict[int, tuple[int, ...]] = {}
    for f, size in enumerate(sizes):
        block = st.integers(int(starts[f]), int(starts[f]) + size - 1)
        edges += draw(st.lists(st.tuples(block, block), max_size=2 * size))
        for at in draw(st.sets(block)) if f + 1 < len(sizes) else ():
            callees = st.lists(st.integers(f + 1, len(sizes) - 1), min_size=1, max_size=2)
            calls[2 * at + 1] = tuple(draw(callees))
    count = int(starts[-1])
    graph = Graph.from_edges(count, edges)
    bits = st.lists(st.integers(0, FULL), min_size=2 * count, max_size=2 * count)
    sinks = graph.sinks.tolist()
    ends = draw(st.sets(st.sampled_from(sinks))) if sinks else set()
    return Program(
        graph,
        BlockRanges.adjacent(range(0, 2 * count, 2), 2 * count),
        from_integers(draw(bits), 1),
        from_integers(draw(bits), 1),
        starts[:-1].tolist(),
        calls,
        set(sinks) - ends,
        ends,
    )


def is_read_first(program: Program, start: int, register: int) -> bool:
    """Whether a path from an instruction reads a register before it kills it; nothing is read
    behind the return of the function that the path began in."""
    bit = np.uint64(1 << register)
    work: list[tuple[int, tuple[int, ...]]] = [(start, ())]
    seen: set[tuple[int, tuple[int, ...]]] = set()
    while work:
        i, stack = work.pop()
        if (i, stack) in seen:
            continue
        seen.add((i, stack))
        if program.uses[i, 0] & bit:
            return True
        if program.kills[i, 0] & bit:
            continue
        if i in program.calls:
            work += [(2 * program.functions[f], (*stack, i)) for f in program.calls[i]]
        else:
            work += behind(program, i, stack)
    return False


def behind(program: Program, i: int, stack: tuple[int, ...]) -> list[tuple[int, tuple[int, ...]]]:
    """Where control goes behind an instruction that has run, its callee included."""
    if i % 2 == 0:
        return [(i + 1, stack)]
    if i // 2 in program.returns:
        return behind(program, stack[-1], stack[:-1]) if stack else []
    return [(2 * target, stack) for target in program.graph.successors(i // 2).tolist()]


@settings(max_examples=100, deadline=None)
@given(programs())
def test_summaries_say_what_all_paths_through_callees_say(program: Program) -> None:
    uses, kills = with_calls(program.uses, program.kills, program.calls, summarize(program))
    nothing = np.zeros(1, np.uint64)
    out = dict.fromkeys([*program.returns, *program.ends], nothing)
    found = liveness(program.graph, program.ranges, uses, kills, live_out=out)
    for i in range(len(program.uses)):
        expected = [r for r in range(REGISTERS) if is_read_first(program, i, r)]
        assert [r for r in members(found.before(i)) if r < REGISTERS] == expected


def one_call(callees: tuple[int, ...]) -> Program:
    """Function 0 calls `callees`; function 1 reads r0 and kills r1, function 2 kills r1 and r2."""
    return Program(
        Graph.from_edges(3, []),
        BlockRanges.adjacent([0, 1, 2], 3),
        from_integers([0, 0b001, 0], 1),
        from_integers([0, 0b010, 0b110], 1),
        [0, 1, 2],
        {0: callees},
        {1, 2},
        {0},
    )


def effects(program: Program) -> tuple[int, int]:
    uses, kills = with_calls(program.uses, program.kills, program.calls, summarize(program))
    return int(uses[0, 0]), int(kills[0, 0])


def test_a_call_reads_what_a_callee_may_read_and_kills_what_all_kill() -> None:
    assert effects(one_call((1,))) == (0b001, 0b010)
    assert effects(one_call((1, 2))) == (0b001, 0b010)
    assert effects(one_call((2,))) == (0, 0b110)


def test_a_call_to_an_unknown_place_reads_everything() -> None:
    assert effects(one_call(())) == ((1 << 64) - 1, 0)


def test_callees_of_callees_are_summarized_first() -> None:
    through = replace(one_call((2,)), calls={0: (2,), 2: (1,)})
    assert effects(through) == (0b001, 0b110)


def test_the_link_register_that_a_call_writes_is_not_live_before_it() -> None:
    program = one_call((1,))
    linked = replace(program, kills=from_integers([0b001, 0b010, 0b110], 1))
    assert effects(linked) == (0, 0b011)


def test_recursion_is_taken_to_read_everything() -> None:
    # function 1 calls itself, once
    recursive = replace(one_call((1,)), calls={0: (1,), 1: (1,)})
    uses, kills = effects(recursive)
    assert uses == ((1 << 64) - 1) & ~0b010
    assert kills == 0b010
