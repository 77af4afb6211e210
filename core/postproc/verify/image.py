# SPDX-License-Identifier: Apache-2.0
"""Identity of all bytes outside the rewritten windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from postproc.errors import VerificationError

if TYPE_CHECKING:
    from postproc.codeobject import CodeObject
    from postproc.verify.record import Record

__all__ = ["check_image"]


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
