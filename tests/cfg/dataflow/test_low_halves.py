# SPDX-License-Identifier: Apache-2.0
"""Scalar registers whose low half is proven zero: masks of tensor descriptors."""

from __future__ import annotations

import pytest

from postproc.isa import load
from postproc_cfg.dataflow import BlockRanges, register_sets
from postproc_cfg.dataflow.low_halves import LowHalves, low_halves
from postproc_cfg.graph import Graph


def analyze(
    source: str,
    blocks: tuple[int, ...] = (0,),
    edges: tuple[tuple[int, int], ...] = (),
    entered: tuple[int, ...] = (),
) -> LowHalves:
    isa = load("gfx1250")
    decoded = isa.decode(isa.assemble(source))
    ranges = BlockRanges.adjacent(blocks, len(decoded))
    graph = Graph.from_edges(len(blocks), edges)
    return low_halves(graph, ranges, decoded, register_sets(decoded), entered=entered)


def is_zero(source: str, register: int = 4) -> bool:
    """Whether the low half of s4 is zero behind some instructions."""
    found = analyze(source + "\ns_nop 0")
    return found.is_zero(len(source.splitlines()), register)


@pytest.mark.parametrize(
    ("source", "zero"),
    [
        ("s_mov_b32 s4, 0", True),
        ("s_mov_b32 s4, 0x10000", True),
        ("s_mov_b32 s4, 0x10001", False),
        ("s_mov_b32 s4, 1.0", True),
        ("s_movk_i32 s4, 0x0", True),
        ("s_movk_i32 s4, 0x100", False),
        ("s_mov_b32 s4, s5", False),
        ("s_and_b32 s4, s4, 0x1230000", True),
        ("s_and_b32 s4, 0x1230000, s7", True),
        ("s_and_b32 s4, s4, 0x123ffff", False),
        ("s_lshl_b32 s4, s5, 16", True),
        ("s_lshl_b32 s4, s5, 15", False),
        ("s_pack_hh_b32_b16 s4, 0, s4", True),
        ("s_pack_hh_b32_b16 s4, s5, s4", False),
        ("s_pack_ll_b32_b16 s4, 0, s5", True),
        ("s_mov_b32 s5, 0\ns_mov_b32 s4, s5", True),
        ("s_mov_b32 s5, 0\ns_or_b32 s4, s5, 0x40000", True),
        ("s_mov_b32 s5, 0\ns_or_b32 s4, s5, s6", False),
        ("s_mov_b32 s5, 0\ns_mul_i32 s4, s6, s5", True),
        ("s_mov_b32 s5, 0\ns_lshl_b32 s4, s5, s6", True),
        ("s_mov_b32 s4, 0\ns_cmov_b32 s4, 0x20000", True),
        ("s_cmov_b32 s4, 0x20000", False),
        ("s_mov_b32 s4, 0\ns_or_b32 s4, s4, 1", False),
        ("s_mov_b32 s4, 0\ns_mov_b32 s5, 1", True),
        ("s_mov_b32 s4, 0\ns_load_b64 s[4:5], s[0:1], 0x0", False),
        ("s_mov_b32 s4, 0\ns_swap_pc_i64 s[30:31], s[2:3]", False),
        ("s_mov_b32 s4, 0\ns_movreld_b32 s8, s9", False),
        ("s_mov_b32 s4, 0\ns_and_not1_b32 s4, s4, s9", True),
    ],
)
def test_rules(source: str, zero: bool) -> None:
    assert is_zero(source) == zero


def test_every_path_has_to_mask() -> None:
    # 0 -> 1 -> 3, 0 -> 2 -> 3
    edges = ((0, 1), (0, 2), (1, 3), (2, 3))
    source = "s_nop 0\ns_and_b32 s4, s4, 0x70000\n{}\ns_nop 0"
    masked = analyze(source.format("s_mov_b32 s4, 0"), (0, 1, 2, 3), edges)
    assert masked.is_zero(3, 4)
    assert not masked.is_zero(1, 4)
    unmasked = analyze(source.format("s_nop 0"), (0, 1, 2, 3), edges)
    assert not unmasked.is_zero(3, 4)


def test_a_loop_that_only_masks_further_keeps_the_fact() -> None:
    source = "s_mov_b32 s4, 0\n{}\ns_nop 0"
    blocks, edges = (0, 1, 2), ((0, 1), (1, 1), (1, 2))
    assert analyze(source.format("s_and_b32 s4, s4, s9"), blocks, edges).is_zero(1, 4)
    assert not analyze(source.format("s_add_co_i32 s4, s4, 1"), blocks, edges).is_zero(1, 4)


def test_nothing_is_known_where_control_comes_from_unknown_places() -> None:
    source = "s_mov_b32 s4, 0\ns_nop 0"
    assert analyze(source, (0, 1), ((0, 1),)).is_zero(1, 4)
    assert not analyze(source, (0, 1), ((0, 1),), entered=(1,)).is_zero(1, 4)
