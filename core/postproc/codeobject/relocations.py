# SPDX-License-Identifier: Apache-2.0
"""Relocations as structures of arrays.

Source: llvm/include/llvm/BinaryFormat/ELFRelocs/AMDGPU.def; AMDGPUUsage, "Relocation Records".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np

from postproc.codeobject.elf import SHT_CREL, SHT_REL, SHT_RELA, SHT_RELR, Section

if TYPE_CHECKING:
    import numpy.typing as npt

    from postproc.codeobject.image import Image
    from postproc.codeobject.symbols import SymbolTable

__all__ = ["RELOCATION_TYPES", "RelocationTable", "read_relocations"]

RELOCATION_TYPES: Final[Mapping[int, str]] = {
    0: "R_AMDGPU_NONE",
    1: "R_AMDGPU_ABS32_LO",
    2: "R_AMDGPU_ABS32_HI",
    3: "R_AMDGPU_ABS64",
    4: "R_AMDGPU_REL32",
    5: "R_AMDGPU_REL64",
    6: "R_AMDGPU_ABS32",
    7: "R_AMDGPU_GOTPCREL",
    8: "R_AMDGPU_GOTPCREL32_LO",
    9: "R_AMDGPU_GOTPCREL32_HI",
    10: "R_AMDGPU_REL32_LO",
    11: "R_AMDGPU_REL32_HI",
    13: "R_AMDGPU_RELATIVE64",
    14: "R_AMDGPU_REL16",
}

R_AMDGPU_NONE: Final = 0
R_AMDGPU_REL64: Final = 5
R_AMDGPU_RELATIVE64: Final = 13
R_AMDGPU_REL16: Final = 14
ABSOLUTE_TYPES: Final = (1, 2, 3, 6, R_AMDGPU_RELATIVE64)
"""Relocations that store an address, as tables of functions do."""

RELA: Final = np.dtype([("offset", "<u8"), ("type", "<u4"), ("symbol", "<u4"), ("addend", "<i8")])


@final
@dataclass(frozen=True, slots=True, eq=False)
class RelocationTable:
    """The relocations of one section.

    `section` is the index of the table itself and `applies_to` that of the section it patches; both
    are None for what only the dynamic section knows, `applies_to` also for dynamic relocations.
    Arrays share their index:

    offset    uint64, an address (an offset in `applies_to` if the object is relocatable)
    type      uint32, see RELOCATION_TYPES
    symbol    uint32, an index of `symbols`; 0 means none
    addend    int64, bytes
    """

    section: int | None
    applies_to: int | None
    symbols: SymbolTable
    offset: npt.NDArray[np.uint64]
    type: npt.NDArray[np.uint32]
    symbol: npt.NDArray[np.uint32]
    addend: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offset)


def read_relocations(
    image: Image, sections: tuple[Section, ...], symbols: Mapping[int, SymbolTable]
) -> tuple[RelocationTable, ...]:
    """All relocations; `symbols` holds the symbol tables by their section's index."""
    tables = []
    for section in sections:
        if section.type in (SHT_REL, SHT_RELR, SHT_CREL) and section.size:
            image.fail(
                section.offset, f"{section.name}: relocations of a kind that AMDGPU does not use"
            )
        if section.type != SHT_RELA:
            continue
        if section.entry_size != RELA.itemsize or section.size % RELA.itemsize:
            image.fail(section.offset, f"{section.name} is no whole table of relocations")
        if section.info >= len(sections):
            image.fail(section.offset, f"{section.name} patches a section that does not exist")
        rows = image.records(section.offset, section.size // RELA.itemsize, RELA, section.name)
        tables.append(
            relocation_table(
                image,
                section.offset,
                section.name,
                rows,
                section.index,
                section.info or None,
                symbols.get(section.link),
            )
        )
    return tuple(tables)


def relocation_table(
    image: Image,
    offset: int,
    what: str,
    rows: npt.NDArray[np.void],
    section: int | None,
    applies_to: int | None,
    symbols: SymbolTable | None,
) -> RelocationTable:
    """Relocations from their records; every symbol is checked."""
    from postproc.codeobject.symbols import EMPTY

    known = EMPTY if symbols is None else symbols
    if len(rows) and int(rows["symbol"].max()) >= max(1, len(known)):
        image.fail(offset, f"{what}: a relocation refers to a symbol that does not exist")
    return RelocationTable(
        section, applies_to, known, rows["offset"], rows["type"], rows["symbol"], rows["addend"]
    )
