# SPDX-License-Identifier: Apache-2.0
"""Identity of all bytes outside the rewritten windows."""

from __future__ import annotations

from postproc.codeobject import CodeObject
from postproc.errors import VerificationError
from postproc.verify.record import Record

__all__ = ["check_image"]


def check_image(original: CodeObject, produced: CodeObject, record: Record) -> None:
    """Raise VerificationError at the first byte that differs outside all windows."""
    before, after = original.data, produced.data
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
    cursor = 0
    for start, end in [*sorted(spans), (len(before), len(before))]:
        if start < cursor:
            raise VerificationError("two windows overlap", file=original.name, offset=start)
        if before[cursor:start] != after[cursor:start]:
            at = cursor + _first_difference(before[cursor:start], after[cursor:start])
            raise VerificationError(
                "a byte outside every window changed",
                file=original.name,
                why=f"file offset 0x{at:x}: 0x{before[at]:02x} became 0x{after[at]:02x}",
            )
        cursor = end


def _first_difference(one: memoryview, other: memoryview) -> int:
    return next(i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)
