# SPDX-License-Identifier: Apache-2.0
"""Symbol tables as structures of arrays: large objects have 100,000s of symbols.

Source: System V ABI, "Symbol Table"; llvm/include/llvm/BinaryFormat/ELF.h for SHN_AMDGPU_LDS.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np

from postproc.codeobject.elf import SHN_XINDEX, SHT_STRTAB, SHT_SYMTAB_SHNDX, Section

if TYPE_CHECKING:
    import numpy.typing as npt

    from postproc.codeobject.image import Image

__all__ = ["ABSOLUTE", "COMMON", "LDS", "UNDEFINED", "SymbolTable", "read_symbols"]

UNDEFINED: Final = 0
ABSOLUTE: Final = 0xFFF1 - 0x10000
COMMON: Final = 0xFFF2 - 0x10000
LDS: Final = 0xFF00 - 0x10000
"""SHN_AMDGPU_LDS: a variable in group memory, its value is an alignment."""

STB_LOCAL: Final = 0
STT_NOTYPE: Final = 0
STT_OBJECT: Final = 1
STT_FUNC: Final = 2
STT_SECTION: Final = 3

SYMBOL: Final = np.dtype(
    [
        ("name", "<u4"),
        ("info", "u1"),
        ("other", "u1"),
        ("section", "<u2"),
        ("value", "<u8"),
        ("size", "<u8"),
    ]
)
_MAX_NAME_GROWTH: Final = 16
"""All names together are at most this many times as long as the file.

Names may share bytes, so that a small file could otherwise ask for any amount of memory.
"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class SymbolTable:
    """`len()` symbols; arrays are read-only and share their index.

    value, size    uint64, bytes: an address (an offset in the section if the object is relocatable)
    info, other    uint8, as in the file
    section        int32: index of a section (0 is UNDEFINED), or ABSOLUTE, COMMON, LDS, or another
                   reserved index less 0x10000
    name_start, name_end    int64, in `strings`
    """

    value: npt.NDArray[np.uint64]
    size: npt.NDArray[np.uint64]
    info: npt.NDArray[np.uint8]
    other: npt.NDArray[np.uint8]
    section: npt.NDArray[np.int32]
    name_start: npt.NDArray[np.int64]
    name_end: npt.NDArray[np.int64]
    strings: bytes

    def __len__(self) -> int:
        return len(self.value)

    @property
    def type(self) -> npt.NDArray[np.uint8]:
        """STT_* of each symbol."""
        return self.info & np.uint8(0xF)

    @property
    def binding(self) -> npt.NDArray[np.uint8]:
        """STB_* of each symbol: 0 local, 1 global, 2 weak."""
        return self.info >> np.uint8(4)

    def name_bytes(self, index: int) -> bytes:
        """The name of one symbol as it stands in the file."""
        return self.strings[int(self.name_start[index]) : int(self.name_end[index])]

    def name(self, index: int) -> str:
        """The name of one symbol; bytes that are not UTF-8 are shown as escapes."""
        return self.name_bytes(index).decode("utf-8", "backslashreplace")

    def names(self, indices: Iterable[int]) -> list[str]:
        """The names of several symbols."""
        return [self.name(index) for index in indices]

    def ending_with(self, suffix: bytes) -> npt.NDArray[np.bool_]:
        """Which names end with `suffix`."""
        text = np.frombuffer(self.strings, np.uint8)
        found: npt.NDArray[np.bool_] = self.name_end - self.name_start >= len(suffix)
        for distance, byte in enumerate(reversed(suffix), 1):
            rows = np.flatnonzero(found)
            found[rows] = text[self.name_end[rows] - distance] == byte
        return found

    def take(self, rows: npt.NDArray[np.intp]) -> SymbolTable:
        """The table of some of the symbols."""
        return SymbolTable(
            self.value[rows],
            self.size[rows],
            self.info[rows],
            self.other[rows],
            self.section[rows],
            self.name_start[rows],
            self.name_end[rows],
            self.strings,
        )

    def merged_with(self, other: SymbolTable) -> SymbolTable:
        """This table, then the symbols of `other` that are not in it (name, value and section)."""
        known = set(self._keys(np.flatnonzero(self.binding != STB_LOCAL)))
        theirs = other._keys(np.arange(1, len(other)))
        rows = np.array([row for row, key in enumerate(theirs, 1) if key not in known], np.intp)
        if not len(rows):
            return self
        extra, shift = other.take(rows), len(self.strings)
        return SymbolTable(
            np.concatenate((self.value, extra.value)),
            np.concatenate((self.size, extra.size)),
            np.concatenate((self.info, extra.info)),
            np.concatenate((self.other, extra.other)),
            np.concatenate((self.section, extra.section)),
            np.concatenate((self.name_start, extra.name_start + shift)),
            np.concatenate((self.name_end, extra.name_end + shift)),
            self.strings + extra.strings,
        )

    def _keys(self, rows: npt.NDArray[np.intp]) -> list[tuple[bytes, int, int]]:
        """Name, value and section of some symbols."""
        starts, ends = self.name_start[rows].tolist(), self.name_end[rows].tolist()
        names = [self.strings[start:end] for start, end in zip(starts, ends, strict=True)]
        values, sections = self.value[rows].tolist(), self.section[rows].tolist()
        return list(zip(names, values, sections, strict=True))


