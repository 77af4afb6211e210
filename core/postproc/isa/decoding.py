# SPDX-License-Identifier: Apache-2.0
"""From bytes to arrays: which instruction starts where, for a whole section at once.

Let `w` be the little-endian dwords of a section.  `identify` gives, for some dwords, the pattern
whose encoding matches there and its length.  Instruction starts are the least set that holds 0
and, with a start `i`, also `i + length(i)`.

1. `estimate` the length of every dword from a few table look-ups.  It is right for nearly all.
2. `chain`: find the starts, by walking many equal columns of the section in lockstep, each from
   its own first dword.  Streams of different starts meet within a few instructions, so stitching
   the columns together costs little.
3. `identify` the starts exactly.  Where that gives another length than step 1, the stretch
   behind it is identified too and the chain is walked again, until nothing changes: the result
   does not depend on the estimate.

An undecodable word is one `UNKNOWN` of one dword, and decoding resumes behind it, as
llvm-objdump does.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from postproc.isa.tables import DecoderTables

    NameFunction = Callable[
        [DecoderTables, NDArray[np.uint32], NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]],
        NDArray[np.intp],
    ]

UNKNOWN = 0xFFFF
"""Entry number of a dword that is no instruction."""

CHUNK = 1 << 15
"""Items handled at once; the temporaries of a chunk stay in the second-level cache."""

THREADED = 1 << 19
"""From this many items on, chunks are shared among threads."""

MOST_THREADS = 8

LONGEST = 8
"""No instruction has more dwords than this."""

COLUMN = 256
"""Dwords that one lockstep walker covers."""

WINDOW = 64
"""Dwords identified behind a place where the estimated length was wrong."""


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


def decode_words(
    tables: DecoderTables,
    words: NDArray[np.uint32],
    count: int,
    restarts: Sequence[int] | NDArray[np.intp] = (),
) -> Starts:
    """Decode `count` dwords of `words` (padded by at least 8 dwords).

    `restarts` are dword indices where an instruction must start (symbols); what would run over
    one, or over the end, is no instruction.
    """
    ends = np.append(np.asarray(restarts, np.intp), count)
    length = estimate(tables, words, count)
    _stop_at(ends, length)
    starts = chain(length)
    pattern, exact = identify(tables, words, starts, ends)
    if not np.array_equal(exact, length.take(starts)):
        starts, pattern, exact = _settle(tables, words, ends, length, (starts, pattern, exact))
    return Starts(starts.astype(np.uint32), tables.entry_of_pattern.take(pattern), exact)


def _stop_at(ends: NDArray[np.intp], length: NDArray[np.uint8]) -> None:
    """Shorten what would run over one of the `ends` (ascending), so that all chains meet there."""
    for distance in range(1, LONGEST):
        before = ends - distance
        before = before[before >= 0]
        length[before] = np.minimum(length[before], distance)


Identified = tuple["NDArray[np.intp]", "NDArray[np.int16]", "NDArray[np.uint8]"]
"""Dword indices, patterns and lengths."""


def _settle(
    tables: DecoderTables,
    words: NDArray[np.uint32],
    ends: NDArray[np.intp],
    length: NDArray[np.uint8],
    first: Identified,
) -> Identified:
    """Replace estimates by exact lengths until the chain of starts no longer changes."""
    count = length.size
    pattern = np.full(count, -1, np.int16)
    known = np.zeros(count, bool)
    at, found, exact = first
    while True:
        wrong = at[exact != length.take(at)]
        pattern[at] = found
        length[at] = exact
        known[at] = True
        behind = np.zeros(count + WINDOW, bool)
        for distance in range(1, WINDOW):
            behind[wrong + distance] = True
        nearby = np.flatnonzero(behind[:count] & ~known)
        pattern[nearby], length[nearby] = identify(tables, words, nearby, ends)
        known[nearby] = True
        starts = chain(length)
        at = starts[~known[starts]]
        if not at.size:
            return starts, pattern.take(starts), length.take(starts)
        found, exact = identify(tables, words, at, ends)


# ---------------------------------------------------------------- estimate
def estimate(tables: DecoderTables, words: NDArray[np.uint32], count: int) -> NDArray[np.uint8]:
    """Length in dwords of an instruction that starts at each dword, rarely wrong."""
    length = np.empty(count, np.uint8)

    def chunk(low: int) -> None:
        high = min(low + CHUNK, count)
        low_half, high_half = _halves(words[low : high + 1])
        of_low = tables.estimate_low.take(low_half)
        of_high = tables.estimate_high.take(high_half)
        kind = of_high[:-1] & np.uint16(0xFF)
        part = tables.estimate_length.take((kind << np.uint16(8)) | (of_low[:-1] & np.uint16(0xFF)))
        # flags of the next dword; those of a field that straddles its halves need both
        follow = (of_low[1:] | of_high[1:]) >> np.uint16(8)
        both = (of_low[1:] & of_high[1:]) >> np.uint16(8)
        follow = (follow & np.uint16(0x7F)) | (both & np.uint16(0x80))
        follow &= tables.estimate_follow.take(kind)
        # a literal of the first dword is the literal of all sources
        length[low:high] = (part & np.uint8(0x7F)) + ((follow != 0) & (part < 0x80))

    _each_chunk(chunk, count)
    return length


def _each_chunk(work: Callable[[int], None], count: int) -> None:
    """Call `work` with the start of each chunk; on both cores where there is enough to do, since
    numpy holds no lock while it computes."""
    starts = range(0, count, CHUNK)
    if count < THREADED:
        for low in starts:
            work(low)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(os.cpu_count() or 1, MOST_THREADS)) as pool:
        for _ in pool.map(work, starts):
            pass


def _halves(words: NDArray[np.uint32]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    return (words & np.uint32(0xFFFF)).astype(np.intp), (words >> np.uint32(16)).astype(np.intp)


# ---------------------------------------------------------------- identification
def identify(
    tables: DecoderTables,
    words: NDArray[np.uint32],
    at: NDArray[np.intp],
    ends: NDArray[np.intp],
) -> tuple[NDArray[np.int16], NDArray[np.uint8]]:
    """Pattern (-1: no instruction) and length in dwords of what starts at the dwords `at`.

    Both `at` and `ends`, over which no instruction runs, are ascending.
    """
    pattern = np.empty(at.size, np.int16)
    length = np.empty(at.size, np.uint8)

    def chunk(low: int) -> None:
        part = slice(low, low + CHUNK)
        pattern[part], length[part] = _identify_chunk(tables, _guess, words, at[part])

    _each_chunk(chunk, at.size)
    doubtful = np.flatnonzero(pattern < 0)
    for low in range(0, doubtful.size, CHUNK):
        part = doubtful[low : low + CHUNK]
        pattern[part], length[part] = _identify_chunk(tables, _descend, words, at[part])
    # only the last instruction before an end can run over it
    last = np.searchsorted(at, ends) - 1
    before, end = last[last >= 0], ends[last >= 0]
    pattern[before[at[before] + length[before] > end]] = -1
    doubtful = np.flatnonzero(pattern < 0)
    if doubtful.size:
        pattern[doubtful], length[doubtful] = _decide(tables, words, at[doubtful], ends)
    return pattern, length


def _guess(
    tables: DecoderTables,
    words: NDArray[np.uint32],
    at: NDArray[np.intp],
    low0: NDArray[np.intp],
    high0: NDArray[np.intp],
) -> NDArray[np.intp]:
    row = tables.guess.take(tables.slot.take(high0), axis=0)
    value = (low0 >> row[:, 0]) & row[:, 1]
    return tables.guess_children.take(value + row[:, 2]).astype(np.intp)


def _descend(
    tables: DecoderTables,
    words: NDArray[np.uint32],
    at: NDArray[np.intp],
    low0: NDArray[np.intp],
    high0: NDArray[np.intp],
) -> NDArray[np.intp]:
    tree = tables.tree
    pattern = tree.root.take(high0).astype(np.intp)
    active = np.flatnonzero(pattern < -1)
    while active.size:
        node = -2 - pattern.take(active)
        word = words.take(at.take(active) + tree.word.take(node))
        value = (word >> tree.shift.take(node)) & tree.mask.take(node)
        found = tree.children.take(value + tree.base.take(node))
        pattern[active] = found
        active = active[found < -1]
    return pattern


def _identify_chunk(
    tables: DecoderTables, name: NameFunction, words: NDArray[np.uint32], at: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.uint8]]:
    """As `identify`, but -1 also stands for what `name` cannot tell."""
    w0 = words.take(at)
    w1 = words.take(at + 1)
    low0, high0 = _halves(w0)
    pattern = name(tables, words, at, low0, high0)
    # one row a pattern: mask and value of two dwords, odd lanes of dword 1, and the rest
    row = tables.confirm.take(pattern, axis=0)
    rest = row[:, 3]
    both = w0 | w1.astype(np.uint64) << np.uint64(32)
    differs = (both & row[:, 0]) != row[:, 1]
    low1, high1 = _halves(w1)
    near = tables.lane_low0.take(low0) | tables.lane_high0.take(high0)
    far = tables.lane_low1.take(low1) | tables.lane_high1.take(high1)
    far |= tables.lane_mid1.take(((w1 >> np.uint32(9)) & np.uint32(0x1FF)).astype(np.intp))
    length = (rest & np.uint64(0xFF)).astype(np.uint8)
    odd = np.flatnonzero(((far & row[:, 2]) | (near & (rest >> np.uint64(32)))) != 0)
    if odd.size:
        found, near, far = pattern.take(odd), near.take(odd), far.take(odd)
        four = ((near & tables.lit4_near.take(found)) | (far & tables.lit4_far.take(found))) != 0
        eight = ((near & tables.lit8_near.take(found)) | (far & tables.lit8_far.take(found))) != 0
        length[odd] += np.where(eight, np.uint8(2), four.astype(np.uint8))
        bad = ((near & tables.bad_near.take(found)) | (far & tables.bad_far.take(found))) != 0
        pair = [
            ((near & masks[0].take(found)) != 0) | ((far & masks[1].take(found)) != 0)
            for masks in (tables.pair_a, tables.pair_b)
        ]
        differs[odd] |= bad | (pair[0] & pair[1])
    long = np.flatnonzero((rest & np.uint64(0x100)) != 0)
    if long.size:
        _check_long(tables, words, at.take(long), pattern.take(long), differs, length, long)
    wrong = np.flatnonzero(differs)
    pattern[wrong] = -1
    length[wrong] = 1
    return pattern, length


def _check_long(
    tables: DecoderTables,
    words: NDArray[np.uint32],
    at: NDArray[np.intp],
    pattern: NDArray[np.intp],
    differs: NDArray[np.bool_],
    length: NDArray[np.uint8],
    into: NDArray[np.intp],
) -> None:
    """What `_identify_chunk` leaves out for entries that look at the third dword or later, or
    whose length depends on more than literals; `differs` and `length` are updated at `into`."""
    wrong = np.zeros(at.size, bool)
    four = np.zeros(at.size, bool)
    for word in (2, 3):
        data = words.take(at + word)
        wrong |= (data & tables.mask[word].take(pattern)) != tables.value[word].take(pattern)
        lanes = tables.lanes(word, data)
        wrong |= (lanes & tables.bad[word].take(pattern)) != 0
        four |= (lanes & tables.lit4[word].take(pattern)) != 0
    differs[into] |= wrong
    length[into] += four
    entry = tables.entry_of_pattern.take(pattern)
    for number, bits, lengths in tables.length_variants:
        hit = np.flatnonzero(entry == number)
        if hit.size:
            length[into[hit]] = lengths[_field(words, at[hit], tuple((bit, 1) for bit in bits))]


# ---------------------------------------------------------------- exact decision
def _decide(
    tables: DecoderTables,
    words: NDArray[np.uint32],
    at: NDArray[np.intp],
    ends: NDArray[np.intp],
) -> tuple[NDArray[np.int16], NDArray[np.uint8]]:
    """Pattern (-1: unknown) and length of the dwords `at`: the first candidate that fits."""
    pattern = np.full(at.size, -1, np.int16)
    length = np.ones(at.size, np.uint8)
    member, candidate = _candidates(tables, words, at)
    end = ends[np.searchsorted(ends, at, side="right")]
    fits = np.zeros(member.size, bool)
    size = np.zeros(member.size, np.uint8)
    for one in np.unique(candidate):
        mine = np.flatnonzero(candidate == one)
        fits[mine], size[mine] = _fits(tables, words, at[member[mine]], int(one))
    fits &= at[member] + size <= end[member]
    # candidates of a member stand in order of precedence: the first of them wins
    member, candidate, size = member[fits], candidate[fits], size[fits]
    won, first = np.unique(member, return_index=True)
    pattern[won], length[won] = candidate[first], size[first]
    return pattern, length


def _candidates(
    tables: DecoderTables, words: NDArray[np.uint32], at: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs of an item of `at` and a pattern whose mask and value agree with the words there."""
    slot = tables.slot.take(words.take(at) >> np.uint32(16))
    start = tables.candidate_start[slot].astype(np.intp)
    count = tables.candidate_start[slot + np.uint16(1)].astype(np.intp) - start
    member = np.repeat(np.arange(at.size), count)
    place = np.arange(member.size) - np.repeat(np.cumsum(count) - count, count)
    candidate = tables.candidates[start[member] + place].astype(np.intp)
    for word in range(4):
        data = words.take(at[member] + word)
        agree = (data & tables.mask[word].take(candidate)) == tables.value[word].take(candidate)
        member, candidate = member[agree], candidate[agree]
    return member, candidate


