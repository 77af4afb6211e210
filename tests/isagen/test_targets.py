# SPDX-License-Identifier: Apache-2.0
"""Which processors have tables, and which share one."""

from __future__ import annotations

from tools.isagen.targets import PROCESSORS, SERVES, UNKNOWN_TO_LLVM, generation_of

from postproc.isa.processors import SAME_AS, TABLES


def test_features_select_wavefront_size_and_true16() -> None:
    assert PROCESSORS["gfx942"].features_of(64) == ""
    assert PROCESSORS["gfx1030"].features_of(32) == ""
    assert PROCESSORS["gfx1100"].features_of(64) == "+real-true16,+wavefrontsize64"


def test_generations() -> None:
    assert [generation_of(p) for p in ("gfx90a", "gfx1030", "gfx1151", "gfx1250")] == [
        9,
        10,
        11,
        12,
    ]


def test_the_runtime_knows_the_same_tables() -> None:
    assert set(TABLES) == set(PROCESSORS)


def test_the_runtime_shares_tables_only_as_measured() -> None:
    assert SAME_AS.items() <= (SERVES | UNKNOWN_TO_LLVM).items()
