# SPDX-License-Identifier: Apache-2.0
"""The guess: a pattern for every first dword."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .decision import FIELD_LIMIT, Tree, differing_bits
from .facts import Facts, Pattern
from .lanes import EntryChecks


def distinct_columns(bits: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of a bool matrix: an example of each distinct column, the kind of every column, counts."""
    packed = np.packbits(bits, axis=0)
    kind = np.zeros(bits.shape[1], np.int64)
    for row in packed:
        _, kind = np.unique(kind * 256 + row, return_inverse=True)
    _, example, count = np.unique(kind, return_index=True, return_counts=True)
    return example, kind, count


class Guesser:
    """Names a pattern for every first dword: `node[hi16]` selects `shift`, `mask` and `base`, and
    `children[base + (lo16 >> shift & mask)]` is the pattern, or -1."""

    def __init__(self, patterns: Sequence[Pattern], facts: Facts, checks: EntryChecks) -> None:
        self.patterns = patterns
        self.sizes = [facts.entries[number]["size"] for _, _, number in patterns]
        self.rejected = [checks.exact[number] for _, _, number in patterns]
        self.chosen: dict[tuple[int, ...], int] = {}

    def excluded(self, i: int, other: int) -> bool:
        """Whether `other` fixes a field of `i` to a code that `i` rejects (as DPP fixes src0 to
        0xFA), so that no encoding is both."""
        mask, value, _ = self.patterns[other]
        for runs, codes in self.rejected[i]:
            fixed = code = below = 0
            for low, length in runs:
                ones = (1 << length) - 1
                fixed |= (mask >> low & ones) << below
                code |= (value >> low & ones) << below
                below += length
            agreeing = sum((c ^ code) & fixed == 0 for c in codes)
            if fixed and agreeing == 1 << below - fixed.bit_count():
                return True
        return False

    def choose(self, ids: tuple[int, ...]) -> int:
        """The shortest encoding with the most fixed bits among those that are safe, or -1."""
        if ids not in self.chosen:
            ranked = sorted(ids, key=lambda i: (self.sizes[i], -self.patterns[i][0].bit_count()))
            safe = (
                i for i in ranked if all(self.excluded(i, other) for other in ids[: ids.index(i)])
            )
            self.chosen[ids] = next(safe, -1)
        return self.chosen[ids]

    def children(self, ids: Sequence[int]) -> tuple[int, int, tuple[int, ...]]:
        """shift, mask and children of the node for the candidates `ids`."""
        open_bits = differing_bits(self.patterns, ids, 0) & 0xFFFF if ids else 0
        if not open_bits:
            return 0, 0, (self.choose(tuple(ids)),) if ids else (-1,)
        windows = [
            (low, length)
            for length in (*range(1, FIELD_LIMIT + 1), 16)
            for low in range(17 - length)
            if open_bits >> low & 1
        ]
        best: tuple[float, int, int] | None = None
        for low, length in windows:
            cost = self.doubt(ids, low, length)
            # a child is two bytes: more of them must be worth it
            if best is None or cost < best[0] * (0.25 if length == 16 else 0.99):
                best = (cost, low, length)
        assert best is not None
        return self.node(ids, best[1], best[2])

    def parts(
        self, ids: Sequence[int], shift: int, length: int
    ) -> tuple[list[tuple[int, ...]], np.ndarray, np.ndarray]:
        """Distinct sets of candidates left by the field, the set of each value, and its size."""
        span = ((1 << length) - 1) << shift
        values = np.arange(1 << length, dtype=np.int64) << shift
        fits = np.stack(
            [
                (values ^ (self.patterns[i][1] & span)) & (self.patterns[i][0] & span) == 0
                for i in ids
            ]
        )
        example, kind_of, count = distinct_columns(fits)
        left = [tuple(np.array(ids)[fits[:, column]].tolist()) for column in example]
        return left, kind_of, count

    def doubt(self, ids: Sequence[int], shift: int, length: int) -> float:
        """Candidates, on average over the values of the field, that the guess would miss."""
        left, _, count = self.parts(ids, shift, length)
        missed = [len(part) - (self.choose(part) >= 0) if part else 0 for part in left]
        return float((np.array(missed) * count).sum()) / (1 << length)

    def node(self, ids: Sequence[int], shift: int, length: int) -> tuple[int, int, tuple[int, ...]]:
        left, kind_of, _ = self.parts(ids, shift, length)
        named = np.array([self.choose(part) if part else -1 for part in left])
        return shift, (1 << length) - 1, tuple(named[kind_of].tolist())

    def arrays(self, tree: Tree) -> dict[str, np.ndarray]:
        shifts, masks, bases = [], [], []
        children: list[int] = []
        placed: dict[tuple[int, ...], int] = {}
        for slot in range(len(tree.candidate_start) - 1):
            ids = tree.candidates[tree.candidate_start[slot] : tree.candidate_start[slot + 1]]
            shift, mask, own = self.children(ids)
            if own not in placed:
                placed[own] = len(children)
                children.extend(own)
            shifts.append(shift)
            masks.append(mask)
            bases.append(placed[own])
        return {
            "guess_shift": np.array(shifts, np.uint8),
            "guess_mask": np.array(masks, np.uint16),
            "guess_base": np.array(bases, np.uint32),
            "guess_children": np.array(children, np.int16),
        }
