# SPDX-License-Identifier: Apache-2.0
"""Kernels, functions, entries, and the objects that make them difficult."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from postproc.codeobject import CodeObject, TextPosition


@pytest.fixture
def load(corpus: Path) -> Callable[[str], CodeObject]:
    """`load("gfx1250/icf_all.co")`."""
    return lambda name: CodeObject.parse((corpus / name).read_bytes(), name)


Load = Callable[[str], CodeObject]


def test_kernels_of_a_linked_object(load: Load) -> None:
    code_object = load("gfx1250/async1250_O3.co")
    (text,) = code_object.executable_sections
    assert [(k.name, k.section_index, k.offset, k.entry_address) for k in code_object.kernels] == [
        ("k_async", text.index, 0x0, 0x1B00),
        ("k_cluster", text.index, 0x200, 0x1D00),
        ("k_tr", text.index, 0x300, 0x1E00),
    ]
    assert [(f.name, f.offset, f.size, f.is_kernel) for f in code_object.functions] == [
        ("k_async", 0, 288, True),
        ("k_cluster", 0x200, 124, True),
        ("k_tr", 0x300, 92, True),
    ]
    assert code_object.wavefront_sizes == {32}


def test_wavefront_size_is_what_the_kernel_asks_for(load: Load) -> None:
    assert load("gfx1030/lds_wave64.co").wavefront_sizes == {64}
    assert load("gfx1030/calls_O3.co").wavefront_sizes == {32}
    assert load("gfx942/calls_O3.co").wavefront_sizes == {64}


def test_kernels_that_share_an_entry_all_exist(load: Load) -> None:
    """ld.lld --icf=all leaves several descriptors for one body."""
    code_object = load("gfx1250/icf_all.co")
    places = [kernel.position for kernel in code_object.kernels]
    assert len(places) > len(set(places))
    kernel_entries = [entry for entry in code_object.entries if entry.kind == "kernel"]
    assert len(kernel_entries) == len(set(places))


def test_hand_written_kernels(load: Load) -> None:
    """No size, no type, two kernels at one place, no metadata."""
    code_object = load("gfx1250/edge1250.co")
    assert [(f.name, f.size, f.sized, f.is_kernel) for f in code_object.functions] == [
        ("k_vendor", 0, False, True),
        ("k_alias", 0, False, True),
        ("k_two", 0, False, True),
    ]
    assert code_object.metadata == {}
    assert code_object.metadata_note is None
    assert all(kernel.metadata is None for kernel in code_object.kernels)


def test_local_labels_are_no_entries(load: Load) -> None:
    """Hand-written code has thousands of local labels, the targets of its own branches."""
    names = {entry.name for entry in load("gfx1250/edge1250.co").entries}
    assert "anon_fn" not in names


def test_several_executable_sections(load: Load) -> None:
    code_object = load("gfx1250/multi_text_sections.co")
    names = {section.index: section.name for section in code_object.executable_sections}
    assert sorted(names.values()) == [".text", ".text.cold", ".text.hot"]
    places = {k.name: (names[k.section_index], k.offset) for k in code_object.kernels}
    assert places["same_a"] == (".text.hot", 0)
    assert places["same_b"] == (".text", 0)
    helpers = {f.name: names[f.section_index] for f in code_object.functions if not f.is_kernel}
    assert set(helpers.values()) == {".text.cold"}


def test_stripped_object_has_its_dynamic_symbols(load: Load) -> None:
    code_object = load("gfx1250/calls_stripped.co")
    assert not [section for section in code_object.sections if section.name == ".symtab"]
    assert code_object.kernels
    assert {f.name for f in code_object.functions} == {k.name for k in code_object.kernels}


@pytest.mark.parametrize("name", ["branchy_no_sections.co", "rdc_gnu_hash_no_sections.co"])
def test_object_without_section_headers(load: Load, name: str) -> None:
    """Executable segments stand for sections, and the dynamic section gives the symbols."""
    code_object = load(f"gfx1250/{name}")
    assert code_object.sections == ()
    (text,) = code_object.executable_sections
    assert (text.name, text.index) == ("<segment 2>", -3)
    assert code_object.kernels
    for kernel in code_object.kernels:
        assert kernel.section_index == -3
        assert kernel.metadata is not None
        assert code_object.address_of(kernel.position) == kernel.entry_address


@pytest.mark.needs_llvm
def test_removing_section_headers_loses_nothing_that_counts(
    corpus_objects: tuple[Path, ...], llvm: Callable[..., str], tmp_path: Path
) -> None:
    for path in corpus_objects:
        before = CodeObject.parse(path.read_bytes(), str(path))
        if before.is_relocatable or not before.sections:
            continue
        llvm("llvm-objcopy", "--strip-sections", path, tmp_path / "out.co")
        after = CodeObject.parse((tmp_path / "out.co").read_bytes(), str(path))
        assert after.target == before.target
        assert after.metadata == before.metadata
        assert [(k.name, k.entry_address, k.descriptor) for k in after.kernels] == [
            (k.name, k.entry_address, k.descriptor) for k in before.kernels
        ]
        exported = {(f.name, f.address) for f in before.functions if f.is_global}
        assert {(f.name, f.address) for f in after.functions} == exported


def test_relocatable_kernels_start_where_their_relocation_says(load: Load) -> None:
    """The descriptor of an object that is not linked holds no entry, only a relocation."""
    code_object = load("gfx1250/rel_indirect.o")
    assert code_object.is_relocatable
    functions = {f.name: (f.section_index, f.offset) for f in code_object.functions}
    for kernel in code_object.kernels:
        assert (kernel.section_index, kernel.offset) == functions[kernel.name]
    assert code_object.position_of(0) is None


def test_addresses_in_tables_are_entries(load: Load) -> None:
    """Function pointers in data, as relocations of either kind of object."""
    for name in ("gfx1250/indirect_O3.co", "gfx1250/rel_indirect.o"):
        code_object = load(name)
        pointed_at = {f.name for f in code_object.functions if f.name.startswith("_Z2f")}
        assert pointed_at >= {"_Z2f0fi", "_Z2f1fi", "_Z2f2fi", "_Z2f3fi"}
        places = {(e.section_index, e.offset) for e in code_object.entries}
        for function in code_object.functions:
            assert (function.section_index, function.offset) in places


@pytest.mark.needs_llvm
def test_addresses_in_tables_are_entries_without_symbols(
    corpus: Path, llvm: Callable[..., str], tmp_path: Path
) -> None:
    """Stripped of .symtab, the local functions of a table are entries by relocation alone."""
    path = corpus / "gfx1250" / "indirect_O3.co"
    before = CodeObject.parse(path.read_bytes(), str(path))
    llvm("llvm-strip", "--strip-all", path, "-o", tmp_path / "out.co")
    after = CodeObject.parse((tmp_path / "out.co").read_bytes(), "stripped")
    hidden = {(f.section_index, f.offset) for f in before.functions if f.name.startswith("_Z2f")}
    relocated = {(e.section_index, e.offset) for e in after.entries if e.kind == "relocation"}
    assert hidden <= relocated


def test_entries_are_in_order_and_unique(corpus_object: Path) -> None:
    code_object = CodeObject.parse(corpus_object.read_bytes(), str(corpus_object))
    places = [(e.section_index, e.offset) for e in code_object.entries]
    assert places == sorted(set(places))
    sizes = {section.index: section.size for section in code_object.executable_sections}
    assert all(offset % 4 == 0 and offset < sizes[index] for index, offset in places)
    for kernel in code_object.kernels:
        assert (kernel.section_index, kernel.offset) in places


def test_positions_and_addresses_are_inverse(corpus_object: Path) -> None:
    code_object = CodeObject.parse(corpus_object.read_bytes(), str(corpus_object))
    if code_object.is_relocatable:
        return
    for section in code_object.executable_sections:
        for offset in (0, section.size - 4):
            place = TextPosition(section.index, offset)
            assert code_object.position_of(code_object.address_of(place)) == place
        assert code_object.position_of(section.end_address) != TextPosition(
            section.index, section.size
        )
    assert code_object.position_of(0) is None
    assert code_object.position_of(-4) is None
    assert code_object.position_of(1 << 64) is None


@pytest.mark.needs_llvm
def test_more_than_65279_sections(llvm: Callable[..., str], tmp_path: Path) -> None:
    """Section counts and indices that do not fit 16 bits stand elsewhere."""
    number = 70_000
    source = "".join(
        f'.section .text.f{i},"ax",@progbits\n.type f{i},@function\nf{i}: s_endpgm\n.size f{i},4\n'
        for i in range(number)
    )
    (tmp_path / "many.s").write_text(source)
    options = ("-triple=amdgcn-amd-amdhsa", "-mcpu=gfx1250", "-filetype=obj")
    llvm("llvm-mc", *options, tmp_path / "many.s", "-o", tmp_path / "many.o")
    code_object = CodeObject.parse((tmp_path / "many.o").read_bytes(), "many.o")
    assert len(code_object.sections) > number
    assert len(code_object.functions) == number
    names = {section.index: section.name for section in code_object.executable_sections}
    last = code_object.functions[-1]
    assert (last.name, names[last.section_index]) == (f"f{number - 1}", f".text.f{number - 1}")


def test_symbol_tables_are_merged_without_doubles(load: Load) -> None:
    code_object = load("gfx1250/async1250_O3.co")
    names = code_object.symbols.names(range(len(code_object.symbols)))
    assert names.count("k_async.kd") == 1
    tables = [len(table) for table in code_object.symbol_tables.values()]
    assert len(code_object.symbols) == max(tables)


@pytest.mark.slow
@pytest.mark.needs_llvm
def test_corpus_is_what_its_sources_give(corpus: Path) -> None:
    """With Debian's LLVM 22.1.8, byte for byte."""
    command = ["python3", str(corpus / "rebuild.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (result.returncode, result.stdout) == (0, "")


def test_a_branch_that_is_not_linked_yet_goes_where_its_relocation_says(
    llvm: Callable[..., str], tmp_path: Path
) -> None:
    """A local label of another section: the relocation names that section and an offset in it."""
    source, built = tmp_path / "branch.s", tmp_path / "branch.o"
    source.write_text(
        's_nop 0\ns_nop 0\n.Lhere:\ns_endpgm\n.section .elsewhere,"ax",@progbits\ns_branch .Lhere\n'
    )
    options = ("-triple=amdgcn-amd-amdhsa", "-mcpu=gfx1250", "-filetype=obj")
    llvm("llvm-mc", *options, "-o", built, source)
    code_object = CodeObject.parse(built.read_bytes(), "branch.o")
    assert [(e.kind, e.offset) for e in code_object.entries] == [("relocation", 8)]
