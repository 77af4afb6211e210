# SPDX-License-Identifier: Apache-2.0
"""Damaged and unusual code objects, made from real ones."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from postproc.codeobject import CodeObject

Patch = Callable[..., bytearray]

FIELDS = {
    "class": (4, "B"),
    "data": (5, "B"),
    "ident_version": (6, "B"),
    "os_abi": (7, "B"),
    "abi_version": (8, "B"),
    "type": (16, "H"),
    "machine": (18, "H"),
    "version": (20, "I"),
    "phoff": (32, "Q"),
    "shoff": (40, "Q"),
    "flags": (48, "I"),
    "phentsize": (54, "H"),
    "phnum": (56, "H"),
    "shentsize": (58, "H"),
    "shnum": (60, "H"),
    "shstrndx": (62, "H"),
}
"""Offsets and formats of the fields of the ELF file header."""

SECTION_FIELDS = {
    "name": (0, "I"),
    "type": (4, "I"),
    "flags": (8, "Q"),
    "address": (16, "Q"),
    "offset": (24, "Q"),
    "size": (32, "Q"),
    "link": (40, "I"),
    "info": (44, "I"),
    "entry_size": (56, "Q"),
}


@pytest.fixture(scope="session")
def sample(corpus: Path) -> bytes:
    """A linked gfx1250 object with three kernels."""
    return (corpus / "gfx1250" / "async1250_O3.co").read_bytes()


@pytest.fixture
def patched(sample: bytes) -> Patch:
    """`patched(shnum=0, ...)`: the sample with other values in its file header."""

    def patch(**values: int) -> bytearray:
        data = bytearray(sample)
        for name, value in values.items():
            offset, code = FIELDS[name]
            struct.pack_into("<" + code, data, offset, value)
        return data

    return patch


@pytest.fixture
def patch_section() -> Callable[..., None]:
    """`patch_section(data, ".dynsym", link=99)`: other values in a section header."""

    def patch(data: bytearray, section_name: str, **values: int) -> None:
        parsed = CodeObject.parse(bytes(data), "original")
        (section,) = [s for s in parsed.sections if s.name == section_name]
        start = parsed.header.section_header_offset + 64 * section.index
        for field, value in values.items():
            offset, code = SECTION_FIELDS[field]
            struct.pack_into("<" + code, data, start + offset, value)

    return patch