def _fits(
    tables: DecoderTables, words: NDArray[np.uint32], at: NDArray[np.intp], candidate: int
) -> tuple[NDArray[np.bool_], NDArray[np.uint8]]:
    """Whether the operand codes at the dwords `at` are those of pattern `candidate`, and the
    length there."""
    ok = np.ones(at.size, bool)
    length = np.full(at.size, tables.base_length[candidate], np.uint8)
    entry = int(tables.entry_of_pattern[candidate])
    for runs, rejected in tables.rejected_codes(entry):
        ok &= ~np.isin(_field(words, at, runs), rejected)
    four = np.zeros(at.size, bool)
    eight = np.zeros(at.size, bool)
    for word in range(4):
        if tables.lit4[word][candidate] or tables.lit8[word][candidate]:
            lanes = tables.lanes(word, words.take(at + word))
            four |= (lanes & tables.lit4[word][candidate]) != 0
            eight |= (lanes & tables.lit8[word][candidate]) != 0
    length += np.where(eight, 2, four).astype(np.uint8)
    for number, bits, lengths in tables.length_variants:
        if number == entry:
            length = lengths[_field(words, at, tuple((bit, 1) for bit in bits))]
            ok &= length > 0
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
    columns = -(-count // COLUMN)
    step = np.ones(columns * COLUMN + 1, np.uint8)
    step[:count] = length
    marked = np.zeros(columns * COLUMN + 1, bool)
    first = np.arange(columns) * COLUMN
    end = first + COLUMN
    # every column on its own, from its first dword; a walker that has left its column waits
    at = first.copy()
    leaving = first.copy()
    walker = np.arange(columns)
    while walker.size:
        marked[at] = True
        at = at + step.take(at)
        inside = at < end
        if not inside.all():
            out = ~inside
            leaving[walker[out]] = at[out]
            walker, at, end = walker[inside], at[inside], end[inside]
    _stitch(step, marked, leaving)
    return np.flatnonzero(marked[:count])


def _stitch(step: NDArray[np.uint8], marked: NDArray[np.bool_], leaving: NDArray[np.intp]) -> None:
    """Make the columns one stream: drop what a column marked before the stream enters it, and
    walk from there to the first mark that the column has made itself."""
    columns = leaving.size
    first = np.arange(columns) * COLUMN
    entering = np.concatenate([[0], leaving[:-1]])
    met = marked.take(np.minimum(entering, columns * COLUMN)) & (entering < first + COLUMN)
    for ahead in range(int((entering - first).max())):
        early = first[met & (first + ahead < entering)] + ahead
        marked[early] = False
    for column in np.flatnonzero(~met).tolist():
        _enter(step, marked, leaving, column)


def _enter(
    step: NDArray[np.uint8], marked: NDArray[np.bool_], leaving: NDArray[np.intp], column: int
) -> None:
    """Stitch `column` to the one before it, and those behind it while their entry changes."""
    while column < leaving.size:
        low, high = column * COLUMN, (column + 1) * COLUMN
        at = int(leaving[column - 1])
        fresh = []
        while at < high and not marked[at]:
            fresh.append(at)
            at += int(step[at])
        marked[low : min(at, high)] = False
        marked[fresh] = True
        if at < high:
            return
        leaving[column] = at
        column += 1


def _walk(length: bytes, at: int, end: int) -> NDArray[np.intp]:
    out = []
    while at < end:
        out.append(at)
        at += length[at]
    return np.array(out, np.intp)
