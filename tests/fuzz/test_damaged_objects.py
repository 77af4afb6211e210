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

from postproc.config import load
from postproc.containers import open_container
from postproc.errors import PostprocError
from postproc.pipeline.files import Job, process_file
from postproc.pipeline.session import RunSettings, Session
from postproc.plugins import Selection
from postproc.report.inspect import inspect_document

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
HOTSWAP = CORPUS.parents[1] / "configs" / "hotswap.toml"
GFX1250, ANY = "gfx1250", ""
SMALL = 20_000
SPREAD = 7919
"""A prime: hypothesis likes small numbers, which would only ever damage the magic number."""
INTERESTING = (0, 1, 2, 4, 7, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, (1 << 64) - 1)


@cache
def paths() -> tuple[Path, ...]:
    """The small objects of the corpus."""
    found = (path for path in CORPUS.rglob("*") if path.suffix in (".co", ".o", ".hsaco"))
    return tuple(sorted(path for path in found if path.stat().st_size < SMALL))


@cache
def numbers(processor: str) -> tuple[int, ...]:
    """Which of these are for a processor."""
    return tuple(n for n, path in enumerate(paths()) if processor in (path.parent.name, ANY))


@cache
def originals() -> tuple[bytes, ...]:
    """The bytes of these objects."""
    return tuple(path.read_bytes() for path in paths())


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
def damaged(draw: st.DrawFn, processor: str = ANY) -> bytes:
    """A real object with bytes or words changed, and maybe cut or made longer."""
    number = draw(st.sampled_from(numbers(processor)))
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


@pytest.fixture(scope="module")
def session() -> Session:
    """A run with `hotswap`, configured as a user would."""
    config = load([HOTSWAP])
    return Session.open(RunSettings(config, Selection.of(config), dry_run=True))


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for inputs."""
    return tmp_path_factory.mktemp("damaged")


def rewrite(data: bytes, session: Session, folder: Path) -> None:
    """The whole run but for writing: it is done, the input is damaged, or an edit is refused."""
    path = folder / "damaged.co"
    path.write_bytes(data)
    result = process_file(Job(path, folder / "output.co"), session)
    assert result.report.exit_status in (0, 3, 4), result.trace


COMMON = {"suppress_health_check": list(HealthCheck), "deadline": None}


@settings(max_examples=500, **COMMON)  # type: ignore[arg-type]  # a dict of settings
@given(damaged())
def test_500_are_read(data: bytes) -> None:
    touch_everything(data)


@settings(max_examples=500, **COMMON)  # type: ignore[arg-type]  # a dict of settings
@given(data=damaged(GFX1250))
def test_500_are_rewritten(data: bytes, session: Session, scratch: Path) -> None:
    rewrite(data, session, scratch)


@pytest.mark.slow
@settings(max_examples=20_000, **COMMON)  # type: ignore[arg-type]  # a dict of settings
@given(damaged())
def test_20000_are_read(data: bytes) -> None:
    touch_everything(data)


@pytest.mark.slow
@settings(max_examples=20_000, **COMMON)  # type: ignore[arg-type]  # a dict of settings
@given(data=damaged(GFX1250))
def test_20000_are_rewritten(data: bytes, session: Session, scratch: Path) -> None:
    rewrite(data, session, scratch)


def flip_bits(seed: int, processor: str, *, structure: bool) -> bytes:
    """A real object with one to four bits flipped, anywhere or where structure stands."""
    chance = random.Random(seed)
    number = chance.choice(numbers(processor))
    data = bytearray(originals()[number])
    places = headers(number) if structure else range(len(data))
    for _ in range(chance.randint(1, 4)):
        data[chance.choice(places)] ^= 1 << chance.randrange(8)
    return bytes(data)


def test_500_with_flipped_bits_are_read() -> None:
    for seed in range(500):
        touch_everything(flip_bits(seed, ANY, structure=True))


def test_200_with_flipped_bits_are_rewritten(session: Session, scratch: Path) -> None:
    for seed in range(200):
        rewrite(flip_bits(seed, GFX1250, structure=seed % 2 == 0), session, scratch)


@pytest.mark.slow
@pytest.mark.parametrize("thousand", range(20))
def test_20000_with_flipped_bits(thousand: int, session: Session, scratch: Path) -> None:
    for seed in range(1000 * thousand, 1000 * thousand + 1000):
        touch_everything(flip_bits(seed, ANY, structure=True))
        rewrite(flip_bits(seed, GFX1250, structure=seed % 2 == 0), session, scratch)


@settings(max_examples=100, **COMMON)  # type: ignore[arg-type]  # a dict of settings
@given(st.binary(max_size=200), st.booleans())
def test_arbitrary_bytes(data: bytes, with_magic: bool) -> None:
    start = b"\x7fELF\x02\x01\x01@\x03" + bytes(7) + b"\x03\0\xe0\0" if with_magic else b""
    touch_everything(start + data)
