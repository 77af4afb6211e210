# SPDX-License-Identifier: Apache-2.0
"""Instructions before and after: all there, in their places, and nothing unaccounted for."""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from postproc.errors import AssemblyError, VerificationError
from postproc.verify.record import Kept, NewBytes, NewText, Record, WindowRecord

if TYPE_CHECKING:
    import numpy.typing as npt

    from postproc.codeobject import CodeObject, Section
    from postproc.isa import Decoded, Isa

__all__ = ["TextMap", "check_text"]


@final
@dataclass(frozen=True)
class TextMap:
    """One section before and after, decoded anew, with its windows sorted by start."""

    name: str
    section: Section
    old_code: memoryview
    new_code: memoryview
    old: Decoded
    new: Decoded
    windows: tuple[WindowRecord, ...]

    @classmethod
    def of(
        cls, section: Section, original: CodeObject, produced: CodeObject, record: Record, isa: Isa
    ) -> TextMap:
        """Decode `section` of both objects."""
        match = [s for s in produced.executable_sections if s.index == section.index]
        if len(match) != 1:
            raise VerificationError(
                f"section {section.name} is gone from the produced object", file=original.name
            )
        old_code, new_code = original.code(section), produced.code(match[0])
        windows = [w for w in record.windows if w.section == section.index]
        return cls(
            original.name,
            section,
            old_code,
            new_code,
            isa.decode(old_code, original.symbol_offsets(section)),
            isa.decode(new_code, produced.symbol_offsets(match[0])),
            tuple(sorted(windows, key=lambda w: w.start)),
        )

    def window_at(self, offset: int) -> WindowRecord | None:
        """The window that holds `offset` of the input."""
        rank = bisect.bisect_right(self.windows, offset, key=lambda w: w.start) - 1
        if rank >= 0 and offset < self.windows[rank].end:
            return self.windows[rank]
        return None

    def in_windows(self, offsets: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """For every offset of the input, whether a window holds it."""
        if not self.windows:
            return np.zeros(len(offsets), bool)
        begin = np.array([w.start for w in self.windows], np.int64)
        end = np.array([w.end for w in self.windows], np.int64)
        rank = np.searchsorted(begin, offsets, side="right") - 1
        inside: npt.NDArray[np.bool_] = (rank >= 0) & (offsets < end[np.maximum(rank, 0)])
        return inside

    def new_offset(self, offset: int) -> int | None:
        """Where the instruction at `offset` of the input went; None if it was replaced.

        The first instruction of a window leads to the window's new code even when it was replaced:
        who arrives there runs what stands in its place.
        """
        window = self.window_at(offset)
        if window is None:
            return offset
        if offset == window.start:
            return window.new_start
        for piece in window.pieces:
            if isinstance(piece, Kept) and piece.start <= offset < piece.end:
                return piece.new_start + offset - piece.start
        return None

    def begins_in_output(self, offset: int) -> bool:
        """Whether an instruction of the output begins at `offset`."""
        return _is_start(self.new.offset, offset)

    def fail(self, what: str, offset: int, why: str = "") -> VerificationError:
        """The error for something wrong at `offset` of this section."""
        place = f"section {self.section.name}"
        return VerificationError(
            what, file=self.name, offset=offset, why=f"{place}: {why}" if why else place
        )


def _is_start(starts: npt.NDArray[Any], offset: int) -> bool:
    rank = int(np.searchsorted(starts, offset))
    return rank < len(starts) and int(starts[rank]) == offset


def check_text(text: TextMap, isa: Isa) -> None:
    """Raise VerificationError for a lost, a changed or an unexplained instruction."""
    outside_old = ~text.in_windows(text.old.offset)
    outside_new = ~text.in_windows(text.new.offset)
    if not np.array_equal(text.old.offset[outside_old], text.new.offset[outside_new]):
        raise text.fail("instruction boundaries moved", _first_unequal(text))
    for window in text.windows:
        _check_window(text, window, isa)


def _first_unequal(text: TextMap) -> int:
    old = text.old.offset[~text.in_windows(text.old.offset)]
    new = text.new.offset[~text.in_windows(text.new.offset)]
    return int(np.setxor1d(old, new)[0])


def _check_window(text: TextMap, window: WindowRecord, isa: Isa) -> None:
    place = (text.section.index, window.start, window.end)
    if (window.new_section, window.new_start, window.new_end) != place:
        raise text.fail("a window's code lies elsewhere, which no placement does", window.start)
    for edge in (window.start, window.end):
        if edge < len(text.old_code) and not _is_start(text.old.offset, edge):
            raise text.fail("a window cuts an instruction of the input", edge)
    for edge in (window.new_start, window.new_end):
        if edge < len(text.new_code) and not text.begins_in_output(edge):
            raise text.fail("a window cuts an instruction of the output", edge)
    cursor = window.new_start
    for piece in window.pieces:
        expected = _expected(text, piece, cursor, isa)
        found = bytes(text.new_code[cursor : cursor + len(expected)])
        if found != expected:
            why = f"{found.hex()} where {expected.hex()} was meant"
            raise text.fail("the output does not hold what an edit put there", cursor, why)
        if isinstance(piece, Kept) and piece.new_start != cursor:
            raise text.fail("a kept instruction is not where the map says", cursor)
        if isinstance(piece, Kept):
            _check_kept(text, window, piece, isa)
        cursor += len(expected)
    if cursor > window.new_end:
        raise text.fail("an edit's code is longer than its place", window.new_start)
    _check_fill(text, cursor, window.new_end)
    _check_decodable(text, window)


def _expected(text: TextMap, piece: NewText | NewBytes | Kept, offset: int, isa: Isa) -> bytes:
    if isinstance(piece, Kept):
        return bytes(text.old_code[piece.start : piece.end])
    if isinstance(piece, NewBytes):
        return bytes.fromhex(piece.hex)
    try:
        return isa.assemble(piece.text, offset=offset)
    except AssemblyError as error:
        raise text.fail("recorded code does not assemble", offset, str(error)) from error


_READS_ITS_ADDRESS = ("s_getpc_*", "s_get_pc_*", "s_add_pc_*", "s_prefetch_*_pc_rel")
"""What means something else at another address (AMDGPU: SOPInstructions.td, users of PC)."""


def _check_kept(text: TextMap, window: WindowRecord, piece: Kept, isa: Isa) -> None:
    """Only originals of the window are kept, and moved only if they mean the same elsewhere."""
    if not window.start <= piece.start < piece.end <= window.end:
        raise text.fail("a kept instruction is none of its window", window.start)
    if piece.new_start == piece.start:
        return
    relative = isa.match(*_READS_ITS_ADDRESS)
    for index in range(*np.searchsorted(text.old.offset, (piece.start, piece.end)).tolist()):
        opcode = int(text.old.opcode[index])
        if opcode == _UNKNOWN or relative[opcode]:
            why = f"{text.old[index].text} moved to another address"
            raise text.fail("an instruction moved that must not", int(text.old.offset[index]), why)


def _check_fill(text: TextMap, start: int, end: int) -> None:
    """Behind the pieces stands nothing that does anything."""
    for index in range(*np.searchsorted(text.new.offset, (start, end)).tolist()):
        instruction = text.new[index]
        if instruction.mnemonic != "s_nop":
            raise text.fail("unexplained code in a window", instruction.offset, instruction.text)


def _check_decodable(text: TextMap, window: WindowRecord) -> None:
    """New code that cannot be read back was not meant by anybody."""
    kept = [(p.new_start, p.new_start + p.end - p.start) for p in window.pieces
            if isinstance(p, Kept)]  # fmt: skip
    bounds = np.searchsorted(text.new.offset, (window.new_start, window.new_end)).tolist()
    for index in range(*bounds):
        offset = int(text.new.offset[index])
        original = any(start <= offset < end for start, end in kept)
        if int(text.new.opcode[index]) == _UNKNOWN and not original:
            raise text.fail("new code cannot be decoded", offset)


_UNKNOWN = 0xFFFF
"""`Isa.UNKNOWN`."""
