# SPDX-License-Identifier: Apache-2.0
"""pyelftools, a second oracle that needs no LLVM, agrees about every object."""

from __future__ import annotations

from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, SymbolTableSection

from postproc.codeobject import CodeObject


def test_sections_and_segments(corpus_object: Path) -> None:
    code_object = CodeObject.parse(corpus_object.read_bytes(), str(corpus_object))
    with corpus_object.open("rb") as file:
        elf = ELFFile(file)
        theirs = [(s.name, s["sh_offset"], s["sh_size"], s["sh_addr"]) for s in elf.iter_sections()]
        spans = [(s["p_offset"], s["p_filesz"], s["p_vaddr"]) for s in elf.iter_segments()]
    ours = [(s.name, s.offset, s.size, s.address) for s in code_object.sections]
    assert ours == theirs
    assert [(s.offset, s.file_size, s.address) for s in code_object.segments] == spans


def test_symbols_and_notes(corpus_object: Path) -> None:
    code_object = CodeObject.parse(corpus_object.read_bytes(), str(corpus_object))
    symbols, notes = set(), []
    with corpus_object.open("rb") as file:
        for section in ELFFile(file).iter_sections():
            if isinstance(section, SymbolTableSection):
                symbols |= {(s.name, s["st_value"], s["st_size"]) for s in section.iter_symbols()}
            if isinstance(section, NoteSection):
                notes += [
                    (n["n_offset"], n["n_descsz"])
                    for n in section.iter_notes()
                    if n["n_name"] == "AMDGPU"
                ]
    if not code_object.sections:
        return
    table = code_object.symbols
    names = table.names(range(len(table)))
    ours = set(zip(names, table.value.tolist(), table.size.tolist(), strict=True))
    assert ours == symbols
    assert [(n.offset, n.description_size) for n in code_object.metadata_notes] == notes
