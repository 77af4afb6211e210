# SPDX-License-Identifier: Apache-2.0
"""Placement in place: code of the same size, or shorter code and `s_nop`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from postproc.codeobject import TextRange
from postproc.errors import AssemblyError, PluginError, Refusal
from postproc.placement.protection import (
    PC_RELATIVE,
    ingress_offsets,
    interior,
    relocation_in,
    unresolved_transfer,
)
from postproc.transaction import MergedEdit, Move, Patch, PlacedEdit

if TYPE_CHECKING:
    from postproc.codeobject import Section
    from postproc.passes import ObjectView

__all__ = ["InPlace"]

_FILL = "s_nop 0"


@final
@dataclass(frozen=True, slots=True)
class _Layout:
    """Encoded pieces one after another, and where the kept originals came to lie."""

    data: bytes
    moves: tuple[Move, ...]


@final
class InPlace:
    """Puts the new code over the old; refuses what does not fit."""

    name = "in-place"

    def place(self, view: ObjectView, merged: MergedEdit) -> PlacedEdit | Refusal:
        """The edit in its own window, or why not.  Raises PluginError for a senseless snippet."""
        section = _section(view, merged)
        layout = _lay_out(view, section, merged)
        room = merged.window.end - merged.window.start
        if len(layout.data) > room:
            return Refusal(
                f"needs {len(layout.data)} bytes where {room} are free",
                ("only placement in place is allowed or known",),
            )
        relocated = relocation_in(view, merged.window)
        if relocated is not None:
            return Refusal(
                f"a relocation fills in bytes at 0x{relocated:x}, inside the window",
                ("what stands there now is not what will run; rewrite after the link",),
            )
        refusal = _moved_pc(view, section, layout) or _cut(view, section, merged, layout)
        if refusal is not None:
            return refusal
        data = layout.data + _fill(view, room - len(layout.data))
        before = len(interior(view, section, merged.window)) + 1
        return PlacedEdit(
            merged=merged,
            placement=self.name,
            target=merged.window,
            patches=(Patch(merged.window, data),),
            moves=layout.moves,
            added_bytes=0,
            added_dynamic_instructions=len(view.isa.decode(data).offset) - before,
        )


def _fill(view: ObjectView, size: int) -> bytes:
    """`size` bytes of `s_nop 0`."""
    if not size:
        return b""
    nop = view.isa.assemble_one(_FILL)
    return nop * (size // len(nop))


def _section(view: ObjectView, merged: MergedEdit) -> Section:
    """The section of the window; PluginError if the window does not hold whole instructions."""
    window = merged.window
    edit = merged.edits[0]
    for section in view.code_object.executable_sections:
        if section.index == window.section and window.end <= section.size:
            starts = view.decoded(section).offset
            whole = window.end == section.size or _begins(starts, window.end)
            if whole and _begins(starts, window.start):
                return section
    raise PluginError(
        "an edit's window does not hold whole instructions",
        plugin=edit.owner,
        hook="postproc_prepare",
        offset=edit.site.position.offset,
        why=f"{window} in rule {edit.site.rule}",
    )


def _begins(starts: object, offset: int) -> bool:
    import numpy as np

    ordered = np.asarray(starts)
    rank = int(np.searchsorted(ordered, offset))
    return rank < len(ordered) and int(ordered[rank]) == offset


def _lay_out(view: ObjectView, section: Section, merged: MergedEdit) -> _Layout:
    code = view.code_object.code(section)
    data = bytearray()
    moves = []
    for piece in merged.snippet.pieces:
        at = merged.window.start + len(data)
        if isinstance(piece, TextRange):
            moves.append(Move(piece, TextRange(piece.section, at, at + piece.end - piece.start)))
            data += code[piece.start : piece.end]
        elif isinstance(piece, bytes):
            data += piece
        else:
            data += _assemble(view, merged, piece, at)
    return _Layout(bytes(data), tuple(moves))


def _assemble(view: ObjectView, merged: MergedEdit, source: str, at: int) -> bytes:
    try:
        return view.isa.assemble(source, offset=at)
    except AssemblyError as error:
        owners = sorted({edit.owner for edit in merged.edits})
        site = merged.edits[-1].site
        raise PluginError(
            "an edit's snippet does not assemble",
            plugin=", ".join(owners),
            hook="postproc_prepare",
            offset=site.position.offset,
            instruction=site.mnemonic,
            why=str(error),
        ) from error


def _moved_pc(view: ObjectView, section: Section, layout: _Layout) -> Refusal | None:
    """Kept originals that lie elsewhere must not compute with their own address."""
    moved = [move for move in layout.moves if move.source != move.target]
    if not moved:
        return None
    decoded = view.decoded(section)
    relative = view.isa.match(*PC_RELATIVE)
    for move in moved:
        for offset in (
            move.source.start,
            *interior(view, section, move.source),
        ):
            index = decoded.index_at(offset)
            opcode = int(decoded.opcode[index])
            if opcode == view.isa.UNKNOWN:
                return Refusal(f"undecodable word at 0x{offset:x} would move")
            if relative[opcode]:
                what = f"{decoded[index].mnemonic} at 0x{offset:x}"
                return Refusal(f"{what} computes with its own address and would move")
    return None


def _cut(view: ObjectView, section: Section, merged: MergedEdit, layout: _Layout) -> Refusal | None:
    """Control must not enter a window where the old code has gone."""
    inside = set(interior(view, section, merged.window))
    for move in layout.moves:
        if move.source == move.target:
            inside -= {move.source.start, *interior(view, section, move.source)}
    if not inside:
        return None
    entered = sorted(inside & ingress_offsets(view, section))
    if entered:
        return Refusal(f"control may enter the window at 0x{entered[0]:x}")
    unresolved = unresolved_transfer(view)
    if unresolved is not None:
        return Refusal(
            "control may enter the window: a computed branch has unknown targets",
            (f"branch at 0x{unresolved.offset:x} of section {unresolved.section}",),
        )
    return None
