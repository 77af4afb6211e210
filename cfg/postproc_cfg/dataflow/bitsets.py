# SPDX-License-Identifier: Apache-2.0
"""Sets of small numbers: rows of uint64 words outside, Python integers inside.

Member k of a row is bit k % 64 of word k // 64.  Whole-array work (building, testing) is fast in
numpy; a step of a solver works on a single row, where one integer beats a handful of array calls.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["from_integers", "members", "pack", "row_of", "to_integers", "unpack", "word_count"]


def word_count(members: int) -> int:
    """Words of a row that can hold `members` members."""
    return -(-members // 64)


def pack(matrix: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """bool[n, k] as uint64[n, word_count(k)]."""
    rows, columns = matrix.shape
    padded = np.zeros((rows, word_count(columns) * 64), np.bool_)
    padded[:, :columns] = matrix
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def unpack(rows: NDArray[np.uint64], count: int) -> NDArray[np.bool_]:
    """uint64[n, w] as bool[n, count]."""
    octets = np.ascontiguousarray(rows.astype("<u8")).view(np.uint8)
    return np.unpackbits(octets, axis=1, count=count, bitorder="little").astype(np.bool_)


def row_of(numbers: Iterable[int], words: int) -> NDArray[np.uint64]:
    """One row with the given members, uint64[words]."""
    row = np.zeros(words, np.uint64)
    for number in numbers:
        row[number >> 6] |= np.uint64(1 << (number & 63))
    return row


def members(row: NDArray[np.uint64]) -> tuple[int, ...]:
    """The members of one row, ascending."""
    return tuple(np.flatnonzero(unpack(row[np.newaxis], row.size * 64)[0]).tolist())


def to_integers(rows: NDArray[np.uint64]) -> list[int]:
    """Each row of uint64[n, w] as one integer."""
    size = rows.shape[1] * 8
    octets = np.ascontiguousarray(rows.astype("<u8")).tobytes()
    return [
        int.from_bytes(octets[at : at + size], "little")
        for at in range(0, size * rows.shape[0], size or 1)
    ] or [0] * rows.shape[0]


def from_integers(values: list[int], words: int) -> NDArray[np.uint64]:
    """The rows, uint64[n, words], of integers below 2 ** (64 * words)."""
    octets = b"".join(value.to_bytes(words * 8, "little") for value in values)
    return np.frombuffer(octets, "<u8").reshape(len(values), words).astype(np.uint64)
