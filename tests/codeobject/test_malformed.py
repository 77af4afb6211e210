# SPDX-License-Identifier: Apache-2.0
"""Damaged objects: one clear error each, with the place in the file and the reason."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from postproc.codeobject import CodeObject
from postproc.errors import MalformedInput

Patch = Callable[..., bytearray]
PatchSection = Callable[..., None]


def refusal(data: bytes | bytearray) -> tuple[int | None, str]:
    """Where and why `data` is refused."""
    with pytest.raises(MalformedInput) as caught:
        CodeObject.parse(bytes(data), "damaged.co")
    assert caught.value.file == "damaged.co"
    return caught.value.offset, caught.value.reason


@pytest.mark.parametrize(
    ("field", "value", "offset", "reason"),
    [
        ("class", 1, 4, "ELF class 1: AMDGPU code objects have 64 bits"),
        ("data", 2, 5, "ELF data encoding 2: AMDGPU code objects are little endian"),
        ("ident_version", 0, 6, "ELF version 0 is unknown"),
        ("os_abi", 65, 7, "the OS ABI is PAL; postproc reads amdhsa code objects"),
        ("os_abi", 0, 7, "the OS ABI is none; postproc reads amdhsa code objects"),
        ("abi_version", 0, 8, "ABI version 0 is not that of a code object of version 3 to 6"),
        ("abi_version", 5, 8, "ABI version 5 is not that of a code object of version 3 to 6"),
        ("type", 4, 16, "ELF type 4 is no code object (relocatable, executable or shared)"),
        ("machine", 62, 18, "ELF machine 62 is not AMDGPU (224)"),
        ("version", 2, 20, "ELF version 2, header size 64: no known ELF header"),
        ("flags", 0x4D, 48, "e_flags 0x4d: processor 0x4d is not known"),
        ("phentsize", 32, 54, "program headers of 32 bytes; 56 expected"),
        ("shentsize", 40, 58, "section headers of 40 bytes; 64 expected"),
        ("shoff", 0, 60, "16 section headers, but no offset of them"),
        (
            "shstrndx",
            1,
            62,
            "section 1, which should hold the section names, is no string table",
        ),
    ],
)
def test_file_header(patched: Patch, field: str, value: int, offset: int, reason: str) -> None:
    assert refusal(patched(**{field: value})) == (offset, reason)


@pytest.mark.parametrize("field", ["phoff", "shoff"])
def test_table_past_the_end(patched: Patch, field: str) -> None:
    for value in (6500, 6544, 1 << 40, (1 << 64) - 1):
        offset, reason = refusal(patched(**{field: value}))
        assert offset == value
        assert "reaches past the end of the file (0x1990)" in reason


@pytest.mark.parametrize("field", ["phnum", "shnum"])
def test_absurd_counts(patched: Patch, field: str) -> None:
    assert "reaches past the end of the file" in refusal(patched(**{field: 0xFFFE}))[1]


def test_not_even_a_header() -> None:
    assert refusal(b"") == (
        0,
        "ELF identification (0x10 bytes) reaches past the end of the file (0x0)",
    )
    assert refusal(b"\x7fELF\x02\x01\x01@\x04" + bytes(40))[1].startswith("ELF header")
    assert refusal(b"hello, this is text")[1] == "no ELF file"


def test_every_truncation_is_refused_or_complete(sample: bytes) -> None:
    """Section headers come last: without any byte of them the object is damaged."""
    for size in range(0, len(sample), 37):
        refusal(sample[:size])


def test_extended_counts(sample: bytes, patched: Patch) -> None:
    """Counts that do not fit 16 bits stand in section header 0; here they are small."""
    data = patched(shnum=0, phnum=0xFFFF, shstrndx=0xFFFF)
    normal = CodeObject.parse(sample, "sample")
    first = normal.header.section_header_offset
    struct.pack_into("<QII", data, first + 32, 16, normal.header.section_names_index, 9)
    code_object = CodeObject.parse(bytes(data), "extended")
    assert code_object.header.section_header_count == 16
    assert code_object.header.program_header_count == 9
    assert code_object.sections[1:] == normal.sections[1:]
    assert code_object.segments == normal.segments


@pytest.mark.parametrize(
    ("section", "values", "reason"),
    [
        (".text", {"offset": 6544}, "section 7 (0x500 bytes) reaches past the end of the file"),
        (".text", {"size": 1 << 63}, "reaches past the end of the file"),
        (".text", {"name": 9999}, "the name of section 7 reaches past the section names"),
        (".text", {"flags": 0x806}, ".text: executable code is compressed"),
        (".text", {"address": (1 << 64) - 16}, ".text reaches past the address space"),
        (".rodata", {"flags": 6, "size": 0x200}, ".rodata and .text overlap"),
        (".symtab", {"link": 99}, ".symtab: section 99 is no string table"),
        (".symtab", {"link": 7}, ".symtab: section 7 is no string table"),
        (".symtab", {"entry_size": 16}, ".symtab: symbols of 16 bytes, no whole table"),
        (".symtab", {"size": 100}, ".symtab: symbols of 24 bytes, no whole table"),
        (".strtab", {"size": 1}, ".symtab: the name of a symbol reaches past its string table"),
        (".strtab", {"type": 2}, "is a second symbol table of its kind"),
        (".hash", {"type": 4}, ".hash is no whole table of relocations"),
        (".hash", {"type": 19}, ".hash: relocations of a kind that AMDGPU does not use"),
        (".rodata", {"size": 64}, "k_cluster.kd is not within section .rodata"),
        (".rodata", {"type": 8}, "k_async.kd is not within section .rodata"),
        (".text", {"flags": 2}, "k_async.kd: the kernel's entry is not in executable code"),
        (".text", {"size": 0x320}, "function k_tr (value 0x1e00, size 0x5c) is not within"),
    ],
)
def test_sections(
    sample: bytes,
    patch_section: PatchSection,
    section: str,
    values: dict[str, int],
    reason: str,
) -> None:
    data = bytearray(sample)
    patch_section(data, section, **values)
    assert reason in refusal(data)[1]


def test_symbol_in_a_section_that_does_not_exist(
    sample: bytes, patch_section: PatchSection
) -> None:
    code_object = CodeObject.parse(sample, "sample")
    (table,) = [s for s in code_object.sections if s.name == ".dynsym"]
    for index, reason in (
        (99, "a symbol is in a section that does not exist"),
        (0xFFFF, "a symbol has an extended section index, and none are given"),
    ):
        data = bytearray(sample)
        struct.pack_into("<H", data, table.offset + 24 + 6, index)
        assert refusal(data) == (table.offset, f".dynsym: {reason}")


def test_sections_that_share_bytes_many_times(patched: Patch, sample: bytes) -> None:
    """Reading each of them would take forever on a large file."""
    data = patched()
    header = CodeObject.parse(sample, "sample").header
    for index in range(1, header.section_header_count):
        at = header.section_header_offset + 64 * index
        struct.pack_into("<QQ", data, at + 24, 0, len(data))
    assert refusal(data)[1] == "sections overlap one another many times"


def test_entry_of_a_descriptor(sample: bytes) -> None:
    kernel = CodeObject.parse(sample, "sample").kernels[0]
    at = kernel.descriptor_offset + 16
    for entry in (0, -1, kernel.descriptor.kernel_code_entry_byte_offset + 2, 1 << 40, -(1 << 63)):
        data = bytearray(sample)
        struct.pack_into("<q", data, at, entry)
        reason = "k_async.kd: the kernel's entry is not in executable code"
        assert refusal(data) == (at, reason)


def test_relocatable_descriptor_without_relocation(corpus: Path) -> None:
    data = bytearray((corpus / "gfx1250" / "rel_indirect.o").read_bytes())
    code_object = CodeObject.parse(bytes(data), "relocatable")
    (table,) = [s for s in code_object.sections if s.name == ".rela.rodata"]
    struct.pack_into("<I", data, table.offset + 8, 3)  # R_AMDGPU_ABS64
    assert refusal(data)[1] == "k_table.kd: the kernel's entry is not in executable code"


def test_relocation_without_symbol(corpus: Path) -> None:
    data = bytearray((corpus / "gfx1250" / "rel_indirect.o").read_bytes())
    code_object = CodeObject.parse(bytes(data), "relocatable")
    (table,) = [s for s in code_object.sections if s.name == ".rela.rodata"]
    struct.pack_into("<I", data, table.offset + 12, 64)
    assert refusal(data) == (
        table.offset,
        ".rela.rodata: a relocation refers to a symbol that does not exist",
    )


def test_without_section_headers_and_without_hash_table(corpus: Path) -> None:
    path = corpus / "gfx1250" / "rdc_gnu_hash_no_sections.co"
    data = bytearray(path.read_bytes())
    (dynamic,) = [s for s in CodeObject.parse(bytes(data), "x").segments if s.type == 2]
    tag = struct.pack("<q", 0x6FFFFEF5)
    at = data.index(tag, dynamic.offset)
    data[at : at + 8] = struct.pack("<q", 0x6FFFFEF6)
    assert refusal(data) == (
        None,
        "neither section headers nor a hash table: symbols cannot be counted",
    )


def test_processor_that_the_metadata_contradict(patched: Patch) -> None:
    offset, reason = refusal(patched(flags=0x54C))
    assert reason == "e_flags say gfx942, the metadata say gfx1250"
    assert offset is not None


def test_code_object_version_2_says_what_to_do(patched: Patch) -> None:
    with pytest.raises(MalformedInput) as caught:
        CodeObject.parse(bytes(patched(abi_version=0)), "old.co")
    assert caught.value.hint == "build it again with -mcode-object-version=5"
    assert str(caught.value).splitlines()[0].startswith("old.co, file offset 0x8: ABI version 0")
