# SPDX-License-Identifier: Apache-2.0
"""The code object: one AMDGPU ELF image, parsed and checked as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from postproc.codeobject.dynamic import dynamic_relocations, dynamic_symbols, read_dynamic
from postproc.codeobject.elf import (
    SHT_DYNSYM,
    SHT_SYMTAB,
    ElfHeader,
    Section,
    Segment,
    read_header,
    read_sections,
    read_segments,
)
from postproc.codeobject.entries import (
    Entry,
    Function,
    FunctionRows,
    Kernel,
    find_entries,
    find_kernels,
)
from postproc.codeobject.image import Image
from postproc.codeobject.layout import Layout
from postproc.codeobject.notes import (
    MetadataNote,
    kernels_by_symbol,
    merge_documents,
    read_metadata_notes,
)
from postproc.codeobject.places import TextPosition
from postproc.codeobject.relocations import RelocationTable, read_relocations
from postproc.codeobject.symbols import (
    EMPTY,
    STT_NOTYPE,
    STT_SECTION,
    SymbolTable,
    read_symbols,
)
from postproc.codeobject.targets import Target, decode_flags, disagreement

__all__ = ["CodeObject"]


@final
class CodeObject:
    """One AMDGPU ELF image, read-only.

    Everything is checked by `parse`: no attribute raises afterwards.  Sizes and offsets are bytes.

    data            the image, a read-only memoryview
    name            what errors and reports call it
    header          the ELF file header
    target          processor and features, from `e_flags`, agreeing with the metadata
    segments        program headers
    sections        section headers, the null section at index 0; empty if they were removed
    symbols         those of .symtab, then those that are in .dynsym only
    symbol_tables   the tables by index of their section; relocations refer to these
    relocations     one table for each section of relocations
    metadata        the msgpack document, that of all notes if there are several; empty if none
    metadata_notes  where it stands
    kernels         by name
    """

    def __init__(self, data: bytes | bytearray | memoryview, name: str) -> None:
        image = Image(data, name)
        self.data = image.data
        self.name = name
        self.header: ElfHeader = read_header(image)
        self.target: Target = _target(image, self.header)
        self.segments: tuple[Segment, ...] = read_segments(image, self.header)
        self.sections: tuple[Section, ...] = read_sections(image, self.header)
        self._layout = Layout(image, self.header, self.segments, self.sections)
        self._read_symbols(image)
        self.metadata_notes: tuple[MetadataNote, ...] = read_metadata_notes(
            image, self.sections, self.segments
        )
        self.metadata: Mapping[str, Any] = merge_documents(self.metadata_notes)
        _check_target(image, self.target, self.metadata_notes)
        self.kernels: tuple[Kernel, ...] = find_kernels(
            self._layout,
            self.symbols,
            self.relocations,
            self.target,
            kernels_by_symbol(self.metadata),
        )
        self._function_rows = FunctionRows(self._layout, self.symbols)

    @classmethod
    def parse(cls, data: bytes | bytearray | memoryview, name: str) -> CodeObject:
        """Read and check a code object; `name` is what errors call it.

        MalformedInput: `data` is no AMDGPU code object, or a damaged one.
        """
        return cls(data, name)

    def __repr__(self) -> str:
        return f"<CodeObject {self.name!r} {self.target}>"

    def _read_symbols(self, image: Image) -> None:
        self.symbol_tables: Mapping[int, SymbolTable]
        self.relocations: tuple[RelocationTable, ...]
        if not self.sections:
            tags, loaded = read_dynamic(image, self.segments), self._layout.loaded
            self.symbols: SymbolTable = dynamic_symbols(image, loaded, tags)
            self.symbol_tables = {}
            self.relocations = dynamic_relocations(image, loaded, tags, self.symbols)
            return
        tables = {}
        for kind in (SHT_SYMTAB, SHT_DYNSYM):
            found = [section for section in self.sections if section.type == kind]
            for section in found[1:]:
                image.fail(section.offset, f"{section.name} is a second symbol table of its kind")
            for section in found:
                tables[section.index] = read_symbols(image, self.sections, section)
        self.symbol_tables = tables
        self.symbols = EMPTY
        for table in tables.values():
            self.symbols = self.symbols.merged_with(table) if len(self.symbols) else table
        self.relocations = read_relocations(image, self.sections, tables)

    @property
    def is_relocatable(self) -> bool:
        """Whether the object is not linked yet: addresses are offsets in sections."""
        return self._layout.is_relocatable

    @property
    def executable_sections(self) -> tuple[Section, ...]:
        """The sections that hold code; the executable segments if there are no section headers."""
        return self._layout.executable

    @property
    def metadata_note(self) -> MetadataNote | None:
        """The metadata note, the first if there are several, None if there is none."""
        return self.metadata_notes[0] if self.metadata_notes else None

    @property
    def wavefront_sizes(self) -> frozenset[int]:
        """The lanes of a wavefront, by what the kernels ask for; the usual one without kernels."""
        usual = 64 if self.target.version < (10, 0, 0) else 32
        return frozenset(kernel.wavefront_size for kernel in self.kernels) or frozenset({usual})

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """Function symbols in executable sections, and kernels without one, in order of place."""
        return self._function_rows.functions(self.kernels)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Where control may enter, in order of place, one for each place."""
        return find_entries(
            self._layout, self.symbols, self.relocations, self.kernels, self.functions
        )

    def code(self, section: Section) -> memoryview:
        """The bytes of a section; none if it occupies no file space."""
        size = section.size if section.has_bytes else 0
        return self.data[section.offset : section.offset + size]

    def symbol_offsets(self, section: Section) -> npt.NDArray[np.intp]:
        """Offsets in `section` where symbols stand, ascending and distinct; disassemblers begin
        anew there."""
        return np.unique(self._symbol_places(section)[1])

    def labels(self, section: Section) -> dict[int, str]:
        """The first untyped symbol (STT_NOTYPE) at each offset of `section` that has one; LLVM
        prints its name as the target of a branch."""
        rows, offsets = self._symbol_places(section)
        untyped = self.symbols.type[rows] == STT_NOTYPE
        found: dict[int, str] = {}
        for row, offset in zip(rows[untyped].tolist(), offsets[untyped].tolist(), strict=True):
            found.setdefault(offset, self.symbols.name(row))
        return found

    def _symbol_places(self, section: Section) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Rows of the symbols in `section`, section names apart, and their offsets in it."""
        symbols = self.symbols
        base = 0 if self.is_relocatable else section.address
        inside = symbols.section == section.index if section.index >= 0 else symbols.section > 0
        inside = inside & (symbols.type != STT_SECTION)
        inside &= (symbols.value >= base) & (symbols.value - np.uint64(base) < section.size)
        rows = np.flatnonzero(inside)
        return rows, (symbols.value[rows] - np.uint64(base)).astype(np.intp)

    def position_of(self, address: int) -> TextPosition | None:
        """The executable byte at a virtual address; None if it is not code, or not linked yet."""
        return None if self.is_relocatable else self._layout.position_of(address)

    def address_of(self, position: TextPosition) -> int:
        """The virtual address of an executable byte; its offset if the object is relocatable."""
        return self._layout.address_of(position)


def _target(image: Image, header: ElfHeader) -> Target:
    target = decode_flags(header.flags, header.code_object_version)
    if target is None:
        mach = header.flags & 0xFF
        image.fail(48, f"e_flags 0x{header.flags:x}: processor 0x{mach:x} is not known")
    return target


def _check_target(image: Image, target: Target, notes: tuple[MetadataNote, ...]) -> None:
    for note in notes:
        difference = disagreement(target, note.document.get("amdhsa.target", ""))
        if difference is not None:
            image.fail(note.description_offset, difference)
