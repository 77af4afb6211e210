# SPDX-License-Identifier: Apache-2.0
"""ELF headers: the file header, program headers, section headers.

Source: System V ABI, "Object Files"; AMDGPUUsage, "ELF Code Object".  Only what AMDGPU objects use:
64 bits, little endian.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from postproc.codeobject.image import Image

__all__ = [
    "EM_AMDGPU",
    "ET_REL",
    "ElfHeader",
    "Section",
    "Segment",
    "read_header",
    "read_sections",
    "read_segments",
]

EM_AMDGPU: Final = 224
ET_REL: Final = 1
ET_EXEC: Final = 2
ET_DYN: Final = 3

ELFOSABI_AMDGPU_HSA: Final = 64
OS_ABI_NAMES: Final = {0: "none", 65: "PAL", 66: "Mesa 3D"}

PT_LOAD: Final = 1
PT_DYNAMIC: Final = 2
PT_NOTE: Final = 4
PF_X: Final = 1

SHT_NULL: Final = 0
SHT_PROGBITS: Final = 1
SHT_SYMTAB: Final = 2
SHT_STRTAB: Final = 3
SHT_RELA: Final = 4
SHT_DYNAMIC: Final = 6
SHT_NOTE: Final = 7
SHT_NOBITS: Final = 8
SHT_REL: Final = 9
SHT_DYNSYM: Final = 11
SHT_SYMTAB_SHNDX: Final = 18
SHT_RELR: Final = 19
SHT_CREL: Final = 0x40000014

SHF_ALLOC: Final = 0x2
SHF_EXECINSTR: Final = 0x4
SHF_COMPRESSED: Final = 0x800

SHN_XINDEX: Final = 0xFFFF
PN_XNUM: Final = 0xFFFF

_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT: Final = struct.Struct("<IIQQQQQQ")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")

_MAX_OVERLAP: Final = 4
"""All sections together are at most this many times as long as the file.

