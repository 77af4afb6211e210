# SPDX-License-Identifier: Apache-2.0
"""Where things are: executable sections, and the ways between addresses, offsets and the file."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, final

import numpy as np

from postproc.codeobject.descriptor import DESCRIPTOR_SIZE
from postproc.codeobject.dynamic import file_offset
from postproc.codeobject.elf import (
    ET_REL,
    PT_LOAD,
    SHF_ALLOC,
    SHF_COMPRESSED,
    SHF_EXECINSTR,
    SHT_PROGBITS,
    ElfHeader,
    Section,
    Segment,
)
from postproc.codeobject.places import TextPosition

if TYPE_CHECKING:
    import numpy.typing as npt

    from postproc.codeobject.image import Image

__all__ = ["Layout"]

_NOWHERE: Final = 0
"""No executable section has index 0: section 0 is no section, and segments count from -1 down."""
_LAST_ADDRESS: Final = (1 << 64) - 1


@final
class _Table:
    """Executable sections as arrays, with an empty one at the end so that there always is one."""

    def __init__(self, sections: list[Section]) -> None:
        self.index = np.array([*(s.index for s in sections), _NOWHERE], np.int32)
        self.address = np.array([*(s.address for s in sections), _LAST_ADDRESS], np.uint64)
        self.size = np.array([*(s.size for s in sections), 0], np.uint64)
        self._count = len(sections)

    def ranks(
        self, index: npt.NDArray[np.int32]
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """Where sections stand in the table (sorted by index), and which of them do at all."""
        rank = np.searchsorted(self.index[: self._count], index)
        return rank, (self.index[rank] == index) & (rank < self._count)


@final
class Layout:
    """The executable sections of a code object; those of its segments if it has no sections.

    Symbols of a relocatable object hold offsets in their sections, those of others addresses.
    """

    def __init__(
        self,
        image: Image,
        header: ElfHeader,
        segments: tuple[Segment, ...],
        sections: tuple[Section, ...],
    ) -> None:
        self.image = image
        self.is_relocatable = header.type == ET_REL
        self.loaded = tuple(segment for segment in segments if segment.type == PT_LOAD)
        self._sections = sections
        if sections:
            self.executable = tuple(s for s in sections if s.is_executable)
        else:
            self.executable = tuple(
                _as_section(segment)
                for segment in segments
                if segment.is_executable and segment.file_size
            )
        self._by_index = {section.index: section for section in self.executable}
        self._check()
        self._numbered = _Table(sorted(self.executable, key=lambda section: section.index))
        self._addressed = _Table(sorted(self.executable, key=lambda section: section.address))

    def _check(self) -> None:
        """Executable sections are plain bytes and do not overlap, in the file or in memory."""
        for section in self.executable:
            if section.flags & SHF_COMPRESSED:
                self.image.fail(section.offset, f"{section.name}: executable code is compressed")
            if section.end_address > 1 << 64:
                self.image.fail(section.offset, f"{section.name} reaches past the address space")
        starts = [(section.offset, section) for section in self.executable]
        orders = [starts]
        if not self.is_relocatable:
            orders.append([(section.address, section) for section in self.executable])
        for order in orders:
            order.sort(key=lambda item: (item[0], item[1].index))
            for (start, before), (following, after) in pairwise(order):
                if start + before.size > following:
                    self.image.fail(after.offset, f"{before.name} and {after.name} overlap")

    def is_executable(self, index: int) -> bool:
        """Whether that index is one of an executable section."""
        return index in self._by_index

    def section_size(self, index: int) -> int:
        """Bytes in an executable section."""
        return self._by_index[index].size

    def section_sizes(self, index: npt.NDArray[np.int32]) -> npt.NDArray[np.uint64]:
        """Bytes in each of some executable sections; 0 for what is none."""
        rank, known = self._numbered.ranks(index)
        return np.where(known, self._numbered.size[rank], np.uint64(0))

    def position_of(self, address: int) -> TextPosition | None:
        """The executable byte at a virtual address, if there is one."""
        if not 0 <= address < 1 << 64:
            return None
        section, offset = self.positions_of_addresses(np.array([address], np.uint64))
        if int(section[0]) == _NOWHERE:
            return None
        return TextPosition(int(section[0]), int(offset[0]))

    def address_of(self, position: TextPosition) -> int:
        """The virtual address of a byte; its offset if the object is relocatable."""
        base = 0 if self.is_relocatable else self._by_index[position.section].address
        return base + position.offset

    def positions_of_addresses(
        self, address: npt.NDArray[np.uint64]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint64]]:
        """Executable sections (0: none) and offsets in them of virtual addresses."""
        table = self._addressed
        rank = np.searchsorted(table.address, address, side="right") - 1
        offset = address - table.address[rank]
        inside = (rank >= 0) & (offset < table.size[rank])
        return np.where(inside, table.index[rank], np.int32(_NOWHERE)), offset

    def positions_of(
        self, section: npt.NDArray[np.int32], value: npt.NDArray[np.uint64]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint64]]:
        """Executable sections (0: none) and offsets of symbols; offsets are not yet checked."""
        if not self._sections:
            return self.positions_of_addresses(value)
        rank, known = self._numbered.ranks(section)
        base = np.uint64(0) if self.is_relocatable else self._numbered.address[rank]
        return np.where(known, section, np.int32(_NOWHERE)), value - base

    def descriptor_offset(self, symbol: str, index: int, value: int) -> int:
        """The file offset of the 64 bytes of a kernel descriptor."""
        if not self._sections:
            return file_offset(self.image, self.loaded, value, DESCRIPTOR_SIZE)
        section = self._sections[index]
        start = value if self.is_relocatable else value - section.address
        if not section.has_bytes or not 0 <= start <= section.size - DESCRIPTOR_SIZE:
            self.image.fail(section.offset, f"{symbol} is not within section {section.name}")
        return section.offset + start


def _as_section(segment: Segment) -> Section:
    return Section(
        -1 - segment.index,
        f"<segment {segment.index}>",
        SHT_PROGBITS,
        SHF_ALLOC | SHF_EXECINSTR,
        segment.address,
        segment.offset,
        segment.file_size,
        0,
        0,
        segment.alignment,
        0,
    )
