# SPDX-License-Identifier: Apache-2.0
"""Positions and ranges in executable sections."""

from __future__ import annotations

import pytest

from postproc.codeobject import TextPosition, TextRange


def test_contains() -> None:
    span = TextRange(1, 8, 16)
    inside = [offset for offset in range(24) if span.contains(TextPosition(1, offset))]
    assert inside == list(range(8, 16))
    assert not span.contains(TextPosition(2, 8))
    assert (span.size, span.first) == (8, TextPosition(1, 8))


@pytest.mark.parametrize(
    ("other", "overlaps", "covers"),
    [
        (TextRange(1, 8, 16), True, True),
        (TextRange(1, 12, 16), True, True),
        (TextRange(1, 12, 20), True, False),
        (TextRange(1, 0, 9), True, False),
        (TextRange(1, 0, 8), False, False),
        (TextRange(1, 16, 20), False, False),
        (TextRange(1, 12, 12), False, True),
        (TextRange(2, 8, 16), False, False),
    ],
)
def test_two_ranges(other: TextRange, overlaps: bool, covers: bool) -> None:
    span = TextRange(1, 8, 16)
    assert span.overlaps(other) == other.overlaps(span) == overlaps
    assert span.covers(other) == covers


@pytest.mark.parametrize(("start", "end"), [(-4, 0), (8, 4)])
def test_no_range(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="no range"):
        TextRange(1, start, end)


def test_order_is_that_of_the_file() -> None:
    assert sorted([TextPosition(2, 0), TextPosition(1, 8), TextPosition(1, 4)]) == [
        TextPosition(1, 4),
        TextPosition(1, 8),
        TextPosition(2, 0),
    ]
    assert str(TextPosition(7, 0x40)) == "section 7+0x40"
    assert str(TextRange(7, 0x40, 0x44)) == "section 7+0x40..0x44"
