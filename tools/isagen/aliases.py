# SPDX-License-Identifier: Apache-2.0
"""Which processors LLVM decodes alike, so that one table serves them.

A table serves another processor if LLVM decodes all that the other one has the same way for both:
opcode, size and all operands, on pseudo-random encodings of each pattern and of no pattern.  It may
know more than the other does (a generic target has what its members have in common).
`targets.SERVES` holds the answer as data, and `check_served` asks LLVM again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .build import Native
from .decoder_tables import Leaf
from .llvm import WINDOW, Llvm
from .seeds import SEED
from .targets import PROCESSORS, SERVES
from .windows import force

PER_LEAF = 12
UNIFORM = 100_000
BATCH = 4096


@dataclass
class Likeness:
    """Of the encodings asked: `conflicts` are instructions of the other processor that the table
    does not have or reads differently, `surplus` instructions that only the table has."""

    asked: int = 0
    conflicts: int = 0
    surplus: int = 0


def likeness(native: Native, leaves: Sequence[Leaf], table: str, other: str) -> Likeness:
    """How well the table of one processor serves another one."""
    found = Likeness()
    processor = PROCESSORS[table]
    for size in processor.wavefront_sizes:
        features = processor.features_of(size)
        pair = Llvm(native, table, features), Llvm(native, other, features)
        for windows in _questions(leaves):
            _compare(*pair, windows, found)
    return found


def _questions(leaves: Sequence[Leaf]) -> Iterator[np.ndarray]:
    rng = np.random.default_rng([SEED, 11])
    yield rng.integers(0, 256, (UNIFORM, WINDOW), dtype=np.uint8)
    for start in range(0, len(leaves), BATCH):
        part = leaves[start : start + BATCH]
        windows = rng.integers(0, 256, (len(part) * PER_LEAF, WINDOW), dtype=np.uint8)
        windows[::2] &= rng.integers(0, 256, windows[::2].shape, dtype=np.uint8)
        for place, leaf in enumerate(part):
            force(windows[place * PER_LEAF : (place + 1) * PER_LEAF], leaf.mask, leaf.value)
        yield windows


def _compare(table: Llvm, other: Llvm, windows: np.ndarray, found: Likeness) -> None:
    ours, theirs = table.decode(windows), other.decode(windows)
    same = (ours.opcode == theirs.opcode) & (ours.size == theirs.size)
    same &= ((ours.kind == theirs.kind) & (ours.value == theirs.value)).all(axis=1)
    found.asked += len(windows)
    found.conflicts += int((theirs.accepted & ~(ours.accepted & same)).sum())
    found.surplus += int((ours.accepted & ~theirs.accepted).sum())


def check_served(native: Native, leaves: Sequence[Leaf], table: str) -> list[str]:
    """Processors that the table is said to serve but does not."""
    problems = []
    for other in (name for name, by in SERVES.items() if by == table):
        found = likeness(native, leaves, table, other)
        if found.conflicts:
            problems.append(
                f"{other} is not served by {table}: {found.conflicts} of {found.asked} differ"
            )
    return problems
