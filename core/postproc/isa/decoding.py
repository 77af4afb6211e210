# SPDX-License-Identifier: Apache-2.0
"""From bytes to arrays: which instruction starts where, for a whole section at once.

Let `w` be the little-endian dwords of a section.  `identify` gives, for any dwords, the entry
whose encoding matches there and its length.  Instruction starts then are the least set that holds
0 and, with a start `i`, also `i + length(i)`.

1. Identify *every* dword, in chunks that fit the cache: cheaper than following the chain.
2. Find the starts: walk many equal columns of the section in lockstep, each from its own first
   dword; streams of different starts meet within a few instructions, so stitching the columns
   together costs little.
3. Step 1 leaves out what only odd words need (a second candidate, operand codes that are
   rejected).  Starts that it could not confirm are decided exactly; if that changes a length, the
   stretch behind it is walked again, until nothing changes.

An undecodable word is one `UNKNOWN` of one dword, and decoding resumes behind it, as
llvm-objdump does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc.isa.tables import DecoderTables

UNKNOWN = 0xFFFF
"""Entry number of a dword that is no instruction."""

CHUNK = 1 << 14
"""Dwords identified at once; the temporaries of a chunk stay in the second-level cache."""

COLUMN = 256
"""Dwords that one lockstep walker covers."""


@dataclass(frozen=True, slots=True)
class Starts:
    """Result of `decode_words`: dword indices (uint32), entries (uint16), lengths in dwords
    (uint8); all of one length, ascending."""

    index: NDArray[np.uint32]
    entry: NDArray[np.uint16]
    length: NDArray[np.uint8]


def padded_words(code: bytes | memoryview) -> NDArray[np.uint32]:
    """The whole dwords of `code` with a few zero dwords behind them."""
    count = len(code) // 4
    words = np.zeros(count + 8, np.uint32)
    words[:count] = np.frombuffer(code, "<u4", count)
    return words


def decode_words(tables: DecoderTables, words: NDArray[np.uint32], count: int) -> Starts:
    """Decode `count` dwords of `words` (padded by at least 8 dwords)."""
    pattern = np.empty(count, np.int16)
    length = np.empty(count, np.uint8)
    for low in range(0, count, CHUNK):
        high = min(low + CHUNK, count)
        pattern[low:high], length[low:high] = _identify_all(tables, words, low, high)
    # what would run over the end is no instruction
    for i in range(max(0, count - 8), count):
        if i + int(length[i]) > count:
            pattern[i] = -1
            length[i] = 1
    settled: NDArray[np.bool_] | None = None
    while True:
        starts = chain(length)
        doubtful = starts[pattern[starts] < 0]
        if settled is not None:
            doubtful = doubtful[~settled[doubtful]]
        if not doubtful.size:
            break
        if settled is None:
            settled = np.zeros(count, bool)
        settled[doubtful] = True
        exact_pattern, exact_length = _decide(tables, words, doubtful, count)
        pattern[doubtful] = exact_pattern
        changed = bool((length[doubtful] != exact_length).any())
        length[doubtful] = exact_length
        if not changed:
            break
    entry = tables.entry_of_pattern[pattern[starts]]
    return Starts(starts.astype(np.uint32), entry, length[starts])


# ---------------------------------------------------------------- identification
def _identify_all(
    tables: DecoderTables, words: NDArray[np.uint32], low: int, high: int
) -> tuple[NDArray[np.int16], NDArray[np.uint8]]:
    """Pattern (-1: not confirmed) and length in dwords of every dword in [low, high)."""
    w0, w1 = words[low:high], words[low + 1 : high + 1]
    low0, high0 = _halves(w0)
    low1, high1 = _halves(w1)
    pattern = tables.root.take(high0)
    active = np.flatnonzero(pattern < -1)
    while active.size:
        node = -2 - pattern[active]
        word = words[active + (tables.node_word.take(node) + low)]
        value = (word >> tables.node_shift.take(node)) & tables.node_mask.take(node)
        found = tables.children.take(tables.node_base.take(node) + value)
        pattern[active] = found
        active = active[found < -1]
    good = (w0 & tables.mask0.take(pattern)) == tables.value0.take(pattern)
    good &= (w1 & tables.mask1.take(pattern)) == tables.value1.take(pattern)
    near = tables.lane_low0.take(low0) | tables.lane_high0.take(high0)
    far = (
        tables.lane_low1.take(low1)
        | tables.lane_high1.take(high1)
        | tables.lane_mid1.take((w1 >> np.uint32(9)) & np.uint32(0x1FF))
    )
    good &= (near & tables.bad_near.take(pattern)) == 0
    good &= (far & tables.bad_far.take(pattern)) == 0
    length = tables.base_length.take(pattern)
    length += ((near & tables.lit4_near.take(pattern)) | (far & tables.lit4_far.take(pattern))) != 0
    if tables.has_literal8:
        wide = (near & tables.lit8_near.take(pattern)) | (far & tables.lit8_far.take(pattern))
        hit = np.flatnonzero(wide)
        length[hit] = tables.base_length.take(pattern[hit]) + np.uint8(2)
    long = np.flatnonzero(tables.long.take(pattern) & good)
    if long.size:
        _check_long(tables, words, low, long, pattern, good, length)
    pattern[~good] = -1
    length[~good] = 1
    return pattern, length


def _halves(words: NDArray[np.uint32]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    return (words & np.uint32(0xFFFF)).astype(np.intp), (words >> np.uint32(16)).astype(np.intp)


def _check_long(
    tables: DecoderTables,
    words: NDArray[np.uint32],
    low: int,
    long: NDArray[np.intp],
    pattern: NDArray[np.int16],
    good: NDArray[np.bool_],
    length: NDArray[np.uint8],
) -> None:
    """What `_identify_all` leaves out for entries that look at the third dword or later, or whose
    length depends on more than literals.  Updates `good` and `length` in place."""
    found = pattern[long]
    at = long + low
    fine = np.ones(long.size, bool)
    for word in (2, 3):
        data = words[at + word]
        fine &= (data & tables.mask[word].take(found)) == tables.value[word].take(found)
        lanes = tables.lanes(word, data)
        fine &= (lanes & tables.bad[word].take(found)) == 0
        length[long] += (lanes & tables.lit4[word].take(found)) != 0
    good[long] &= fine
    for number, bits, lengths in tables.length_variants:
        hit = long[tables.entry_of_pattern[found] == number]
        if hit.size:
            selector = np.zeros(hit.size, np.intp)
            for position, bit in enumerate(bits):
                data = words[hit + low + bit // 32] >> np.uint32(bit % 32) & np.uint32(1)
                selector |= data.astype(np.intp) << position
            length[hit] = lengths[selector]


# ---------------------------------------------------------------- exact decision
def _decide(
    tables: DecoderTables, words: NDArray[np.uint32], at: NDArray[np.intp], count: int
) -> tuple[NDArray[np.int16], NDArray[np.uint8]]:
    """Pattern (-1: unknown) and length of the dwords `at`, trying every candidate in turn."""
    pattern = np.full(at.size, -1, np.int16)
    length = np.ones(at.size, np.uint8)
    slots = tables.slot.take(words[at] >> np.uint32(16))
    for slot in np.unique(slots):
        members = np.flatnonzero(slots == slot)
        first, last = tables.candidate_start[slot], tables.candidate_start[slot + 1]
        for candidate in tables.candidates[first:last].tolist():
            ok, size = _matches(tables, words, at[members], candidate, count)
            hit = members[ok]
            pattern[hit] = candidate
            length[hit] = size[ok]
            members = members[~ok]
            if not members.size:
                break
    return pattern, length


def _matches(
    tables: DecoderTables, words: NDArray[np.uint32], at: NDArray[np.intp], candidate: int, count: int
) -> tuple[NDArray[np.bool_], NDArray[np.uint8]]:
    """Whether pattern `candidate` is what stands at the dwords `at`, and its length there."""
    ok = np.ones(at.size, bool)
    for word in range(4):
        ok &= (words[at + word] & tables.mask[word][candidate]) == tables.value[word][candidate]
    length = np.full(at.size, tables.base_length[candidate], np.uint8)
    if not ok.any():
        return ok, length
    entry = int(tables.entry_of_pattern[candidate])
    for runs, rejected in tables.rejected_codes(entry):
        ok &= ~np.isin(_field(words, at, runs), rejected)
    four = np.zeros(at.size, bool)
    eight = np.zeros(at.size, bool)
    for word in range(4):
        lanes = tables.lanes(word, words[at + word])
        four |= (lanes & tables.lit4[word][candidate]) != 0
        eight |= (lanes & tables.lit8[word][candidate]) != 0
    length += np.where(eight, 2, four).astype(np.uint8)
    for number, bits, lengths in tables.length_variants:
        if number == entry:
            length = lengths[_field(words, at, tuple((bit, 1) for bit in bits))]
            ok &= length > 0
    ok &= at + length <= count
    return ok, length


def _field(
    words: NDArray[np.uint32], at: NDArray[np.intp], runs: tuple[tuple[int, int], ...]
) -> NDArray[np.intp]:
    """The bits of a field, joined from its lowest run upwards, at the dwords `at`."""
    out = np.zeros(at.size, np.intp)
    below = 0
    for low, length in runs:
        bits = words[at + low // 32] >> np.uint32(low % 32) & np.uint32((1 << length) - 1)
        out |= bits.astype(np.intp) << below
        below += length
    return out


# ---------------------------------------------------------------- chain of starts
def chain(length: NDArray[np.uint8]) -> NDArray[np.intp]:
    """Ascending dword indices of the instruction starts, from dword 0 on."""
    count = length.size
    if count < 16 * COLUMN:
        return _walk(length.tobytes(), 0, count)
    step = np.append(length, np.ones(COLUMN, np.uint8))
    marked = np.zeros(count + COLUMN, bool)
    first = np.arange(0, count, COLUMN)
    end = np.minimum(first + COLUMN, count)
    # 1. every column on its own, from its first dword
    at = first.copy()
    while True:
        marked[at] = True
        following = at + step[at]
        inside = following < end
        if not inside.any():
            break
        at = np.where(inside, following, at)
    leaving = following
    # 2. stitch: where the stream really enters a column, up to where it meets the column's own
    entering = 0
    for column in range(first.size):
        low, high = int(first[column]), int(end[column])
        if entering >= high:
            marked[low:high] = False
            continue
        position = entering
        fresh = []
        while position < high and not marked[position]:
            fresh.append(position)
            position += int(step[position])
        marked[low:position] = False
        marked[fresh] = True
        entering = position if position >= high else int(leaving[column])
    return np.flatnonzero(marked[:count])


def _walk(length: bytes, at: int, end: int) -> NDArray[np.intp]:
    out = []
    while at < end:
        out.append(at)
        at += length[at]
    return np.array(out, np.intp)
