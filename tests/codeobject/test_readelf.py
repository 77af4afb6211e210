# SPDX-License-Identifier: Apache-2.0
"""Everything that llvm-readelf says of an object, the model says too."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postproc.codeobject import CodeObject, SymbolTable

pytestmark = pytest.mark.needs_llvm

OPTIONS = ("--elf-output-style=JSON", "-h", "-S", "-l", "-s", "--dyn-syms", "-r")
BATCH = 100


@pytest.fixture(scope="module")
def readings(
    all_objects: tuple[Path, ...], llvm: Callable[..., str]
) -> list[tuple[CodeObject, dict[str, Any]]]:
    """Each object as the model and as llvm-readelf see it."""
    found: list[tuple[CodeObject, dict[str, Any]]] = []
    for start in range(0, len(all_objects), BATCH):
        paths = all_objects[start : start + BATCH]
        for path, reading in zip(
            paths, json.loads(llvm("llvm-readelf", *OPTIONS, *paths)), strict=True
        ):
            found.append((CodeObject.parse(path.read_bytes(), str(path)), reading))
    return found


Readings = list[tuple[CodeObject, dict[str, Any]]]


def test_header(readings: Readings) -> None:
    for code_object, reading in readings:
        theirs, ours = reading["ElfHeader"], code_object.header
        assert ours.flags == theirs["Flags"]["Value"]
        assert ours.abi_version == theirs["Ident"]["ABIVersion"]
        assert ours.program_header_count == theirs["ProgramHeaderCount"]
        assert ours.section_header_count == int(theirs["SectionHeaderCount"])
        assert f"(0x{ours.type:X})" in theirs["Type"]


def test_processor(readings: Readings) -> None:
    for code_object, reading in readings:
        names = [flag["Name"] for flag in reading["ElfHeader"]["Flags"]["Flags"]]
        machs = [name for name in names if name.startswith("EF_AMDGPU_MACH_")]
        if machs:  # LLVM 22 does not know gfx1250-strict
            ours = code_object.target.processor.upper().replace("-", "_")
            assert machs == [f"EF_AMDGPU_MACH_AMDGCN_{ours}"]
        for feature in ("xnack", "sramecc"):
            setting = getattr(code_object.target, feature)
            flag = f"EF_AMDGPU_FEATURE_{feature.upper()}_{setting.upper()}_V4"
            assert (flag in names) == (setting != "unsupported")


def test_sections(readings: Readings) -> None:
    for code_object, reading in readings:
        theirs = [item["Section"] for item in reading["Sections"]]
        assert [
            (
                s.index,
                s.name,
                s.type,
                s.flags,
                s.address,
                s.offset,
                s.size,
                s.link,
                s.info,
                s.alignment,
                s.entry_size,
            )
            for s in code_object.sections
        ] == [
            (
                s["Index"],
                s["Name"]["Name"],
                s["Type"]["Value"],
                s["Flags"]["Value"],
                s["Address"],
                s["Offset"],
                s["Size"],
                s["Link"],
                s["Info"],
                s["AddressAlignment"],
                s["EntrySize"],
            )
            for s in theirs
        ]


def test_segments(readings: Readings) -> None:
    for code_object, reading in readings:
        theirs = [item["ProgramHeader"] for item in reading["ProgramHeaders"]]
        assert [
            (s.type, s.offset, s.address, s.file_size, s.memory_size, s.flags, s.alignment)
            for s in code_object.segments
        ] == [
            (
                s["Type"]["Value"],
                s["Offset"],
                s["VirtualAddress"],
                s["FileSize"],
                s["MemSize"],
                s["Flags"]["Value"],
                s["Alignment"],
            )
            for s in theirs
        ]


def test_symbols(readings: Readings) -> None:
    for code_object, reading in readings:
        for key, kind in (("Symbols", 2), ("DynamicSymbols", 11)):
            tables = [s.index for s in code_object.sections if s.type == kind]
            if tables:
                ours = code_object.symbol_tables[tables[0]]
                assert _ours(ours) == _theirs(reading[key]), code_object.name


def _ours(table: SymbolTable) -> list[tuple[object, ...]]:
    names = [
        # LLVM shows the section's name for section symbols, which have none of their own
        None if kind == 3 else name
        for name, kind in zip(table.names(range(len(table))), table.type.tolist(), strict=True)
    ]
    sections = [index % 0x10000 for index in table.section.tolist()]
    columns = (table.value, table.size, table.binding, table.type)
    return list(zip(names, *(column.tolist() for column in columns), sections, strict=True))


def _theirs(symbols: list[dict[str, Any]]) -> list[tuple[object, ...]]:
    return [
        (
            None if s["Type"]["Value"] == 3 else s["Name"]["Name"],
            s["Value"],
            s["Size"],
            s["Binding"]["Value"],
            s["Type"]["Value"],
            s["Section"]["Value"],
        )
        for s in (item["Symbol"] for item in symbols)
    ]


def test_relocations(readings: Readings) -> None:
    checked = 0
    for code_object, reading in readings:
        if not code_object.sections:
            continue
        theirs = {
            item["SectionIndex"]: [
                (r["Offset"], r["Type"]["Value"], r["Symbol"]["Value"], r["Addend"])
                for r in (entry["Relocation"] for entry in item["Relocs"])
            ]
            for item in reading["Relocations"]
        }
        ours = {
            table.section: list(
                zip(
                    table.offset.tolist(),
                    table.type.tolist(),
                    table.symbol.tolist(),
                    table.addend.tolist(),
                    strict=True,
                )
            )
            for table in code_object.relocations
        }
        assert {key: _unsigned(rows) for key, rows in ours.items()} == {
            key: _unsigned(rows) for key, rows in theirs.items()
        }
        checked += len(ours)
    assert checked > 10


def _unsigned(rows: list[tuple[int, int, int, int]]) -> list[tuple[int, ...]]:
    """LLVM's JSON prints addends as unsigned numbers."""
    return [tuple(value % (1 << 64) for value in row) for row in rows]
