# SPDX-License-Identifier: Apache-2.0
"""All code of an object as one sequence of instructions.

Instructions of all executable sections are numbered through, in order of place.  A *place* is the
virtual address as the file has it; what is computed from the program counter is computed from
places, and since only differences of places are ever used, the address at which an object will be
loaded does not matter.  In a relocatable object sections have no addresses yet: each is given
places of its own, far from all others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, final

import numpy as np

from postproc.codeobject import TextPosition
from postproc_cfg.vocabulary import Transfer, direct_targets, transfers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc.codeobject import CodeObject, Section
    from postproc.isa import Decoded, Instruction, Isa

__all__ = ["NOWHERE", "Stretch", "Text"]

NOWHERE: Final = np.iinfo(np.int64).min
"""The target of what has none."""

_APART: Final = 1 << 40


@final
@dataclass(frozen=True, slots=True)
class Stretch:
    """One executable section: its instructions are `first` up to, not including, `end`."""

    section: Section
    decoded: Decoded
    first: int
    end: int
    place: int
    """The place of the section's first byte."""


@final
class Text:
    """The code of an object.  Arrays have one item an instruction.

    place      int64, where it begins
    size       int64, bytes
    kind       int8, a `Transfer`
    target     int64, the place that its encoding says it goes to, NOWHERE if it says none
    word       uint32, its first dword;  literal: uint32, its second (0 if it has one only)
    """

    def __init__(self, code_object: CodeObject, decode: Callable[[Section], Decoded]) -> None:
        self.code_object = code_object
        self.stretches: tuple[Stretch, ...] = tuple(_stretches(code_object, decode))
        parts = [_columns(s) for s in self.stretches] or [_NO_COLUMNS]
        columns = [np.concatenate(c) if len(parts) > 1 else c[0] for c in zip(*parts, strict=True)]
        self.place, self.size, self.kind, self.target, self.word, self.literal = columns
        self._firsts = np.array([s.first for s in self.stretches], np.intp)
        if code_object.is_relocatable:
            self._forget_relocated()

    def __len__(self) -> int:
        return int(self.place.size)

    @property
    def isa(self) -> Isa | None:
        """The instruction set; None if there is no code."""
        return self.stretches[0].decoded.isa if self.stretches else None

    def stretch_of(self, index: int) -> Stretch:
        """The section that holds an instruction."""
        return self.stretches[int(np.searchsorted(self._firsts, index, side="right")) - 1]

    def instruction(self, index: int) -> Instruction:
        """The instruction number `index`."""
        stretch = self.stretch_of(index)
        return stretch.decoded[index - stretch.first]

    def position(self, index: int) -> TextPosition:
        """Where an instruction stands."""
        stretch = self.stretch_of(index)
        return TextPosition(stretch.section.index, int(self.place[index]) - stretch.place)

    def position_of_place(self, place: int) -> TextPosition | None:
        """The byte at a place; None if it is no code of this object."""
        for stretch in self.stretches:
            if 0 <= place - stretch.place < stretch.section.size:
                return TextPosition(stretch.section.index, place - stretch.place)
        return None

    def place_of(self, position: TextPosition) -> int:
        """The place of a byte.  KeyError: its section holds no code."""
        return self._places[position.section] + position.offset

    def index_at(self, place: int) -> int:
        """The instruction that begins at a place; -1 if none does."""
        index = int(np.searchsorted(self.place, place))
        return index if index < len(self) and int(self.place[index]) == place else -1

    def indices_at(self, places: NDArray[np.int64]) -> NDArray[np.intp]:
        """`index_at` of many places."""
        if not len(self):
            return np.full(len(places), -1, np.intp)
        at = np.minimum(np.searchsorted(self.place, places), len(self) - 1)
        return np.where(self.place[at] == places, at, -1)

    def next_index(self, index: int) -> int:
        """The instruction behind `index` in its section; -1 if that ends there."""
        return index + 1 if index + 1 < self.stretch_of(index).end else -1

    @cached_property
    def _places(self) -> dict[int, int]:
        return {s.section.index: s.place for s in self.stretches}

    @cached_property
    def relocated(self) -> frozenset[int]:
        """Instructions that a linker has yet to complete: their constants are not known."""
        if not self.code_object.is_relocatable:
            return frozenset()
        found: set[int] = set()
        for table in self.code_object.relocations:
            if table.applies_to not in self._places:
                continue
            places = table.offset.astype(np.int64) + self._places[table.applies_to]
            at = np.searchsorted(self.place, places, side="right") - 1
            found.update(at[at >= 0].tolist())
        return frozenset(found)

    def _forget_relocated(self) -> None:
        rows = np.fromiter(self.relocated, np.intp, len(self.relocated))
        self.target[rows] = NOWHERE


def _stretches(code_object: CodeObject, decode: Callable[[Section], Decoded]) -> list[Stretch]:
    sections = list(code_object.executable_sections)
    if not code_object.is_relocatable:
        sections.sort(key=lambda section: section.address)
    found: list[Stretch] = []
    first = 0
    for rank, section in enumerate(sections):
        decoded = decode(section)
        place = (rank + 1) * _APART if code_object.is_relocatable else section.address
        found.append(Stretch(section, decoded, first, first + len(decoded), place))
        first += len(decoded)
    return found


def _columns(stretch: Stretch) -> tuple[NDArray[np.generic], ...]:
    decoded = stretch.decoded
    offset = decoded.offset.astype(np.int64)
    goal = direct_targets(decoded)
    goal[goal != NOWHERE] += stretch.place
    count = len(decoded.code) // 4
    dwords = np.zeros(count + 2, np.uint32)
    dwords[:count] = np.frombuffer(decoded.code[: 4 * count], np.dtype("<u4"))
    word = dwords[offset // 4]
    literal = np.where(decoded.size >= 8, dwords[offset // 4 + 1], np.uint32(0))
    kind = transfers(decoded)
    return (offset + stretch.place, decoded.size.astype(np.int64), kind, goal, word, literal)


_NO_COLUMNS: Final = (
    np.zeros(0, np.int64),
    np.zeros(0, np.int64),
    np.full(0, Transfer.NONE, np.int8),
    np.zeros(0, np.int64),
    np.zeros(0, np.uint32),
    np.zeros(0, np.uint32),
)
