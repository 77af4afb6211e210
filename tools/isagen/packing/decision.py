# SPDX-License-Identifier: Apache-2.0
"""A decision tree over bit fields, whose root is indexed by the upper half of the first dword."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from .facts import Pattern

FIELD_LIMIT = 9
"""Widest field that one tree node looks at, in bits."""


@dataclass
class Tree:
    """`root[hi16]` and `children[...]` hold pattern ids (>= 0), -1 (nothing matches) or
    -2 - node.  A node reads `mask[node]` bits of dword `word[node]` after a shift and indexes
    `children[base[node] + value]`.  `slot[hi16]` indexes `candidates` (ragged, in precedence
    order, by `candidate_start`)."""

    root: np.ndarray
    word: list[int] = field(default_factory=list)
    shift: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    base: list[int] = field(default_factory=list)
    children: list[int] = field(default_factory=list)
    slot: np.ndarray = field(default_factory=lambda: np.zeros(65536, np.uint16))
    candidates: list[int] = field(default_factory=list)
    candidate_start: list[int] = field(default_factory=lambda: [0])


def differing_bits(patterns: Sequence[Pattern], ids: Sequence[int], tested: int) -> int:
    """Bits on which the candidates do not all say the same (same value, or all don't care)."""
    all_mask = any_mask = patterns[ids[0]][0]
    all_one = any_one = patterns[ids[0]][1]
    for i in ids[1:]:
        mask, value, _ = patterns[i]
        all_mask &= mask
        any_mask |= mask
        all_one &= value
        any_one |= value
    return ((any_mask & ~all_mask) | (any_one & ~all_one)) & ~tested


def runs_of(bits: int) -> Iterable[tuple[int, int]]:
    """Maximal runs (low, length) of set bits that stay inside one dword."""
    low = 0
    while bits >> low:
        if not bits >> low & 1:
            low += 1
            continue
        length = 1
        while bits >> (low + length) & 1 and (low + length) % 32 and length < FIELD_LIMIT:
            length += 1
        yield low, length
        low += length


class TreeBuilder:
    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self.patterns = patterns
        self.tree = Tree(np.full(65536, -1, np.int32))
        self.known: dict[tuple[tuple[int, ...], int], int] = {}

    def split(self, ids: Sequence[int], low: int, length: int) -> list[tuple[int, ...]]:
        field_mask = ((1 << length) - 1) << low
        out = []
        for value in range(1 << length):
            bits = value << low
            out.append(
                tuple(
                    i
                    for i in ids
                    if not (self.patterns[i][1] ^ bits) & self.patterns[i][0] & field_mask
                )
            )
        return out

    def build(self, ids: tuple[int, ...], tested: int) -> int:
        if not ids:
            return -1
        open_bits = differing_bits(self.patterns, ids, tested)
        if len(ids) == 1 or not open_bits:
            return ids[0]
        key = (ids, open_bits)
        if key in self.known:
            return self.known[key]
        best: tuple[float, int, int, list[tuple[int, ...]]] | None = None
        for low, length in runs_of(open_bits):
            parts = self.split(ids, low, length)
            # expected number of candidates left, with a preference for narrow early dwords
            cost = sum(len(p) ** 2 for p in parts) / len(parts) + low / 1024
            if best is None or cost < best[0]:
                best = (cost, low, length, parts)
        assert best is not None
        _, low, length, parts = best
        tree = self.tree
        node = len(tree.word)
        tree.word.append(low // 32)
        tree.shift.append(low % 32)
        tree.mask.append((1 << length) - 1)
        tree.base.append(len(tree.children))
        tree.children.extend([-1] * len(parts))
        self.known[key] = -2 - node
        tested |= ((1 << length) - 1) << low
        base = tree.base[node]
        for value, part in enumerate(parts):
            tree.children[base + value] = self.build(part, tested)
        return -2 - node


def build_tree(patterns: Sequence[Pattern]) -> Tree:
    """Patterns must come in precedence order (the first that matches wins)."""
    builder = TreeBuilder(patterns)
    tree = builder.tree
    high = 0xFFFF << 16
    members: dict[int, list[int]] = {}
    groups: dict[tuple[int, int], list[int]] = {}
    for i, (mask, value, _) in enumerate(patterns):
        groups.setdefault((mask & high, value & high), []).append(i)
    for (mask, value), ids in groups.items():
        free = (~mask & high) >> 16
        subset = free
        while True:
            members.setdefault(value >> 16 | subset, []).extend(ids)
            if not subset:
                break
            subset = (subset - 1) & free
    slots: dict[tuple[int, ...], int] = {(): 0}
    tree.candidate_start.append(0)
    roots: dict[tuple[int, ...], int] = {}
    for half in sorted(members):
        key = tuple(sorted(members[half]))
        if key not in roots:
            roots[key] = builder.build(key, high)
            slots[key] = len(tree.candidate_start) - 1
            tree.candidates.extend(key)
            tree.candidate_start.append(len(tree.candidates))
        tree.root[half] = roots[key]
        tree.slot[half] = slots[key]
    return tree
