# SPDX-License-Identifier: Apache-2.0
"""The vectorised decoder against the definition it implements, read word by word."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postproc.isa import Isa, load
from postproc.isa.decoding import COLUMN, LONGEST, UNKNOWN, chain, padded_words
from postproc.isa.model import CodedField, Entry, LiteralCode
from postproc.isa.operands import field_bits

PROCESSORS = ("gfx942", "gfx1100", "gfx1250")


def reference_match(isa: Isa, entry: Entry, value: int) -> int | None:
    """Size in bytes if the bits of `value` are an encoding of `entry`."""
    if not any(value & mask == bits for mask, bits in entry.patterns):
        return None
    size, literal = entry.base_size, 0
    for spec in entry.operands:
        if isinstance(spec.source, CodedField):
            codes = isa.operand_decoder._classes(spec.source.class_id)
            code = codes[field_bits(spec.source.runs, value)]
            if code is None:
                return None
            if isinstance(code, LiteralCode) and spec.tied is None:
                literal = max(literal, code.extra_bytes)
    return size + literal


def reference_decode(isa: Isa, code: bytes) -> list[tuple[int, int, int]]:
    """(offset, size, entry) by trying every entry, in the order of precedence, at each place."""
    by_half: dict[int, list[Entry]] = {}
    out, at = [], 0
    while at + 4 <= len(code):
        value = int.from_bytes(code[at : at + 24].ljust(24, b"\0"), "little")
        half = value >> 16 & 0xFFFF
        if half not in by_half:
            entries = (isa.entry(i) for i in range(isa.entries))
            by_half[half] = [
                e
                for e in entries
                if any((half << 16 ^ bits) & mask & 0xFFFF0000 == 0 for mask, bits in e.patterns)
            ]
        found = (4, UNKNOWN)
        for entry in by_half[half]:
            size = reference_match(isa, entry, value)
            if size is not None and at + size <= len(code):
                found = (size, entry.index)
                break
        out.append((at, *found))
        at += found[0]
    return out


def arrays(isa: Isa, code: bytes) -> list[tuple[int, int, int]]:
    text = isa.decode(code)
    return list(zip(text.offset.tolist(), text.size.tolist(), text.opcode.tolist(), strict=True))


@pytest.mark.parametrize("processor", PROCESSORS)
def test_random_words_decode_as_defined(processor: str) -> None:
    """Uniform words, and words whose upper half is that of a real encoding."""
    isa = load(processor)
    random = np.random.default_rng(7)
    words = random.integers(0, 1 << 32, 800, dtype=np.uint32)
    chosen = random.integers(0, isa.entries, 400)
    for place, number in zip(range(0, 800, 2), chosen.tolist(), strict=True):
        mask, bits = isa.entry(number).patterns[0]
        for word in range(min(2, isa.entry(number).base_size // 4)):
            fixed, value = mask >> 32 * word & 0xFFFFFFFF, bits >> 32 * word & 0xFFFFFFFF
            words[place + word] = int(words[place + word]) & ~fixed & 0xFFFFFFFF | value
    code = words.tobytes()
    assert arrays(isa, code) == reference_decode(isa, code)


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(1, LONGEST), min_size=1, max_size=40),
    repeat=st.integers(1, 40 * COLUMN // 8),
)
def test_chain_equals_a_walk(lengths: list[int], repeat: int) -> None:
    length = np.array((lengths * repeat)[: 40 * COLUMN], np.uint8)
    expected, at = [], 0
    while at < length.size:
        expected.append(at)
        at += int(length[at])
    assert chain(length).tolist() == expected


def test_chain_of_columns_that_never_meet() -> None:
    """Lengths of two keep the streams of even and odd dwords apart for ever."""
    length = np.full(20 * COLUMN + 1, 2, np.uint8)
    length[0] = 1
    assert chain(length).tolist() == [0, *range(1, length.size, 2)]


def test_restart_cuts_what_would_run_over_it() -> None:
    isa = load("gfx1250")
    code = isa.assemble("v_add_f32 v0, 0x12345678, v1") + isa.assemble("s_nop 0")
    whole = isa.decode(code)
    assert whole.offset.tolist() == [0, 8]
    cut = isa.decode(code, restarts=[4])
    assert cut.offset.tolist()[:2] == [0, 4]
    assert cut[0].is_unknown


def test_truncated_instruction_is_unknown() -> None:
    isa = load("gfx942")
    code = isa.assemble("s_mov_b32 s0, 0x12345678")
    text = isa.decode(code[:4])
    assert text.opcode.tolist() == [UNKNOWN]
    text = isa.decode(code[:6])
    assert text.size.tolist() == [4, 2]
    assert text.opcode.tolist() == [UNKNOWN, UNKNOWN]


def test_empty_text() -> None:
    assert len(load("gfx942").decode(b"")) == 0


def test_padding_does_not_leak_into_the_text() -> None:
    assert padded_words(b"\1\0\0\0").tolist()[:1] == [1]
    assert padded_words(b"\1\0\0\0").size >= 1 + LONGEST
