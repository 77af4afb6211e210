# SPDX-License-Identifier: Apache-2.0
"""Whatever bytes come in, nothing but an error of postproc comes out."""

from __future__ import annotations

import random
import struct
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postproc.containers import open_container
from postproc.errors import PostprocError
from postproc.report.inspect import inspect_document

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
SMALL = 20_000
SPREAD = 7919
"""A prime: hypothesis likes small numbers, which would only ever damage the magic number."""
INTERESTING = (0, 1, 2, 4, 7, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, (1 << 64) - 1)


@cache
def originals() -> tuple[bytes, ...]:
    """Small objects of the corpus, of all kinds."""
    paths = sorted(p for p in CORPUS.rglob("*") if p.suffix in (".co", ".o", ".hsaco"))
    return tuple(data for p in paths if len(data := p.read_bytes()) < SMALL)


@cache
def headers(number: int) -> tuple[int, ...]:
    """Offsets in one object where structure stands rather than code: the best places to damage."""
    data = originals()[number]
    phoff, shoff = struct.unpack_from("<QQ", data, 32)
    phnum, shnum = struct.unpack_from("<H", data, 56)[0], struct.unpack_from("<H", data, 60)[0]
    spans = [(0, 64), (phoff, phoff + 56 * phnum), (shoff, shoff + 64 * shnum)]
    for index in range(shnum):
        kind, offset, size = (
            struct.unpack_from(code, data, shoff + 64 * index + at)[0]
            for code, at in (("<I", 4), ("<Q", 24), ("<Q", 32))
        )
        if kind in (2, 3, 4, 5, 6, 7, 11, 18):
            spans.append((offset, offset + size))
    return tuple(byte for start, end in spans for byte in range(start, end))


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A real object with bytes or words changed, and maybe cut or repeated."""
    number = draw(st.integers(0, len(originals()) - 1))
    data = bytearray(originals()[number])
    places = headers(number)
    for _ in range(draw(st.integers(1, 8))):
        rank = draw(st.integers(0, len(data) - 1)) * SPREAD
        at = places[rank % len(places)] if draw(st.booleans()) else rank % len(data)
        size = draw(st.sampled_from((1, 1, 2, 4, 8)))
        value = draw(st.one_of(st.sampled_from(INTERESTING), st.integers(0, (1 << 64) - 1)))
        word = value.to_bytes(8, "little")[: min(size, len(data) - at)]
        data[at : at + len(word)] = word
    ending = draw(st.sampled_from(("whole", "whole", "whole", "cut", "long")))
    if ending == "cut":
        return bytes(data[: draw(st.integers(0, len(data)))])
    return bytes(data) + (bytes(draw(st.integers(1, 64))) if ending == "long" else b"")


def touch_everything(data: bytes) -> None:
    """Read all that the model says; only parsing may fail, and only in one way."""
    try:
        container = open_container(data, "damaged.co")
    except PostprocError as error:
        str(error)
        return
    (code_object,) = container.code_objects
    for section in code_object.sections:
        code_object.code(section)
    assert all(function.name is not None for function in code_object.functions)
    for entry in code_object.entries:
        assert entry.offset >= 0
    assert code_object.wavefront_sizes
    for kernel in code_object.kernels:
        assert code_object.address_of(kernel.position) == kernel.entry_address
        assert len(kernel.descriptor.to_bytes()) == 64
    inspect_document(container)


COMMON = {"suppress_health_check": list(HealthCheck), "deadline": None}


@settings(max_examples=500, **COMMON)  # type: ignore[arg-type]  # a dict of settings
@given(damaged())
def test_500_damaged_objects(data: bytes) -> None:
    touch_everything(data)


@pytest.mark.slow
@settings(max_examples=20_000, **COMMON)  # type: ignore[arg-type]  # a dict of settings
@given(damaged())
def test_20000_damaged_objects(data: bytes) -> None:
    touch_everything(data)


def flip_bits(seed: int) -> bytes:
    """A real object with one to four bits flipped where structure stands."""
    chance = random.Random(seed)
    number = chance.randrange(len(originals()))
    data = bytearray(originals()[number])
    for _ in range(chance.randint(1, 4)):
        data[chance.choice(headers(number))] ^= 1 << chance.randrange(8)
    return bytes(data)


def test_500_objects_with_flipped_bits() -> None:
    for seed in range(500):
        touch_everything(flip_bits(seed))


@pytest.mark.slow
@pytest.mark.parametrize("thousand", range(20))
def test_20000_objects_with_flipped_bits(thousand: int) -> None:
    for seed in range(1000 * thousand, 1000 * thousand + 1000):
        touch_everything(flip_bits(seed))


@settings(max_examples=100, **COMMON)  # type: ignore[arg-type]  # a dict of settings
@given(st.binary(max_size=200), st.booleans())
def test_arbitrary_bytes(data: bytes, with_magic: bool) -> None:
    start = b"\x7fELF\x02\x01\x01@\x03" + bytes(7) + b"\x03\0\xe0\0" if with_magic else b""
    touch_everything(start + data)
