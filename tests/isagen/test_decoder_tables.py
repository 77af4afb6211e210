# SPDX-License-Identifier: Apache-2.0
"""LLVM's decoder tables, flattened: from byte code to (mask, value, opcode)."""

from __future__ import annotations

from tools.isagen.decoder_tables import Op, flatten

WIDTH = bytes([32])


def decode(opcode: int) -> bytes:
    return bytes([Op.DECODE, opcode, 0])


def check(low: int, length: int, value: int) -> bytes:
    return bytes([Op.CHECK_FIELD, low, length, value])


def test_checks_add_up() -> None:
    table = WIDTH + check(0, 4, 5) + check(8, 2, 1) + decode(7)
    assert list(flatten(table)) == [(0x30F, 0x105, 7)]


def test_a_switch_has_one_leaf_for_each_case() -> None:
    first = decode(1)
    table = WIDTH + bytes([Op.SWITCH_FIELD, 4, 4, 2, len(first)]) + first
    table += bytes([3, 0]) + decode(2)  # size 0: the last case goes to the end
    assert list(flatten(table)) == [(0xF0, 0x20, 1), (0xF0, 0x30, 2)]


def test_a_scope_that_fails_goes_on_behind_it() -> None:
    tried = check(0, 1, 1) + decode(1)
    table = WIDTH + bytes([Op.SCOPE, len(tried)]) + tried + check(1, 1, 1) + decode(2)
    assert list(flatten(table)) == [(1, 1, 1), (2, 2, 2)]


def test_predicates_and_soft_failures_do_not_constrain_bits() -> None:
    table = WIDTH + bytes([Op.CHECK_PREDICATE, 9, Op.SOFT_FAIL, 1, 1]) + check(0, 1, 0) + decode(3)
    assert list(flatten(table)) == [(1, 0, 3)]


def test_contradictions_are_unreachable() -> None:
    table = WIDTH + check(0, 4, 5) + check(0, 2, 2) + decode(7)
    assert list(flatten(table)) == []


def test_numbers_may_take_several_bytes() -> None:
    table = WIDTH + check(0, 1, 1) + bytes([Op.DECODE, 0x80 | 0x48, 0x56, 0])
    assert list(flatten(table)) == [(1, 1, 0x48 | 0x56 << 7)]
