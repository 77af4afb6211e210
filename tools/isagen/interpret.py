# SPDX-License-Identifier: Apache-2.0
"""Decodes with the facts alone, to hold them against LLVM.

An encoding is an instance of the first entry, in order of precedence, one of whose patterns it
matches and none of whose operand codes and variants it has that are rejected.  Slow but plain: the
decoder that ships is built on the same facts and is tested separately.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .classes import LITERAL, OWN_WIDTH, REGISTER, REJECTED, CodeClass
from .facts import EntryFacts, OperandFacts, TargetFacts
from .variants import SIZE
from .windows import field_values, halves, words

NONE = -1
"""Entry number of encodings that no entry takes."""

GROUP_BITS = 12
"""Top bits of the first dword by which encodings are grouped."""


def joined_bits(runs: list[list[int]]) -> list[int]:
    return [low + i for low, length, *_ in runs for i in range(length)]


@dataclass
class Interpreter:
    facts: TargetFacts
    _rows: list[tuple[int, int, int]] = field(default_factory=list)
    _groups: dict[int, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rows = [
            (mask, value, number)
            for number, entry in enumerate(self.facts.entries)
            for mask, value in entry.patterns
        ]
        shift = 32 - GROUP_BITS
        tops = np.arange(1 << GROUP_BITS)
        for row, (mask, value, _) in enumerate(self._rows):
            top_mask, top_value = (mask >> shift) & (1 << GROUP_BITS) - 1, value >> shift
            top_value &= (1 << GROUP_BITS) - 1
            for top in np.nonzero((tops & top_mask) == top_value)[0].tolist():
                self._groups.setdefault(top, []).append(row)

    def decode(self, windows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """int32 entry number (NONE) and uint8 size in bytes (0) of each window."""
        entry = np.full(len(windows), NONE, np.int32)
        size = np.zeros(len(windows), np.uint8)
        pairs = words(windows)
        top = (pairs[:, 0] >> np.uint64(32 - GROUP_BITS) & np.uint64((1 << GROUP_BITS) - 1)).astype(
            int
        )
        order = np.argsort(top, kind="stable")
        cuts = np.nonzero(np.diff(top[order]))[0] + 1
        for rows in np.split(order, cuts) if len(order) else ():
            self._decode_group(
                windows, pairs, rows, self._groups.get(int(top[rows[0]]), []), entry, size
            )
        return entry, size

    def _decode_group(
        self,
        windows: np.ndarray,
        pairs: np.ndarray,
        rows: np.ndarray,
        candidates: list[int],
        entry: np.ndarray,
        size: np.ndarray,
    ) -> None:
        for candidate in candidates:
            if not rows.size:
                return
            mask, value, number = self._rows[candidate]
            (mask_low, mask_high), (value_low, value_high) = halves(mask), halves(value)
            hit = (pairs[rows, 0] & mask_low) == value_low
            if mask_high:
                hit &= (pairs[rows, 1] & mask_high) == value_high
            if not hit.any():
                continue
            facts = self.facts.entries[number]
            accepted, sizes = self.check(facts, windows[rows[hit]])
            taken = rows[hit][accepted]
            entry[taken] = number
            size[taken] = sizes[accepted]
            hit[hit] = accepted
            rows = rows[~hit]

    def check(self, entry: EntryFacts, windows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of encodings that match a pattern: which have no rejected code, and their sizes."""
        accepted = np.ones(len(windows), bool)
        size = np.full(len(windows), entry.size, np.int16)
        literal = np.zeros(len(windows), np.int16)
        for role, (bits, widths) in entry.width_variants.items():
            table = np.array([-1 if w is None else w for w in widths], np.int16)
            chosen = table[field_values(windows, bits)]
            accepted &= chosen >= 0
            if role == SIZE:
                size = chosen
        for operand in entry.operands:
            if "cls" in operand.source:
                kind, value = self.codes(operand, windows)
                accepted &= kind != REJECTED
                literal = np.maximum(literal, np.where(kind == LITERAL, value, 0).astype(np.int16))
        return accepted, size + literal

    def codes(self, operand: OperandFacts, windows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        codes: CodeClass = self.facts.classes[operand.source["cls"]]
        raw = field_values(windows, joined_bits(operand.source["bits"]))
        return codes.kind[raw], codes.value[raw]

    def operand(
        self, entry: EntryFacts, operand: OperandFacts, windows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Kind (as of `classes`) and value of an operand; registers packed with their widths."""
        source: dict[str, Any] = operand.source
        count = len(windows)
        kind = np.full(count, 2, np.uint8)
        if "const" in source:
            value = (
                np.full(count, source["const"][1], np.int64) if source["const"][0] == "i" else None
            )
            if value is None:
                _, file, index, width = source["const"]
                packed = "-sva".index(file) << 24 | width << 12 | index
                return np.full(count, REGISTER, np.uint8), np.full(count, packed, np.int64)
        elif "imm" in source:
            value = np.full(count, source.get("c0", 0), np.int64)
            for low, length, weight in source["imm"]:
                value += field_values(windows, list(range(low, low + length))) * weight
        elif "fi8" in source:
            place = 4 if entry.encoded_size == 12 else 0
            value = windows[:, place].astype(np.int64)
        else:
            kind, value = self.codes(operand, windows)
            own = (kind == REGISTER) & ((value >> 12 & 0xFF) == OWN_WIDTH)
            width = np.full(count, source["w"], np.int64)
            if operand.role in entry.width_variants:
                bits, widths = entry.width_variants[operand.role]
                table = np.array([-1 if w is None else w for w in widths], np.int64)
                width = table[field_values(windows, bits)]
            value = np.where(own, value & ~(0xFF << 12) | width << 12, value)
        return kind, value
