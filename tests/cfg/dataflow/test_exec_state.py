# SPDX-License-Identifier: Apache-2.0
"""Where EXEC is proven full."""

from __future__ import annotations

import numpy as np
import pytest

from postproc.isa import load
from postproc_cfg.dataflow import BlockRanges, exec_is_full, register_sets
from postproc_cfg.graph import Graph


def is_full(
    source: str,
    wavefront_size: int = 64,
    *,
    blocks: tuple[int, ...] = (0,),
    edges: tuple[tuple[int, int], ...] = (),
    full_at_entry: bool = False,
    entered: tuple[int, ...] = (),
) -> list[bool]:
    isa = load("gfx1030", wavefront_size)
    decoded = isa.decode(isa.assemble(source))
    found = exec_is_full(
        Graph.from_edges(len(blocks), edges),
        BlockRanges.adjacent(blocks, len(decoded)),
        decoded,
        register_sets(decoded),
        full_at_entry=full_at_entry,
        entered=entered,
    )
    return [bool(value) for value in found]


@pytest.mark.parametrize(
    ("wavefront_size", "instruction", "proves"),
    [
        (64, "s_mov_b64 exec, -1", True),
        (64, "s_mov_b32 exec_lo, -1", False),
        (64, "s_mov_b32 exec_hi, -1", False),
        (64, "s_or_saveexec_b64 s[4:5], -1", True),
        (64, "s_and_saveexec_b64 s[4:5], -1", False),
        (64, "s_mov_b64 s[4:5], -1", False),
        (64, "s_mov_b64 exec, s[4:5]", False),
        (32, "s_mov_b32 exec_lo, -1", True),
        (32, "s_or_saveexec_b32 s4, -1", True),
        (32, "s_mov_b32 exec_lo, 1", False),
    ],
)
def test_what_fills_exec(wavefront_size: int, instruction: str, proves: bool) -> None:
    assert is_full(f"{instruction}\ns_nop 0", wavefront_size) == [False, proves]


def test_two_halves_make_a_whole() -> None:
    source = "s_mov_b32 exec_lo, -1\ns_mov_b32 exec_hi, -1\ns_nop 0"
    assert is_full(source) == [False, False, True]


@pytest.mark.parametrize(
    "instruction",
    [
        "s_and_b64 exec, exec, vcc",
        "v_cmpx_eq_u32_e32 v0, v1",
        "s_swappc_b64 s[30:31], s[4:5]",
        "s_movreld_b64 s[4:5], s[6:7]",
    ],
)
def test_what_may_mask_lanes_ends_it(instruction: str) -> None:
    assert is_full(f"s_mov_b64 exec, -1\n{instruction}\ns_nop 0") == [False, True, False]


def test_all_paths_have_to_agree() -> None:
    # 0: -> 1, 2;  1: fills -> 2
    source = "s_nop 0\ns_mov_b64 exec, -1\ns_nop 0"
    edges = ((0, 1), (0, 2), (1, 2))
    assert is_full(source, blocks=(0, 1, 2), edges=edges) == [False, False, False]
    assert is_full(source, blocks=(0, 1, 2), edges=edges[1:]) == [False, True, False]


def test_an_entry_may_be_known_to_be_full_but_unknown_places_are_not() -> None:
    assert is_full("s_nop 0\ns_nop 0", full_at_entry=True) == [True, True]
    blocks, edges = (0, 1), ((0, 1),)
    found = is_full(
        "s_nop 0\ns_nop 0", blocks=blocks, edges=edges, full_at_entry=True, entered=(1,)
    )
    assert found == [True, False]


def test_no_instruction_at_all() -> None:
    decoded = load("gfx1030").decode(b"")
    found = exec_is_full(
        Graph.from_edges(1, []), BlockRanges.of([0], [0]), decoded, register_sets(decoded)
    )
    assert found.dtype == np.bool_
    assert found.size == 0
