# SPDX-License-Identifier: Apache-2.0
"""Pointers to code in memory that the loader fills and nobody writes afterwards.

Such are the global offset table and constant tables of functions: dynamic relocations store
addresses there (R_AMDGPU_RELATIVE64 that of an addend, R_AMDGPU_ABS64 that of a symbol), and the
segment is read-only, at the latest once it was relocated (PT_GNU_RELRO).
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

    def _table_around(self, address: int) -> tuple[int, int] | None:
        """The object symbol around an address; without one, the longest run of pointers."""
        symbols = self._object.symbols
        inside = (symbols.type == _STT_OBJECT) & (symbols.section > 0)
        inside &= symbols.value <= np.uint64(max(address, 0))
        inside &= np.uint64(max(address, 0)) - symbols.value < symbols.size
        rows = np.flatnonzero(inside)
        if len(rows):
            row = int(rows[np.argmin(symbols.size[rows])])
            start = int(symbols.value[row])
            return start, start + int(symbols.size[row])
        if address not in self._pointers:
            return None
        start = end = address
        while start - _POINTER in self._pointers:
            start -= _POINTER
        while end in self._pointers:
            end += _POINTER
        return start, end

    def _is_constant(self, address: int, size: int) -> bool:
        """Whether nobody writes these bytes once the object is loaded."""
        segments = self._object.segments
        loaded = [s for s in segments if s.type == _PT_LOAD and _holds(s, address, size)]
        if not loaded:
            return False
        if any(s.type == _PT_GNU_RELRO and _holds(s, address, size) for s in segments):
            return True
        return not any(s.flags & _PF_W for s in loaded)

    @cached_property
    def _pointers(self) -> dict[int, int]:
        """Stored addresses by where they are stored; what several relocations patch, or one of
        another kind, is left out."""
        found: dict[int, int] = {}
        if self._object.is_relocatable:
            return found
        spoilt: set[int] = set()
        for table in self._object.relocations:
            if table.applies_to is not None:
                continue
            for where, kind, symbol, addend in zip(
                table.offset.tolist(),
                table.type.tolist(),
                table.symbol.tolist(),
                table.addend.tolist(),
                strict=True,
            ):
                if kind == _RELATIVE64:
                    goal = addend
                elif kind == _ABS64 and int(table.symbols.section[symbol]) > 0:
                    goal = int(table.symbols.value[symbol]) + addend
                else:
                    spoilt.add(where)
                    continue
                if found.setdefault(where, goal) != goal:
                    spoilt.add(where)
        return {where: goal for where, goal in found.items() if where not in spoilt}


def _holds(segment: Segment, address: int, size: int) -> bool:
    end = segment.address + segment.memory_size
    return segment.address <= address and address + size <= end
