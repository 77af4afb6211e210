# SPDX-License-Identifier: Apache-2.0
"""Encodings as rows of bytes (uint8 [n, WINDOW]), and bit operations on them.

Bits count from bit 0 of the first byte.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .llvm import WINDOW

LONGEST = 16
"""Bytes of the longest encoding without its literal."""


def mask_of(bits: Sequence[int]) -> int:
    return sum(1 << bit for bit in bits)


def from_int(value: int, size: int = LONGEST) -> np.ndarray:
    return np.frombuffer(value.to_bytes(size, "little"), np.uint8)


def to_int(window: np.ndarray, size: int = LONGEST) -> int:
    return int.from_bytes(window[:size].tobytes(), "little")


def words(windows: np.ndarray) -> np.ndarray:
    """The encodings as uint64 [n, 2], low half first."""
    return np.ascontiguousarray(windows[:, :LONGEST]).view("<u8")


def halves(value: int) -> tuple[np.uint64, np.uint64]:
    return np.uint64(value & (1 << 64) - 1), np.uint64(value >> 64)


def matches(pairs: np.ndarray, mask: int, value: int) -> np.ndarray:
    """bool [n]: which of the encodings (from `words`) have `value` under `mask`."""
    mask_low, mask_high = halves(mask)
    value_low, value_high = halves(value)
    found: np.ndarray = (pairs[:, 0] & mask_low) == value_low
    if mask_high:
        found &= (pairs[:, 1] & mask_high) == value_high
    return found


def force(windows: np.ndarray, mask: int, value: int) -> None:
    """Writes `value` under `mask` into every row."""
    windows[:, :LONGEST] &= ~from_int(mask)
    windows[:, :LONGEST] |= from_int(value)


def flipped(windows: np.ndarray, bits: Sequence[int]) -> np.ndarray:
    """[n, 1 + bits, WINDOW]: every row as it is, then with each bit inverted."""
    out = np.repeat(windows, len(bits) + 1, 0).reshape(len(windows), len(bits) + 1, WINDOW)
    for column, bit in enumerate(bits, 1):
        out[:, column, bit >> 3] ^= np.uint8(1 << (bit & 7))
    return out


def swept(window: np.ndarray, bits: Sequence[int]) -> np.ndarray:
    """[2**len(bits), WINDOW]: the row with every value in `bits` (the first is the lowest)."""
    count = 1 << len(bits)
    out = np.repeat(window[None], count, 0)
    codes = np.arange(count)
    for place, bit in enumerate(bits):
        column = out[:, bit >> 3]
        column &= np.uint8(0xFF ^ (1 << (bit & 7)))
        column |= ((codes >> place & 1) << (bit & 7)).astype(np.uint8)
    return out


def bit_values(windows: np.ndarray, bit: int) -> np.ndarray:
    values: np.ndarray = windows[..., bit >> 3] >> np.uint8(bit & 7) & 1
    return values


def field_values(windows: np.ndarray, bits: Sequence[int]) -> np.ndarray:
    """int64 [n]: what stands in `bits` (the first is the lowest)."""
    out = np.zeros(len(windows), np.int64)
    for place, bit in enumerate(bits):
        out |= bit_values(windows, bit).astype(np.int64) << place
    return out
