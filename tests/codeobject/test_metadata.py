# SPDX-License-Identifier: Apache-2.0
"""The metadata notes: where they stand, what they say, and what is refused."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from postproc.codeobject import CodeObject
from postproc.errors import MalformedInput


def test_resources_of_a_kernel(sample: bytes) -> None:
    kernel = CodeObject.parse(sample, "sample").kernels[0]
    assert kernel.metadata is not None
    assert (kernel.metadata.name, kernel.metadata.symbol) == ("k_async", "k_async.kd")
    assert kernel.metadata.uses_dynamic_stack is False
    assert kernel.metadata.agpr_count is None
    assert kernel.metadata.resources == {
        "group_segment_fixed_size": 5120,
        "kernarg_segment_align": 8,
        "kernarg_segment_size": 28,
        "max_flat_workgroup_size": 64,
        "private_segment_fixed_size": 0,
        "sgpr_count": 10,
        "sgpr_spill_count": 0,
        "vgpr_count": 13,
        "vgpr_spill_count": 0,
        "wavefront_size": 32,
    }
    assert len(kernel.metadata.fields[".args"]) == 4


def test_documents_are_encoded_as_msgspec_would(corpus_object: Path) -> None:
    """So that a note can be written again without changing what is not meant to change."""
    code_object = CodeObject.parse(corpus_object.read_bytes(), str(corpus_object))
    for note in code_object.metadata_notes:
        end = note.description_offset + note.description_size
        data = bytes(code_object.data[note.description_offset : end])
        assert msgspec.msgpack.encode(note.document, enc_hook=dict) == data


def test_several_notes_are_merged(corpus: Path) -> None:
    """One for each translation unit; the kernels of all count."""
    path = corpus / "gfx1250" / "rdc_sysv_hash.co"
    code_object = CodeObject.parse(path.read_bytes(), str(path))
    counts = [len(note.document["amdhsa.kernels"]) for note in code_object.metadata_notes]
    assert counts == [2, 1, 0]
    names = [kernel[".name"] for kernel in code_object.metadata["amdhsa.kernels"]]
    assert names == ["ka", "ka2", "kb"]
    assert [kernel.name for kernel in code_object.kernels] == sorted(names)
    assert all(kernel.metadata is not None for kernel in code_object.kernels)
    assert code_object.metadata_note == code_object.metadata_notes[0]
    assert code_object.metadata_notes[0].document["amdhsa.kernels"] is not names


def test_where_a_note_stands(sample: bytes) -> None:
    code_object = CodeObject.parse(sample, "sample")
    note = code_object.metadata_note
    assert note is not None
    assert note.section is not None
    section = code_object.sections[note.section]
    assert section.name == ".note"
    assert (note.offset, note.size) == (section.offset, section.size)
    assert note.description_offset == note.offset + 20


def with_document(sample: bytes, document: object) -> bytes:
    """The sample with other metadata; what is left of the note becomes another one."""
    note = CodeObject.parse(sample, "sample").metadata_note
    assert note is not None
    encoded = document if isinstance(document, bytes) else msgspec.msgpack.encode(document)
    assert len(encoded) <= note.description_size
    data = bytearray(sample)
    data[note.description_offset : note.description_offset + len(encoded)] = encoded
    struct.pack_into("<I", data, note.offset + 4, len(encoded))
    rest = note.description_offset + (len(encoded) + 3) // 4 * 4
    left = note.offset + note.size - rest - 16
    assert left >= 0
    struct.pack_into("<III4s", data, rest, 4, left, 1, b"PAD")
    return bytes(data)


KERNEL = {".name": "k_async", ".symbol": "k_async.kd"}


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (b"\xc1", "the metadata are no msgpack"),
        (b"\x91" * 1000, "the metadata are no msgpack"),
        (b"\x81\xa1", "the metadata are no msgpack"),
        (b"\x80\x80", "the metadata are no msgpack"),
        ([1, 2], "the metadata are no msgpack map of names"),
        ({1: 2}, "the metadata are no msgpack map of names"),
        ({"amdhsa.kernels": 1}, "metadata: amdhsa.kernels is no array"),
        ({"amdhsa.target": 1}, "metadata: amdhsa.target is no string"),
        ({"amdhsa.kernels": [1]}, "metadata: a kernel is no map of names"),
        ({"amdhsa.kernels": [{}]}, "metadata: a kernel without a string .name"),
        ({"amdhsa.kernels": [{".name": "k"}]}, "metadata: a kernel without a string .symbol"),
        (
            {"amdhsa.kernels": [{**KERNEL, ".vgpr_count": -1}]},
            "metadata: .vgpr_count of k_async is no count",
        ),
        (
            {"amdhsa.kernels": [{**KERNEL, ".sgpr_count": "many"}]},
            "metadata: .sgpr_count of k_async is no count",
        ),
        (
            {"amdhsa.kernels": [{**KERNEL, ".uses_dynamic_stack": 1}]},
            "metadata: .uses_dynamic_stack of k_async is no boolean",
        ),
    ],
)
def test_documents_that_are_refused(sample: bytes, document: Any, reason: str) -> None:
    with pytest.raises(MalformedInput, match=f"^damaged.co, file offset 0x24c: {reason}"):
        CodeObject.parse(with_document(sample, document), "damaged.co")


def test_documents_that_are_accepted(sample: bytes) -> None:
    code_object = CodeObject.parse(with_document(sample, {"amdhsa.kernels": [KERNEL]}), "x.co")
    by_name = {kernel.name: kernel.metadata for kernel in code_object.kernels}
    assert by_name["k_tr"] is None
    assert by_name["k_async"] is not None
    assert by_name["k_async"].resources == {}


def test_a_note_that_is_too_long(sample: bytes) -> None:
    note = CodeObject.parse(sample, "sample").metadata_note
    assert note is not None
    for size in (note.description_size + 8, 0xFFFFFFFF):
        data = bytearray(sample)
        struct.pack_into("<I", data, note.offset + 4, size)
        with pytest.raises(MalformedInput, match="a note reaches past the end of its section"):
            CodeObject.parse(bytes(data), "damaged.co")


def test_without_a_segment_the_sections_of_notes_count(
    sample: bytes, patched: Callable[..., bytearray]
) -> None:
    data = patched()
    original = CodeObject.parse(sample, "sample")
    for segment in original.segments:
        if segment.type == 4:
            struct.pack_into("<I", data, 64 + 56 * segment.index, 0)
    assert CodeObject.parse(bytes(data), "x.co").metadata == original.metadata
