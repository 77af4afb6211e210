# SPDX-License-Identifier: Apache-2.0
"""Liveness, reaching definitions, must-facts and bank modes against all paths of small programs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from postproc_cfg.dataflow import (
    OUTSIDE,
    BlockRanges,
    bank_modes,
    happened_on_every_path,
    killed_registers,
    liveness,
    must_facts,
    reaching_definitions,
)
from postproc_cfg.dataflow.bank_mode import KEEPS, UNKNOWN_MODE
from postproc_cfg.dataflow.bitsets import from_integers, members, pack, row_of
from postproc_cfg.graph import Graph

REGISTERS = 3


@dataclass(frozen=True)
class Program:
    """Blocks of a few instructions; some blocks are empty."""

    graph: Graph
    ranges: BlockRanges

    @property
    def length(self) -> int:
        return int(self.ranges.end[-1])

    def following(self, instruction: int) -> set[int | None]:
        """Instructions that may run next; None: control leaves."""
        block = self.ranges.block_of(instruction)
        if instruction + 1 < self.ranges.end[block]:
            return {instruction + 1}
        return self._behind(block, set())

    def _behind(self, block: int, seen: set[int]) -> set[int | None]:
        targets = self.graph.successors(block).tolist()
        found: set[int | None] = set() if targets else {None}
        for target in set(targets) - seen:
            seen.add(target)
            found |= self.starting(target, seen)
        return found

    def starting(self, block: int, seen: set[int] | None = None) -> set[int | None]:
        """Instructions that may run first when control enters a block."""
        if self.ranges.first[block] < self.ranges.end[block]:
            return {int(self.ranges.first[block])}
        return self._behind(block, set() if seen is None else seen)

    def entered(self) -> set[int]:
        return {i for b in self.graph.entries.tolist() for i in self.starting(b) if i is not None}

    def executed(self) -> set[int]:
        work, seen = list(self.entered()), set[int]()
        while work:
            i = work.pop()
            if i not in seen:
                seen.add(i)
                work += [t for t in self.following(i) if t is not None]
        return seen


@st.composite
def programs(draw: st.DrawFn) -> Program:
    lengths = draw(st.lists(st.integers(0, 3), min_size=1, max_size=5).filter(any))
    n = len(lengths)
    node = st.integers(0, n - 1)
    graph = Graph.from_edges(n, draw(st.lists(st.tuples(node, node), max_size=2 * n)), [0])
    ends = np.cumsum(lengths)
    return Program(graph, BlockRanges.of(ends - lengths, ends))


def draw_sets(data: st.DataObject, length: int) -> list[int]:
    bits = st.integers(0, (1 << REGISTERS) - 1)
    return data.draw(st.lists(bits, min_size=length, max_size=length))


def rows(values: list[int]) -> NDArray[np.uint64]:
    return from_integers(values, 1)


@settings(max_examples=100, deadline=None)
@given(programs(), st.data())
def test_a_register_is_live_iff_a_path_reads_it_before_it_is_killed(
    program: Program, data: st.DataObject
) -> None:
    uses, kills = (draw_sets(data, program.length) for _ in range(2))
    live_out = draw_sets(data, len(program.ranges))
    found = liveness(
        program.graph,
        program.ranges,
        rows(uses),
        rows(kills),
        live_out={b: rows(live_out)[b] for b in program.graph.sinks.tolist()},
    )

    def read_first(start: int, register: int) -> bool:
        work, seen = [start], set()
        while work:
            i = work.pop()
            if uses[i] >> register & 1:
                return True
            if i in seen or kills[i] >> register & 1:
                continue
            seen.add(i)
            for following in program.following(i):
                if following is not None:
                    work.append(following)
                elif any(live_out[b] >> register & 1 for b in leaving(program, i)):
                    return True
        return False

    for i in range(program.length):
        expected = tuple(r for r in range(REGISTERS) if read_first(i, r))
        assert members(found.before(i)) == expected


def leaving(program: Program, instruction: int) -> set[int]:
    """Blocks without successors where control may leave behind the last instruction of a block."""
    work, seen = [program.ranges.block_of(instruction)], set()
    while work:
        block = work.pop()
        if block in seen:
            continue
        seen.add(block)
        for target in program.graph.successors(block).tolist():
            if program.ranges.first[target] == program.ranges.end[target]:
                work.append(target)
    return seen & set(program.graph.sinks.tolist())


@settings(max_examples=100, deadline=None)
@given(programs(), st.data())
def test_a_definition_reaches_iff_a_path_from_it_does_not_kill_it(
    program: Program, data: st.DataObject
) -> None:
    kills = draw_sets(data, program.length)
    defs = [k | d for k, d in zip(kills, draw_sets(data, program.length), strict=True)]
    found = reaching_definitions(
        program.graph, program.ranges, rows(defs), rows(kills), range(REGISTERS)
    )
    executed = program.executed()
    for register in range(REGISTERS):
        reached: list[set[int]] = [set() for _ in range(program.length)]
        work = [(i, OUTSIDE) for i in program.entered()]
        work += [
            (target, i)
            for i in executed
            if defs[i] >> register & 1
            for target in program.following(i)
            if target is not None
        ]
        while work:
            i, definition = work.pop()
            if definition in reached[i]:
                continue
            reached[i].add(definition)
            if not kills[i] >> register & 1:
                work += [(t, definition) for t in program.following(i) if t is not None]
        for i in executed:
            assert found.before(i, register) == tuple(sorted(reached[i]))


@settings(max_examples=100, deadline=None)
@given(programs(), st.data())
def test_a_fact_holds_iff_every_path_establishes_it_and_none_loses_it_again(
    program: Program, data: st.DataObject
) -> None:
    happens, lost = (draw_sets(data, program.length) for _ in range(2))
    states: list[set[bool]] = [set() for _ in range(program.length)]
    work = [(i, False) for i in program.entered()]
    while work:
        i, holds = work.pop()
        if holds in states[i]:
            continue
        states[i].add(holds)
        after = bool(happens[i] & 1) or (holds and not lost[i] & 1)
        work += [(t, after) for t in program.following(i) if t is not None]
    reached = [i for i in range(program.length) if states[i]]
    expected = [all(states[i]) for i in reached]
    facts = must_facts(program.graph, program.ranges, rows(happens), rows(lost))
    assert [0 in members(facts.before(i)) for i in reached] == expected
    quick = happened_on_every_path(
        program.graph,
        program.ranges,
        np.array([bool(h & 1) for h in happens]),
        np.array([bool(k & 1) for k in lost]),
    )
    assert quick[reached].tolist() == expected


@settings(max_examples=100, deadline=None)
@given(programs(), st.data())
def test_a_bit_of_the_bank_mode_is_known_iff_all_paths_agree_on_it(
    program: Program, data: st.DataObject
) -> None:
    effect = st.sampled_from([KEEPS, KEEPS, UNKNOWN_MODE, 0x00, 0x41, 0xE4])
    effects = data.draw(st.lists(effect, min_size=program.length, max_size=program.length))
    found = bank_modes(program.graph, program.ranges, np.array(effects, np.int16))
    states: list[set[int]] = [set() for _ in range(program.length)]
    work = [(i, 0) for i in program.entered()]
    while work:
        i, mode = work.pop()
        if mode in states[i]:
            continue
        states[i].add(mode)
        after = mode if effects[i] == KEEPS else effects[i]
        work += [(t, after) for t in program.following(i) if t is not None]
    for i, modes in enumerate(states):
        if not modes:
            continue
        known = 0 if UNKNOWN_MODE in modes else 0xFF
        first = next(iter(modes))
        for mode in modes - {UNKNOWN_MODE}:
            known &= ~(mode ^ first)
        assert int(found.known[i]) == known & 0xFF
        assert int(found.value[i]) == first & known & 0xFF


# ---------------------------------------------------------------- rules, one by one
LINE = Graph.from_edges(1, [])


def line(length: int) -> BlockRanges:
    return BlockRanges.of([0], [length])


def test_a_vector_write_ends_a_life_only_where_exec_is_full() -> None:
    # v0 written, then read; register 0 is v0, register 1 is s0
    defs = rows([0b01, 0b10, 0])
    vector = row_of([0], 1)
    uses = rows([0, 0, 0b11])
    nothing = {0: np.zeros(1, np.uint64)}
    for full, live in ((True, ()), (False, (0,))):
        kills = killed_registers(defs, vector, np.array([full, full, full]))
        found = liveness(LINE, line(3), uses, kills, live_out=nothing)
        assert members(found.before(0)) == live
    unproven = liveness(LINE, line(3), uses, killed_registers(defs, vector), live_out=nothing)
    assert members(unproven.before(0)) == (0,)
    assert members(unproven.after(1)) == (0, 1)


def test_what_is_unknown_is_live() -> None:
    uses, kills = rows([0, 0]), rows([0b1, 0b1])
    ends = {0: np.zeros(1, np.uint64)}
    unknown = np.array([False, True])
    assert members(liveness(LINE, line(2), uses, kills, live_out=ends).before(0)) == ()
    found = liveness(LINE, line(2), uses, kills, live_out=ends, unknown=unknown)
    assert len(members(found.before(0))) == 63
    assert len(members(found.before(1))) == 64


def test_everything_is_live_where_control_leaves_for_an_unknown_place() -> None:
    found = liveness(LINE, line(1), rows([0]), rows([0b10]))
    assert len(members(found.after(0))) == 64
    assert len(members(found.before(0))) == 63


def test_an_endless_loop_keeps_only_what_it_reads() -> None:
    graph = Graph.from_edges(1, [(0, 0)])
    found = liveness(graph, line(2), rows([0b1, 0]), rows([0, 0]))
    assert members(found.before(1)) == (0,)


def test_definitions_of_parts_add_up() -> None:
    # 0 writes all of r0, 1 a half of it, 2 reads
    found = reaching_definitions(LINE, line(3), rows([1, 1, 0]), rows([1, 0, 0]), [0])
    assert found.before(2, 0) == (0, 1)
    assert found.before(1, 0) == (0,)
    assert found.before(0, 0) == (OUTSIDE,)
    with pytest.raises(KeyError):
        found.before(2, 1)


def test_a_block_entered_from_unknown_places_knows_nothing() -> None:
    graph = Graph.from_edges(2, [(0, 1)])
    ranges = BlockRanges.adjacent([0, 1], 2)
    happens = np.array([True, False])
    assert happened_on_every_path(graph, ranges, happens).tolist() == [False, True]
    entered = happened_on_every_path(graph, ranges, happens, entered=[1])
    assert entered.tolist() == [False, False]
    modes = bank_modes(graph, ranges, np.array([0x41, KEEPS], np.int16), entered=[1])
    assert [modes.mode(0), modes.mode(1)] == [0, None]


def test_what_happened_in_the_block_laid_out_before_says_nothing_of_a_block() -> None:
    # 0 -> 1, 0 -> 2, 2 -> 3;  it happens in 1 only, the block before 2
    graph = Graph.from_edges(4, [(0, 1), (0, 2), (2, 3)])
    happens = np.array([False, True, False, False])
    found = happened_on_every_path(graph, BlockRanges.adjacent([0, 1, 2, 3], 4), happens)
    assert not found.any()


def test_facts_may_hold_at_entry_and_nothing_need_ever_happen() -> None:
    facts = must_facts(
        LINE, line(1), rows([0]), rows([0]), at_entry=pack(np.array([[False, True]]))[0]
    )
    assert members(facts.before(0)) == (1,)
    never = np.zeros(1, np.bool_)
    assert happened_on_every_path(LINE, line(1), never).tolist() == [False]


def test_where_no_path_arrives_every_fact_holds_and_the_mode_is_zero() -> None:
    graph = Graph.from_edges(2, [(1, 0)])
    ranges = BlockRanges.adjacent([0, 1], 2)
    assert happened_on_every_path(graph, ranges, np.zeros(2, np.bool_)).tolist() == [False, True]
    modes = bank_modes(graph, ranges, np.array([KEEPS, KEEPS], np.int16))
    assert [modes.mode(0), modes.mode(1)] == [0, 0]


def test_banks_are_known_slot_by_slot() -> None:
    #   0 -> 1 (mode 0x41) -> 3,   0 -> 2 (mode 0x81) -> 3
    graph = Graph.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3)])
    effects = np.array([KEEPS, 0x41, 0x81, KEEPS], np.int16)
    modes = bank_modes(graph, BlockRanges.adjacent([0, 1, 2, 3], 4), effects)
    assert modes.mode(3) is None
    assert [modes.bank(3, slot) for slot in range(4)] == [1, 0, 0, None]


def test_instructions_outside_all_blocks_belong_to_none() -> None:
    ranges = BlockRanges.of([2, 5, 5], [4, 5, 7])
    assert ranges.block_of(3) == 0
    assert ranges.block_of(5) == 2
    for outside in (0, 4, 7):
        with pytest.raises(ValueError, match=f"instruction {outside} is in no block"):
            ranges.block_of(outside)
