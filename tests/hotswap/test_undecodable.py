# SPDX-License-Identifier: Apache-2.0
"""Words that are no instruction: refused where one that A0 lacks could hide, else left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.hotswap.conftest import Hotswap

UNKNOWN = ".long 0xdeadbeef"
FALLS = "and control falls through to it"
TARGET = "and it is an entry or the target of a branch"


@pytest.mark.parametrize(
    ("body", "offset", "reason"),
    [
        pytest.param(f"s_nop 0\n{UNKNOWN}\n{UNKNOWN}\ns_endpgm", 4,
                     f"no known instruction (2 words at and behind it), {FALLS}", id="from above"),
        pytest.param(f"{UNKNOWN}\ns_endpgm", 0,
                     f"no known instruction (1 word at and behind it), {TARGET}", id="entry"),
        pytest.param(f"s_branch .Lx\ns_endpgm\n.Lx:\n{UNKNOWN}\ns_endpgm", 8,
                     f"no known instruction (1 word at and behind it), {TARGET}", id="target"),
        pytest.param(f"s_set_pc_i64 s[4:5]\n{UNKNOWN}", 4,
                     "no known instruction (1 word at and behind it), "
                     "and the computed transfer of control at 0x0 may go to it", id="computed"),
    ],
)  # fmt: skip
def test_unknown_words_that_may_run_are_refused(
    body: str, offset: int, reason: str, hotswap: Hotswap
) -> None:
    run = hotswap(body)
    assert run.exit_status == 4
    assert run.of("undecodable") == [(offset, "refused")]
    assert run.reason("undecodable") == reason


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(f"s_endpgm\n{UNKNOWN}\n{UNKNOWN}", id="data behind the end"),
        pytest.param("s_nop 0\n.long 0, 0, 0\ns_endpgm", id="zeros from above"),
        pytest.param("s_endpgm\n.fill 64, 4, 0", id="padding"),
        pytest.param("s_endpgm\n.fill 64, 4, 0xbf9f0000", id="s_code_end"),
        pytest.param(f"s_branch .Lx\n{UNKNOWN}\n.Lx:\ns_endpgm", id="jumped over"),
        pytest.param(f"s_swap_pc_i64 s[30:31], s[4:5]\ns_set_pc_i64 s[30:31]\n{UNKNOWN}",
                     id="calls and returns by the convention"),
        pytest.param("s_endpgm\n.ascii \"some words..\"", id="text"),
    ],
)  # fmt: skip
def test_words_that_control_does_not_reach_are_left_alone(body: str, hotswap: Hotswap) -> None:
    run = hotswap(body)
    assert (run.exit_status, run.sites) == (0, ()), run.message


def test_data_may_be_vouched_for(hotswap: Hotswap) -> None:
    run = hotswap(f"s_set_pc_i64 s[4:5]\n{UNKNOWN}", undecodable="data")
    assert (run.exit_status, run.sites) == (0, ())


def test_no_policy_passes_words_that_control_reaches(hotswap: Hotswap) -> None:
    assert hotswap(f"s_nop 0\n{UNKNOWN}\ns_endpgm", undecodable="data").exit_status == 4


def test_what_looks_like_a_site_among_data_is_not_touched(hotswap: Hotswap) -> None:
    """0xbf820001 would be s_sethalt 1; in a table it is a number."""
    run = hotswap(f"s_endpgm\n{UNKNOWN}\n.long 0xbf820001\n{UNKNOWN}")
    assert run.exit_status == 4
    assert run.of("sethalt") == [(8, "refused")]
    assert run.reason("sethalt") == (
        "it stands among undecodable words that nothing is known to reach: it may be data"
    )


def test_a_site_in_code_that_nothing_reaches_is_rewritten(hotswap: Hotswap) -> None:
    """Without unknown words around it, it is taken for code: a scan finds nothing left."""
    assert hotswap("s_endpgm\ns_sethalt 1\ns_endpgm").of("sethalt") == [(4, "rewritten")]


def test_a_branch_into_an_instruction_shows_that_the_text_is_out_of_step(hotswap: Hotswap) -> None:
    run = hotswap("s_branch 1\ns_mov_b32 s0, 0xbf820001\ns_endpgm")
    assert run.exit_status == 4
    assert run.of("undecodable") == [(8, "refused")]
    assert run.reason("undecodable") == (
        "control arrives in the middle of an instruction: the text is read out of step"
    )


def test_a_symbol_begins_anew_behind_data_for_every_reader(hotswap: Hotswap) -> None:
    """The table's word would swallow the label as its literal; pass and verifiers read alike."""
    run = hotswap("s_branch code\ntable: .long 0xbe8000ff\ncode: s_sethalt 1\ns_endpgm")
    assert (run.exit_status, run.message) == (0, "")
    assert run.of("sethalt") == [(8, "rewritten")]
