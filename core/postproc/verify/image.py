# SPDX-License-Identifier: Apache-2.0
"""Identity of all bytes outside the rewritten windows, which hold nothing but code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from postproc.codeobject.descriptor import DESCRIPTOR_SIZE
from postproc.errors import VerificationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from postproc.codeobject import CodeObject
    from postproc.verify.record import Record

__all__ = ["check_image"]

ELF_HEADER_SIZE, PROGRAM_HEADER_SIZE, SECTION_HEADER_SIZE = 64, 56, 64
"""Bytes (System V ABI, ELF-64)."""


def check_image(original: CodeObject, produced: CodeObject, record: Record) -> None:
    """Raise VerificationError at the first byte that differs outside all windows."""
    before = np.frombuffer(original.data, np.uint8)
    after = np.frombuffer(produced.data, np.uint8)
    if len(before) != len(after):
        why = f"it has {len(after)} bytes, the input {len(before)}"
        raise VerificationError("the size changed", file=original.name, why=why)
    sections = {section.index: section for section in original.executable_sections}
    spans = []
    for window in record.windows:
        section = sections.get(window.section)
        if section is None or not 0 <= window.start < window.end <= section.size:
            raise VerificationError(
                "a recorded window lies outside the code",
                file=original.name,
                offset=window.start,
                why=f"section {window.section}",
            )
        spans.append((section.offset + window.start, section.offset + window.end))
    _check_nothing_else(original, spans)
    cursor = 0
    for start, end in [*sorted(spans), (len(before), len(before))]:
        if start < cursor:
            raise VerificationError("two windows overlap", file=original.name, offset=start)
        differing = np.flatnonzero(before[cursor:start] != after[cursor:start])
        if len(differing):
            at = cursor + int(differing[0])
            raise VerificationError(
                "a byte outside every window changed",
                file=original.name,
                why=f"file offset 0x{at:x}: 0x{before[at]:02x} became 0x{after[at]:02x}",
            )
        cursor = end


def _check_nothing_else(original: CodeObject, spans: Sequence[tuple[int, int]]) -> None:
    """No byte of a window belongs to a header, a descriptor, a note or another section as well."""
    for start, end, what in _other_uses(original):
        for low, high in spans:
            if low < end and start < high:
                raise VerificationError(
                    "a window holds more than code",
                    file=original.name,
                    why=f"file offset 0x{max(low, start):x} belongs to {what}, too",
                )


def _other_uses(original: CodeObject) -> Iterator[tuple[int, int, str]]:
    """(first, end, what) of the bytes of the file that mean something besides code."""
    header = original.header
    yield 0, ELF_HEADER_SIZE, "the file header"
    at = header.program_header_offset
    yield at, at + header.program_header_count * PROGRAM_HEADER_SIZE, "the program headers"
    at = header.section_header_offset
    yield at, at + header.section_header_count * SECTION_HEADER_SIZE, "the section headers"
    for section in original.sections:
        if section.has_bytes and not section.is_executable:
            yield section.offset, section.offset + section.size, section.name
    for kernel in original.kernels:
        at = kernel.descriptor_offset
        yield at, at + DESCRIPTOR_SIZE, f"the descriptor of {kernel.name}"
    for note in original.metadata_notes:
        yield note.offset, note.offset + note.size, "the metadata"
