# SPDX-License-Identifier: Apache-2.0
"""Straight lines: what control passes between a place and a later one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

from postproc.isa import load
from postproc.passes import ControlFlowFact, ObjectView
from postproc_cfg import TextFlow, constant_jump, text_flow

if TYPE_CHECKING:
    from postproc.codeobject import CodeObject

Assembled = Callable[[str, str], "CodeObject"]


@pytest.fixture
def view(assembled: Assembled) -> Callable[[str], ObjectView]:
    """`view(body)`: a gfx1250 kernel of this body under a view."""
    return lambda body: ObjectView(assembled("gfx1250", body), load("gfx1250"))


View = Callable[[str], ObjectView]


def firsts(flow: TextFlow) -> list[int]:
    (lines,) = flow.lines.values()
    return [int(first) for first in lines.first]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("s_nop 0\ns_nop 1\ns_endpgm", [0, 0, 0], id="one line"),
        pytest.param("s_nop 0\n.Lx:\ns_nop 1\ns_cbranch_scc0 .Lx\ns_endpgm", [0, 1, 1, 1],
                     id="a target begins one, a conditional branch ends none"),
        pytest.param("s_branch .Lx\ns_nop 0\n.Lx:\ns_endpgm", [0, 1, 2], id="behind a jump"),
        pytest.param("s_call_i64 s[30:31], .Lx\ns_nop 0\ns_endpgm\n.Lx:\ns_set_pc_i64 s[30:31]",
                     [0, 1, 1, 3], id="behind a call, and the callee"),
        pytest.param("s_nop 0\n.long 0xdeadbeef\ns_nop 0\ns_endpgm", [0, 1, 2, 2],
                     id="an unknown word is alone"),
        pytest.param("s_trap 3\ns_nop 0\ns_endpgm", [0, 0, 0], id="a trap resumes"),
        pytest.param("s_add_pc_i64 4\ns_nop 0\ns_endpgm", [0, 1, 2], id="a constant jump"),
        pytest.param("s_nop 0\n.globl inner\ninner:\ns_endpgm", [0, 1], id="a global label"),
    ],
)  # fmt: skip
def test_lines(body: str, expected: list[int], view: View) -> None:
    assert firsts(view(body).analysis(text_flow)) == expected


@pytest.mark.parametrize(
    ("body", "unresolved"),
    [
        ("s_set_pc_i64 s[30:31]", []),
        ("s_swap_pc_i64 s[30:31], s[4:5]", []),
        ("s_set_pc_i64 s[4:5]", [0]),
        ("s_swap_pc_i64 s[4:5], s[6:7]", [0]),
        ("s_nop 0\ns_rfe_i64 s[4:5]", [4]),
        ("s_add_pc_i64 s[4:5]", [0]),
        ("s_add_pc_i64 0", []),
        ("s_add_pc_i64 lit64(0x1000000)", [0]),
    ],
)
def test_unresolved_transfers(body: str, unresolved: list[int], view: View) -> None:
    flow = view(f"{body}\ns_endpgm").analysis(text_flow)
    assert [position.offset for position in flow.unresolved] == unresolved


def test_a_fact_resolves_a_transfer_and_begins_a_line(view: View) -> None:
    from postproc.codeobject import TextPosition

    seen = view("s_set_pc_i64 s[4:5]\ns_nop 0\ns_nop 0\ns_endpgm")
    (section,) = seen.code_object.executable_sections
    at = TextPosition(section.index, 0)
    assert seen.analysis(text_flow).unresolved == (at,)
    target = TextPosition(section.index, 8)
    seen.add_facts((ControlFlowFact(at, "branch", (target,), "table"),))
    flow = seen.analysis(text_flow)
    assert flow.unresolved == ()
    assert firsts(flow) == [0, 1, 2, 2]


def test_control_that_arrives_inside_an_instruction_is_torn(view: View) -> None:
    flow = view("s_branch 1\ns_mov_b32 s0, 0xbf820001\ns_endpgm").analysis(text_flow)
    assert [position.offset for position in flow.torn] == [8]


@pytest.mark.parametrize(
    ("operand", "distance"),
    [("64", 64), ("-16", -16), ("-64", -64), ("100000", 100000), ("s[2:3]", None)],
)
def test_constant_jumps(operand: str, distance: int | None, view: View) -> None:
    seen = view(f"s_add_pc_i64 {operand}\ns_endpgm")
    assert constant_jump(seen.decoded(seen.code_object.executable_sections[0])[0]) == distance


def test_what_control_reaches(view: View) -> None:
    body = "s_nop 0\ns_endpgm\ns_nop 1\n.Lx:\ns_nop 2\ns_cbranch_scc0 .Lx\ns_endpgm\ns_nop 3"
    (lines,) = view(body).analysis(text_flow).lines.values()
    assert lines.reached.tolist() == [True, True, False, True, True, True, False]
    assert lines.stretch.tolist() == [0, 0, 2, 2, 2, 2, 6]


def test_the_latest_marked_instruction_of_a_line(view: View) -> None:
    body = "s_nop 0\ns_nop 1\ns_nop 2\n.Lx:\ns_nop 3\ns_nop 4\ns_cbranch_scc0 .Lx\ns_endpgm"
    (lines,) = view(body).analysis(text_flow).lines.values()
    marked = np.array([True, False, True, False, True, False, False])
    assert lines.latest(marked).tolist() == [-1, 0, 0, -1, -1, 4, 4]
