# SPDX-License-Identifier: Apache-2.0
"""Control flow before and after: every transfer arrives where the map sends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from postproc.verify.record import Kept, WindowRecord
from postproc.verify.text import TextMap

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from postproc.codeobject import CodeObject, TextPosition
    from postproc.isa import Decoded, Isa

__all__ = ["check_flow", "transfers_between_sections"]

_WITH_TARGET = ("s_branch*", "s_cbranch_*", "s_call_*", "s_subvector_loop_*")
"""Direct transfers; all are SOPP or SOPK, with the distance in the low half of their one dword."""


def check_flow(
    text: TextMap, original: CodeObject, isa: Isa, strays: Sequence[tuple[str, TextPosition]] = ()
) -> None:
    """Raise VerificationError for an entry or a branch that lands wrongly.

    `strays` are what `transfers_between_sections` finds in the whole object.

    Only transfers that lie in a window or lead into one are looked at one by one: all others have
    the bytes, the place and the target that they had.
    """
    for entry in original.entries:
        if entry.section_index == text.section.index:
            _check_entry(text, entry.offset, entry.name)
    old_offsets, old_targets = _branches(text.old, text.old_code, isa)
    new_offsets, new_targets = _branches(text.new, text.new_code, isa)
    after = dict(zip(new_offsets.tolist(), new_targets.tolist(), strict=True))
    concerned = text.in_windows(old_offsets) | text.in_windows(old_targets)
    for offset, target in zip(
        old_offsets[concerned].tolist(), old_targets[concerned].tolist(), strict=True
    ):
        _check_branch(text, offset, target, after)
    for place, target in strays:
        inside = target.section == text.section.index and text.window_at(target.offset) is not None
        if inside and text.new_offset(target.offset) != target.offset:
            raise text.fail(f"a branch in {place} goes to rewritten code", target.offset)
    concerned = text.in_windows(new_offsets) | text.in_windows(new_targets)
    for offset, target in zip(
        new_offsets[concerned].tolist(), new_targets[concerned].tolist(), strict=True
    ):
        if 0 <= target < len(text.new_code) and not text.begins_in_output(target):
            raise text.fail("a branch goes into an instruction", offset, f"0x{target:x}")


def transfers_between_sections(original: CodeObject, isa: Isa) -> list[tuple[str, TextPosition]]:
    """(section, target in another one) of the direct transfers that leave their section."""
    found = []
    sections = original.executable_sections
    for section in sections if len(sections) > 1 else ():
        code = original.code(section)
        decoded = isa.decode(code, original.symbol_offsets(section))
        targets = _branches(decoded, code, isa)[1]
        for target in targets[(targets < 0) | (targets >= section.size)].tolist():
            position = original.position_of(section.address + target)
            if position is not None:
                found.append((section.name, position))
    return found


def _check_entry(text: TextMap, offset: int, name: str) -> None:
    """Entries have not moved: control that arrives there must find what the map says."""
    if text.window_at(offset) is None:
        return
    if text.new_offset(offset) != offset or not text.begins_in_output(offset):
        raise text.fail(f"the entry of {name} lies inside rewritten code", offset)


def _check_branch(text: TextMap, offset: int, target: int, after: dict[int, int]) -> None:
    """A branch of the input, unless an edit replaced it, goes where its target went."""
    window = text.window_at(offset)
    if window is not None and not _keeps(window, offset):
        return
    moved = text.new_offset(offset)
    if moved is None or moved not in after:
        raise text.fail("a branch of the input is gone", offset)
    wanted = text.new_offset(target)
    if wanted is None:
        raise text.fail(
            "a branch goes to an instruction that was replaced", offset, f"0x{target:x}"
        )
    if after[moved] != wanted:
        why = f"it goes to 0x{after[moved]:x}, the map says 0x{wanted:x}"
        raise text.fail("a branch lands wrongly", offset, why)


def _keeps(window: WindowRecord, offset: int) -> bool:
    return any(p.start <= offset < p.end for p in window.pieces if isinstance(p, Kept))


def _branches(
    decoded: Decoded, code: memoryview, isa: Isa
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Offsets and targets (int64, bytes from the start of the section) of all direct transfers."""
    rows = decoded.where(isa.match(*_WITH_TARGET))
    offsets = decoded.offset[rows].astype(np.int64)
    words = np.frombuffer(code, "<u4", len(code) // 4)[offsets // 4]
    distances = (words & 0xFFFF).astype(np.uint16).view(np.int16).astype(np.int64)
    return offsets, offsets + 4 + 4 * distances