EMPTY: Final = SymbolTable(
    np.zeros(0, np.uint64),
    np.zeros(0, np.uint64),
    np.zeros(0, np.uint8),
    np.zeros(0, np.uint8),
    np.zeros(0, np.int32),
    np.zeros(0, np.int64),
    np.zeros(0, np.int64),
    b"",
)


def read_symbols(image: Image, sections: tuple[Section, ...], table: Section) -> SymbolTable:
    """The symbols of a SHT_SYMTAB or SHT_DYNSYM section; every name and section is checked."""
    if table.entry_size != SYMBOL.itemsize or table.size % SYMBOL.itemsize:
        image.fail(
            table.offset, f"{table.name}: symbols of {table.entry_size} bytes, no whole table"
        )
    if table.link >= len(sections) or sections[table.link].type != SHT_STRTAB:
        image.fail(table.offset, f"{table.name}: section {table.link} is no string table")
    names = sections[table.link]
    rows = image.records(table.offset, table.size // SYMBOL.itemsize, SYMBOL, table.name)
    strings = bytes(image.slice(names.offset, names.size, names.name))
    extended = None
    for section in sections:
        if section.type == SHT_SYMTAB_SHNDX and section.link == table.index:
            extended = image.slice(section.offset, 4 * len(rows), section.name)
    result = symbol_table(image, table.offset, table.name, rows, strings, extended)
    if len(result) and int(result.section.max()) >= len(sections):
        image.fail(table.offset, f"{table.name}: a symbol is in a section that does not exist")
    return result


def symbol_table(
    image: Image,
    offset: int,
    what: str,
    rows: npt.NDArray[np.void],
    strings: bytes,
    extended: memoryview | None,
) -> SymbolTable:
    """Symbols from their records; `extended` holds section indices above 0xfeff."""
    name_start = rows["name"].astype(np.int64)
    nul = np.flatnonzero(np.frombuffer(strings, np.uint8) == 0)
    ranks = np.searchsorted(nul, name_start)
    if len(rows) and (not len(nul) or int(ranks.max()) >= len(nul)):
        image.fail(offset, f"{what}: the name of a symbol reaches past its string table")
    name_end = nul[ranks].astype(np.int64) if len(rows) else name_start
    if int((name_end - name_start).sum()) > _MAX_NAME_GROWTH * image.size:
        image.fail(offset, f"{what}: the names of all symbols are absurdly long")
    return SymbolTable(
        rows["value"],
        rows["size"],
        rows["info"],
        rows["other"],
        _section_indices(image, offset, what, rows["section"], extended),
        name_start,
        name_end,
        strings,
    )


def _section_indices(
    image: Image,
    offset: int,
    what: str,
    raw: npt.NDArray[np.uint16],
    extended: memoryview | None,
) -> npt.NDArray[np.int32]:
    section = raw.astype(np.int64)
    section[section >= 0xFF00] -= 0x10000
    escaped = np.flatnonzero(raw == SHN_XINDEX)
    if len(escaped):
        if extended is None:
            image.fail(
                offset, f"{what}: a symbol has an extended section index, and none are given"
            )
        section[escaped] = np.frombuffer(extended, "<u4")[escaped]
    if len(section) and int(section.max()) > 0x7FFFFFFF:
        image.fail(offset, f"{what}: a symbol is in a section that does not exist")
    return section.astype(np.int32)
