# SPDX-License-Identifier: Apache-2.0
"""Offsets, sizes and text of whole objects, as llvm-objdump prints them."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from postproc.codeobject import CodeObject
from postproc.isa import load
from postproc.isa.processors import table_name

Listing = dict[tuple[str, int], tuple[str, int]]

OVERLAID = ("v_wmma_scale", "tensor_load_to_lds", "tensor_store_from_lds")
"""Instructions of which LLVM 22.1.8 does not know every encoding (`tools/isagen/overlay.py`)."""

BEYOND_LLVM = frozenset({"gfx1250-strict"})
"""Targets whose objects LLVM 22 refuses to open."""


def ours(data: bytes, name: str) -> Listing:
    """The same listing from postproc."""
    found: Listing = {}
    code_object = CodeObject.parse(data, name)
    isa = load(code_object.target.processor)
    for section in code_object.executable_sections:
        offsets, labels = code_object.symbol_offsets(section), code_object.labels(section)
        for one in isa.decode(code_object.code(section), offsets, labels):
            found[section.name, section.address + one.offset] = one.text, one.size
    return found


def differences(path: Path, listing: Callable[[Path], Listing]) -> list[str]:
    """Places where the two listings disagree, overlaid instructions apart."""
    theirs, mine = listing(path), ours(path.read_bytes(), path.name)
    if not any(section.startswith(".") for section, _ in mine):
        # without section headers llvm-objdump makes up section names, and so do we
        theirs = {("", address): value for (_, address), value in theirs.items()}
        mine = {("", address): value for (_, address), value in mine.items()}
    assert theirs, path
    apart = _overlaid(mine)
    return [
        f"{path.name} {place[0]} 0x{place[1]:x}: {mine.get(place)} but LLVM: {value}"
        for place, value in theirs.items()
        if place not in apart and mine.get(place) != value
    ]


def _overlaid(mine: Listing) -> set[tuple[str, int]]:
    """Places at, inside and behind overlaid instructions, as far as LLVM needs to find its way
    back; the bank mode that it prints is forgotten until the next change of it."""
    apart: set[tuple[str, int]] = set()
    lost = 0
    for (section, address), (text, size) in mine.items():
        if text.startswith(OVERLAID):
            lost = 400
        elif text.startswith("s_set_vgpr_msb"):
            lost = min(lost, 4)
        if lost:
            apart |= {(section, address + step) for step in range(0, size, 4)}
            lost -= 1
    return apart


@pytest.mark.needs_llvm
def test_every_corpus_object(
    all_objects: tuple[Path, ...], listing: Callable[[Path], Listing]
) -> None:
    known = []
    for path in all_objects:
        processor = CodeObject.parse(path.read_bytes(), path.name).target.processor
        if table_name(processor) and processor not in BEYOND_LLVM:
            known.append(path)
    assert known
    wrong = [line for path in known for line in differences(path, listing)]
    assert not wrong, "\n".join(wrong[:20])


def test_strict_objects_decode_with_the_tables_of_gfx1250(corpus: Path) -> None:
    for path in (corpus / "gfx1250-strict").iterdir():
        texts = [text for text, _ in ours(path.read_bytes(), path.name).values()]
        assert texts
        assert not [text for text in texts if text.startswith(".long")]


@pytest.mark.needs_llvm
def test_a_sample_of_hand_written_kernels(
    aiter_objects: list[Path], listing: Callable[[Path], Listing]
) -> None:
    for path in random.Random(20).sample(aiter_objects, 150):
        assert not differences(path, listing)[:10]


@pytest.mark.slow
@pytest.mark.needs_llvm
def test_all_hand_written_kernels(
    aiter_objects: list[Path], listing: Callable[[Path], Listing]
) -> None:
    for path in aiter_objects:
        assert not differences(path, listing)[:10]
