# SPDX-License-Identifier: Apache-2.0
"""Memory that nobody writes once an object is loaded: what lies where in it.

Such are the global offset table and constant tables of functions: dynamic relocations store
addresses there (R_AMDGPU_RELATIVE64 that of an addend, R_AMDGPU_ABS64 that of a symbol), and the
segment is read-only, at the latest once it was relocated (PT_GNU_RELRO).  Tables of distances, as
jump tables have them, are bytes of the file.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final, final

import numpy as np

if TYPE_CHECKING:
    from postproc.codeobject import CodeObject, Segment

__all__ = ["ConstantMemory"]

_PT_LOAD, _PT_GNU_RELRO, _PF_W = 1, 0x6474E552, 2
_ABS64, _RELATIVE64 = 3, 13
_STT_OBJECT: Final = 1
_POINTER: Final = 8
_WORD: Final = 4
_LONGEST_TABLE: Final = 4096
"""Bytes of a table of distances that is worth looking at."""


@final
class ConstantMemory:
    """What a code object's constant memory holds.  All addresses are those of the file."""

    def __init__(self, code_object: CodeObject) -> None:
        self._object = code_object

    def pointer_at(self, address: int) -> frozenset[int] | None:
        """The one address stored at an address; None if that is not known."""
        goal = self._pointers.get(address)
        if goal is None or not self._is_constant(address, _POINTER):
            return None
        return frozenset({goal})

    def table_at(self, address: int) -> frozenset[int] | None:
        """All addresses in the table around an address; None if it has other contents, or may
        change, or nobody says where it ends."""
        extent = self._table_around(address)
        if extent is None:
            return None
        start, end = extent
        if start == end or (end - start) % _POINTER or not self._is_constant(start, end - start):
            return None
        goals = [self._pointers.get(place) for place in range(start, end, _POINTER)]
        if any(goal is None for goal in goals):
            return None
        return frozenset(goal for goal in goals if goal is not None)

    def word_at(self, address: int) -> frozenset[int] | None:
        """The dword stored at an address; None if that is not known."""
        word = self._word(address)
        return None if word is None else frozenset({word})

    def words_at(self, address: int) -> frozenset[int] | None:
        """All dwords of the table around an address, as `table_at`."""
        extent = self._symbol_around(address)
        if extent is None or not 0 < extent[1] - extent[0] <= _LONGEST_TABLE:
            return None
        words = [self._word(place) for place in range(*extent, _WORD)]
        return frozenset(w for w in words if w is not None) if None not in words else None

    def _word(self, address: int) -> int | None:
        relocated = self._pointers.keys() | self._spoilt
        if any(address - step in relocated for step in range(_POINTER)) or address % _WORD:
            return None
        if not self._is_constant(address, _WORD):
            return None
        for segment in self._object.segments:
            offset = address - segment.address
            if segment.type == _PT_LOAD and 0 <= offset <= segment.file_size - _WORD:
                start = segment.offset + offset
                return int.from_bytes(self._object.data[start : start + _WORD], "little")
        return None

    def _table_around(self, address: int) -> tuple[int, int] | None:
        """The object symbol around an address; without one, the longest run of pointers."""
        extent = self._symbol_around(address)
        if extent is not None or address not in self._pointers:
            return extent
        start = end = address
        while start - _POINTER in self._pointers:
            start -= _POINTER
        while end in self._pointers:
            end += _POINTER
        return start, end

    def _symbol_around(self, address: int) -> tuple[int, int] | None:
        """The smallest object symbol around an address."""
        symbols = self._object.symbols
        inside = (symbols.type == _STT_OBJECT) & (symbols.section > 0)
        inside &= symbols.value <= np.uint64(max(address, 0))
        inside &= np.uint64(max(address, 0)) - symbols.value < symbols.size
        rows = np.flatnonzero(inside)
        if not len(rows):
            return None
        row = int(rows[np.argmin(symbols.size[rows])])
        start = int(symbols.value[row])
        return start, start + int(symbols.size[row])

    def _is_constant(self, address: int, size: int) -> bool:
        """Whether nobody writes these bytes once the object is loaded."""
        segments = self._object.segments
        loaded = [s for s in segments if s.type == _PT_LOAD and _holds(s, address, size)]
        if not loaded:
            return False
        if any(s.type == _PT_GNU_RELRO and _holds(s, address, size) for s in segments):
            return True
        return not any(s.flags & _PF_W for s in loaded)

    @property
    def _pointers(self) -> dict[int, int]:
        return self._relocated[0]

    @property
    def _spoilt(self) -> frozenset[int]:
        return self._relocated[1]

    @cached_property
    def _relocated(self) -> tuple[dict[int, int], frozenset[int]]:
        """Stored addresses by where they are stored; and where something else is stored, or
        several relocations disagree."""
        found: dict[int, int] = {}
        spoilt: set[int] = set()
        for table in self._object.relocations:
            if table.applies_to is not None or self._object.is_relocatable:
                continue
            for where, kind, symbol, addend in zip(
                table.offset.tolist(),
                table.type.tolist(),
                table.symbol.tolist(),
                table.addend.tolist(),
                strict=True,
            ):
                goal = addend
                if kind == _ABS64 and int(table.symbols.section[symbol]) > 0:
                    goal = int(table.symbols.value[symbol]) + addend
                elif kind != _RELATIVE64:
                    spoilt.add(where)
                    continue
                if found.setdefault(where, goal) != goal:
                    spoilt.add(where)
        pointers = {where: goal for where, goal in found.items() if where not in spoilt}
        return pointers, frozenset(spoilt)


def _holds(segment: Segment, address: int, size: int) -> bool:
    end = segment.address + segment.memory_size
    return segment.address <= address and address + size <= end
