# SPDX-License-Identifier: Apache-2.0
"""How facts are written: runs of codes, of bits and of weighted bits."""

from __future__ import annotations

import numpy as np
import pytest
from tools.isagen.classes import IMMEDIATE, LITERAL, OWN_WIDTH, REGISTER, REJECTED, CodeClass
from tools.isagen.facts import bit_runs, code_runs, expand, weighted_runs
from tools.isagen.registers import Register, register_of, unpack


def test_bits_become_runs_in_the_given_order() -> None:
    assert bit_runs([0, 1, 2, 8, 5, 6]) == [[0, 3], [8, 1], [5, 2]]


def test_weights_become_runs_and_a_sign_bit_its_own() -> None:
    assert weighted_runs({4: 1, 5: 2, 6: -4}) == [[4, 2, 1], [6, 1, -4]]
    assert weighted_runs({9: 4, 4: 1, 5: 2}) == [[4, 2, 1], [9, 1, 4]]


def register(index: int, width: int = OWN_WIDTH) -> int:
    return Register("s", index, width, 0).packed()


def test_codes_become_runs_and_back() -> None:
    codes = [
        *((REGISTER, register(i)) for i in range(100)),
        (REGISTER, register(106, 1)),
        (REJECTED, 0),
        (REJECTED, 0),
        *((IMMEDIATE, value) for value in (0, 1, 2, -1, -2)),
        (LITERAL, 4),
    ]
    kinds, values = zip(*codes, strict=True)
    original = CodeClass(np.array(kinds, np.uint8), np.array(values, np.int64))
    runs = code_runs(original)
    assert runs == [
        [0, 100, "r", "s", 0, 0, None, 1],
        [100, 1, "r", "s", 0, 106, 1, 0],
        [101, 2, "x"],
        [103, 3, "i", 0, 1],
        [106, 2, "i", -1, -1],
        [108, 1, "L", 4],
    ]
    back = expand(runs, len(codes))
    assert np.array_equal(back.kind, original.kind)
    assert np.array_equal(back.value, original.value)


@pytest.mark.parametrize(
    ("name", "encoding", "expected"),
    [
        ("VGPR7", 7 | 1 << 8, Register("v", 7, 1, 0)),
        ("VGPR7_HI16", 7 | 1 << 8, Register("v", 7, 1, 2)),
        ("SGPR4_SGPR5", 4, Register("s", 4, 2, 0)),
        ("AGPR0_AGPR1_AGPR2", 0, Register("a", 0, 3, 0)),
        ("TTMP2_TTMP3_gfx9plus", 110, Register("s", 110, 2, 0)),
        ("VCC", 106, Register("s", 106, 2, 0)),
        ("VCC_HI", 107, Register("s", 107, 1, 0)),
        ("FLAT_SCR_vi", 102, Register("s", 102, 2, 0)),
        ("SRC_SHARED_BASE", 235, Register("s", 235, 2, 0)),
        ("SGPR_NULL128", 0, Register("s", 124, 4, 0)),
    ],
)
def test_registers_are_known_by_their_names(name: str, encoding: int, expected: Register) -> None:
    assert register_of(name, encoding) == expected
    assert unpack(expected.packed()) == expected
