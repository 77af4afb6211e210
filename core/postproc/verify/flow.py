# SPDX-License-Identifier: Apache-2.0
"""Control flow before and after: every transfer arrives where the map sends it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from postproc.verify.record import Kept
from postproc.verify.text import TextMap

if TYPE_CHECKING:
    from postproc.codeobject import CodeObject
    from postproc.isa import Decoded, Isa

__all__ = ["check_flow"]

_WITH_TARGET = ("s_branch*", "s_cbranch_*", "s_call_*", "s_subvector_loop_*")


def check_flow(text: TextMap, original: CodeObject, isa: Isa) -> None:
    """Raise VerificationError for an entry or a branch that lands wrongly."""
    if not text.windows:
        return
    for entry in original.entries:
        if entry.section_index == text.section.index:
            _check_arrival(text, entry.offset, entry.offset, f"entry of {entry.name}")
    after = dict(_branches(text.new, isa))
    for offset, target in _branches(text.old, isa):
        moved = text.new_offset(offset)
        replaced = text.window_at(offset) is not None and not _kept(text, offset)
        if replaced or moved is None:
            continue
        if moved not in after:
            raise text.fail("a branch of the input is gone", offset)
        wanted = text.new_offset(target) if 0 <= target < len(text.old_code) else target
        if wanted is None:
            raise text.fail(
                "a branch goes to an instruction that was replaced", offset, f"0x{target:x}"
            )
        if after[moved] != wanted:
            why = f"it goes to 0x{after[moved]:x}, the map says 0x{wanted:x}"
            raise text.fail("a branch lands wrongly", offset, why)
    for offset, target in after.items():
        inside = 0 <= target < len(text.new_code)
        was_so = text.window_at(offset) is None and text.window_at(target) is None
        if inside and not was_so and not text.begins_in_output(target):
            raise text.fail("a branch goes into an instruction", offset, f"0x{target:x}")


def _kept(text: TextMap, offset: int) -> bool:
    window = text.window_at(offset)
    if window is None:
        return True
    return any(
        piece.start <= offset < piece.end for piece in window.pieces if isinstance(piece, Kept)
    )


def _check_arrival(text: TextMap, old: int, new: int, what: str) -> None:
    """Control that arrives at `new` must find what the map says of `old`."""
    if not 0 <= old < len(text.old_code):
        return
    if text.window_at(old) is None:
        return
    if text.new_offset(old) != new or not text.begins_in_output(new):
        raise text.fail(f"the {what} lies inside rewritten code", old)


def _branches(decoded: Decoded, isa: Isa) -> Iterator[tuple[int, int]]:
    """(offset, target) of every direct transfer."""
    for index in np.asarray(decoded.where(isa.match(*_WITH_TARGET))).tolist():
        instruction = decoded[index]
        if instruction.branch_offset is not None:
            yield instruction.offset, instruction.branch_offset
