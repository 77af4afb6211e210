# SPDX-License-Identifier: Apache-2.0
"""Feature lanes: which operand codes an encoding holds, asked of all words at once.

A lane table maps the value of a piece of an instruction (half a dword, say) to one bit for each
question about a field inside that piece.  An entry then asks with a mask of bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .facts import Facts, Run

PIECES = (
    ("low0", 0, 16),
    ("high0", 16, 16),
    ("low1", 32, 16),
    ("high1", 48, 16),
    ("mid1", 41, 9),
    ("low2", 64, 16),
    ("high2", 80, 16),
    ("low3", 96, 16),
    ("high3", 112, 16),
    ("mid3", 105, 9),
)
"""Bit ranges (name, lowest bit, length) whose value indexes one lane table: the halves of each
dword, and the src1 field of VOP3 and VOP3PX, which straddles them."""


class Lanes:
    """One bit for each distinct question "is the value of this field in this set?".

    A field that lies inside one piece gets its bit there.  A field that straddles pieces cannot be
    asked this way; the caller keeps those for the exact check.
    """

    def __init__(self) -> None:
        self.questions: dict[str, dict[tuple[int, int, frozenset[int]], int]] = {
            name: {} for name, _, _ in PIECES
        }

    def bit(self, runs: Sequence[tuple[int, int]], values: frozenset[int]) -> tuple[str, int]:
        """(piece, bit number) that asks whether the field may hold one of `values`.

        Exact for a field that is one run inside one piece; otherwise the largest part of the
        field that lies inside a piece is asked, which can only say yes too often.
        """
        best: tuple[int, str, int, int, int] = (0, "", 0, 0, 0)
        below = 0
        for low, length in runs:
            for name, start, size in PIECES:
                first, last = max(low, start), min(low + length, start + size)
                if last - first > best[0]:
                    best = (last - first, name, first - start, last - first, below + first - low)
            below += length
        _, name, low, length, shift = best
        part = frozenset(v >> shift & ((1 << length) - 1) for v in values)
        asked = self.questions[name]
        return name, asked.setdefault((low, length, part), len(asked))

    def table(self, name: str, size: int) -> np.ndarray:
        index = np.arange(1 << size, dtype=np.uint32)
        out = np.zeros(1 << size, np.uint32)
        for (low, length, values), bit in self.questions[name].items():
            if bit >= 32:
                raise ValueError(f"piece {name} has more than 32 questions")
            hit = np.isin(index >> low & ((1 << length) - 1), list(values))
            out |= hit.astype(np.uint32) << np.uint32(bit)
        return out


@dataclass
class EntryChecks:
    """What step 2 asks of each entry: lane masks, one uint32 a piece and entry.

    `bad` may accuse too much; so may a *pair*, which accuses where both of its masks hit.  What
    they accuse goes through `exact`, per entry the fields with all their rejected codes.
    """

    bad: dict[str, np.ndarray]
    literal4: dict[str, np.ndarray]
    literal8: dict[str, np.ndarray]
    pair_a: dict[str, np.ndarray]
    pair_b: dict[str, np.ndarray]
    exact: list[list[tuple[tuple[Run, ...], tuple[int, ...]]]]


def entry_checks(facts: Facts, lanes: Lanes) -> EntryChecks:
    count = len(facts.entries)
    names = [name for name, _, _ in PIECES]

    def none() -> dict[str, np.ndarray]:
        return {name: np.zeros(count, np.uint32) for name in names}

    checks = EntryChecks(none(), none(), none(), none(), none(), [])
    classes = [facts.expanded_class(i) for i in range(len(facts.classes))]
    rejected = [frozenset(i for i, c in enumerate(k) if c is None) for k in classes]
    literal4 = [frozenset(i for i, c in enumerate(k) if c == ("L", 4)) for k in classes]
    literal8 = [frozenset(i for i, c in enumerate(k) if c == ("L", 8)) for k in classes]

    def ask(
        masks: dict[str, np.ndarray], number: int, runs: tuple[Run, ...], values: frozenset[int]
    ) -> None:
        if values:
            piece, bit = lanes.bit(runs, values)
            masks[piece][number] |= np.uint32(1 << bit)

    for number, entry in enumerate(facts.entries):
        checks.exact.append([])
        for op in entry["ops"]:
            if "cls" not in op:
                continue
            runs = tuple((low, length) for low, length in op["bits"])
            kind = op["cls"]
            if rejected[kind]:
                checks.exact[-1].append((runs, tuple(sorted(rejected[kind]))))
            if op.get("tied") is None:
                ask(checks.literal4, number, *by_place(runs, literal4[kind]))
                ask(checks.literal8, number, *by_place(runs, literal8[kind]))
            placed, values = by_place(runs, rejected[kind])
            split = split_by_last(placed, values)
            if split is None:
                ask(checks.bad, number, placed, values)
                continue
            main, always, side, side_value, sometimes = split
            ask(checks.bad, number, (main,), always)
            if sometimes:
                ask(checks.pair_a, number, (main,), sometimes)
                ask(checks.pair_b, number, (side,), frozenset((side_value,)))
    return checks


def by_place(
    runs: tuple[Run, ...], values: frozenset[int]
) -> tuple[tuple[Run, ...], frozenset[int]]:
    """The field with its bits in order of place, adjacent runs joined, and its values so read."""
    bits = [low + i for low, length in runs for i in range(length)]
    order = sorted(range(len(bits)), key=bits.__getitem__)
    joined: list[Run] = []
    for bit in sorted(bits):
        low, length = joined[-1] if joined else (-1, 0)
        if joined and low + length == bit and bit % 32:
            joined[-1] = (low, length + 1)
        else:
            joined.append((bit, 1))
    moved = frozenset(
        sum((v >> source & 1) << place for place, source in enumerate(order)) for v in values
    )
    return tuple(joined), moved


def split_by_last(
    runs: tuple[Run, ...], values: frozenset[int]
) -> tuple[Run, frozenset[int], Run, int, frozenset[int]] | None:
    """Of a field of two runs in the first two dwords, one of them a single bit: (main run, what it
    must not hold in any case, the single bit, a value of it, what main must not hold then)."""
    if len(runs) != 2 or 1 not in (runs[0][1], runs[1][1]) or max(low for low, _ in runs) >= 64:
        return None
    side_first = runs[0][1] == 1
    main, side = (runs[1], runs[0]) if side_first else (runs[0], runs[1])
    sets: list[set[int]] = [set(), set()]
    for value in values:
        if side_first:
            sets[value & 1].add(value >> 1)
        else:
            sets[value >> main[1]].add(value & ((1 << main[1]) - 1))
    always = sets[0] & sets[1]
    extra = [s - always for s in sets]
    if extra[0] and extra[1]:
        return None
    side_value = 1 if extra[1] else 0
    return main, frozenset(always), side, side_value, frozenset(extra[side_value])