Sections share no bytes, but nothing stops a damaged file from saying so, and everything that reads
them would take that many times as long.
"""


@final
@dataclass(frozen=True, slots=True)
class ElfHeader:
    """The file header; counts and indices have their extended values (from section 0).

    `type` is ET_REL (1), ET_EXEC (2) or ET_DYN (3); offsets are file offsets in bytes.
    """

    type: int
    machine: int
    os_abi: int
    abi_version: int
    entry: int
    flags: int
    program_header_offset: int
    program_header_count: int
    section_header_offset: int
    section_header_count: int
    section_names_index: int

    @property
    def code_object_version(self) -> int:
        """AMDGPU code object version: EI_ABIVERSION 1, 2, 3, 4 mean 3, 4, 5, 6."""
        return self.abi_version + 2


@final
@dataclass(frozen=True, slots=True)
class Segment:
    """One program header; `offset` and `file_size` are in the file, the rest in memory."""

    index: int
    type: int
    flags: int
    offset: int
    address: int
    physical_address: int
    file_size: int
    memory_size: int
    alignment: int

    @property
    def is_executable(self) -> bool:
        """Whether the segment is loaded as code."""
        return self.type == PT_LOAD and bool(self.flags & PF_X)


@final
@dataclass(frozen=True, slots=True)
class Section:
    """One section header; `offset` is in the file, `size` in bytes.

    A segment of an object without section headers is presented as a section with a negative index.
    """

    index: int
    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int

    @property
    def is_executable(self) -> bool:
        """Whether the section holds code."""
        return bool(self.flags & SHF_EXECINSTR) and self.type != SHT_NOBITS and self.size > 0

    @property
    def is_allocated(self) -> bool:
        """Whether the section is in memory at run time."""
        return bool(self.flags & SHF_ALLOC)

    @property
    def has_bytes(self) -> bool:
        """Whether the section occupies the file."""
        return self.type not in (SHT_NOBITS, SHT_NULL)

    @property
    def end_address(self) -> int:
        """The address after the last byte."""
        return self.address + self.size


def read_header(image: Image) -> ElfHeader:
    """The file header of an AMDGPU HSA code object; MalformedInput for any other file."""
    _check_identification(image)
    fields = _HEADER.unpack(image.slice(0, _HEADER.size, "ELF header"))
    ident, kind, machine, version, entry, phoff, shoff, flags = fields[:8]
    header_size, phentsize, phnum, shentsize, shnum, shstrndx = fields[8:]
    if machine != EM_AMDGPU:
        image.fail(18, f"ELF machine {machine} is not AMDGPU ({EM_AMDGPU})")
    if kind not in (ET_REL, ET_EXEC, ET_DYN):
        image.fail(16, f"ELF type {kind} is no code object (relocatable, executable or shared)")
    if version != 1 or header_size < _HEADER.size:
        image.fail(20, f"ELF version {version}, header size {header_size}: no known ELF header")
    if ident[7] != ELFOSABI_AMDGPU_HSA:
        name = OS_ABI_NAMES.get(ident[7], str(ident[7]))
        image.fail(7, f"the OS ABI is {name}; postproc reads amdhsa code objects")
    if not 1 <= ident[8] <= 4:
        image.fail(
            8,
            f"ABI version {ident[8]} is not that of a code object of version 3 to 6",
            hint="build it again with -mcode-object-version=5" if ident[8] == 0 else None,
        )
    if shoff and shentsize != _SECTION.size:
        image.fail(58, f"section headers of {shentsize} bytes; {_SECTION.size} expected")
    if shoff:
        phnum, shnum, shstrndx = _extended_counts(image, shoff, phnum, shnum, shstrndx)
    elif shnum:
        image.fail(60, f"{shnum} section headers, but no offset of them")
    if phnum and phentsize != _SEGMENT.size:
        image.fail(54, f"program headers of {phentsize} bytes; {_SEGMENT.size} expected")
    return ElfHeader(
        kind, machine, ident[7], ident[8], entry, flags, phoff, phnum, shoff, shnum, shstrndx
    )


def _check_identification(image: Image) -> None:
    ident = bytes(image.slice(0, 16, "ELF identification"))
    if ident[:4] != b"\x7fELF":
        image.fail(0, "no ELF file")
    if ident[4] != 2:
        image.fail(4, f"ELF class {ident[4]}: AMDGPU code objects have 64 bits")
    if ident[5] != 1:
        image.fail(5, f"ELF data encoding {ident[5]}: AMDGPU code objects are little endian")
    if ident[6] != 1:
        image.fail(6, f"ELF version {ident[6]} is unknown")


def _extended_counts(
    image: Image, shoff: int, phnum: int, shnum: int, shstrndx: int
) -> tuple[int, int, int]:
    """Counts that do not fit 16 bits stand in section header 0."""
    first = _SECTION.unpack(image.slice(shoff, _SECTION.size, "section header 0"))
    size, link, info = first[5], first[6], first[7]
    if shnum == 0:
        shnum = size
    if phnum == PN_XNUM:
        phnum = info
    if shstrndx == SHN_XINDEX:
        shstrndx = link
    return phnum, shnum, shstrndx


def read_segments(image: Image, header: ElfHeader) -> tuple[Segment, ...]:
    """All program headers; the bytes of each lie in the file."""
    size = header.program_header_count * _SEGMENT.size
    table = image.slice(header.program_header_offset, size, "program header table")
    segments = []
    last_address = 0
    for index, fields in enumerate(_SEGMENT.iter_unpack(table)):
        kind, flags, offset, address, physical, file_size, memory_size, alignment = fields
        image.slice(offset, file_size, f"segment {index}")
        at = header.program_header_offset + index * _SEGMENT.size
        if kind == PT_LOAD and file_size > memory_size:
            image.fail(at, f"segment {index} has more bytes in the file than in memory")
        if kind == PT_LOAD:
            if address < last_address:
                image.fail(at, f"segment {index} is loaded below the one before it")
            last_address = address
        segments.append(
            Segment(
                index, kind, flags, offset, address, physical, file_size, memory_size, alignment
            )
        )
    return tuple(segments)


def read_sections(image: Image, header: ElfHeader) -> tuple[Section, ...]:
    """All section headers; the bytes of each lie in the file, and each has a name."""
    count = header.section_header_count
    if count == 0:
        return ()
    table = image.slice(header.section_header_offset, count * _SECTION.size, "section header table")
    rows = list(_SECTION.iter_unpack(table))
    total = 0
    for index, row in enumerate(rows[1:], 1):
        if row[1] not in (SHT_NOBITS, SHT_NULL):
            total += len(image.slice(row[4], row[5], f"section {index}"))
    if total > _MAX_OVERLAP * image.size:
        image.fail(header.section_header_offset, "sections overlap one another many times")
    names = _section_names(image, header, rows)
    return tuple(
        Section(index, _name(image, names, row[0], header, index), *row[1:])
        for index, row in enumerate(rows)
    )


def _section_names(image: Image, header: ElfHeader, rows: list[tuple[int, ...]]) -> bytes | None:
    """The string table of section names; None if the object has none."""
    index = header.section_names_index
    if index == 0:
        return None
    if index >= len(rows) or rows[index][1] != SHT_STRTAB:
        image.fail(62, f"section {index}, which should hold the section names, is no string table")
    return bytes(image.slice(rows[index][4], rows[index][5], "section names"))


def _name(image: Image, names: bytes | None, start: int, header: ElfHeader, index: int) -> str:
    if names is None:
        return ""
    end = names.find(b"\0", start) if start < len(names) else -1
    if end < 0:
        at = header.section_header_offset + index * _SECTION.size
        image.fail(at, f"the name of section {index} reaches past the section names")
    return names[start:end].decode("utf-8", "backslashreplace")
