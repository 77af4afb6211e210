# SPDX-License-Identifier: Apache-2.0
"""The AMDGPU metadata: a msgpack map in an ELF note.

Source: AMDGPUUsage, "Code Object V3 to V6 Metadata".  Which notes count, and that several are
merged, follows comgr (amd/comgr/src/comgr-metadata.cpp): the notes of segments, and those of
sections only if no segment has any.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, final

from postproc.codeobject.elf import PT_NOTE, SHT_NOTE, Section, Segment

if TYPE_CHECKING:
    from postproc.codeobject.image import Image

__all__ = ["KernelMetadata", "MetadataNote", "merge_documents", "read_metadata_notes"]

NT_AMDGPU_METADATA: Final = 32
_OWNER: Final = b"AMDGPU\0"
_METADATA: Final = (NT_AMDGPU_METADATA, len(_OWNER))
_NOTE: Final = struct.Struct("<III")

_MAX_OVERLAP: Final = 4
"""All segments of notes together are at most this many times as long as the file."""
_KERNELS: Final = "amdhsa.kernels"
_MERGED: Final = (_KERNELS, "amdhsa.printf")
_STRINGS: Final = ("amdhsa.target",)


@final
@dataclass(frozen=True, slots=True)
class MetadataNote:
    """One metadata note.  Offsets are file offsets, sizes bytes.

    `offset` and `size` cover the whole note with its padding, `description_offset` and
    `description_size` the msgpack document in it.  `section` is the index of the section that holds
    it, if there is one.
    """

    section: int | None
    offset: int
    size: int
    description_offset: int
    description_size: int
    document: Mapping[str, Any]


@final
@dataclass(frozen=True, slots=True)
class KernelMetadata:
    """One element of `amdhsa.kernels`.  Sizes are bytes; None means that the key is missing.

    Each field is the key of the same name with a leading dot; `fields` is the whole element.
    """

    name: str
    symbol: str
    fields: Mapping[str, Any]
    group_segment_fixed_size: int | None = None
    private_segment_fixed_size: int | None = None
    kernarg_segment_size: int | None = None
    kernarg_segment_align: int | None = None
    wavefront_size: int | None = None
    sgpr_count: int | None = None
    vgpr_count: int | None = None
    agpr_count: int | None = None
    sgpr_spill_count: int | None = None
    vgpr_spill_count: int | None = None
    max_flat_workgroup_size: int | None = None
    uses_dynamic_stack: bool | None = None

    @property
    def resources(self) -> dict[str, int]:
        """The counts and sizes that are given, by key without the leading dot."""
        found = {name: getattr(self, name) for name in _COUNTS}
        return {name: value for name, value in found.items() if value is not None}


_COUNTS: Final = tuple(
    field.name
    for field in fields(KernelMetadata)
    if field.name not in ("name", "symbol", "fields", "uses_dynamic_stack")
)


def read_metadata_notes(
    image: Image, sections: tuple[Section, ...], segments: tuple[Segment, ...]
) -> tuple[MetadataNote, ...]:
    """All metadata notes in the order of the file; every document is decoded and checked."""
    in_segments = [
        (s.offset, s.file_size, s.alignment) for s in segments if s.type == PT_NOTE and s.file_size
    ]
    in_sections = [(s.offset, s.size, s.alignment) for s in sections if s.type == SHT_NOTE]
    if sum(size for _, size, _ in in_segments) > _MAX_OVERLAP * image.size:
        image.fail(None, "segments of notes overlap one another many times")
    found: dict[int, MetadataNote] = {}
    for spans in (in_segments, in_sections):
        for offset, size, alignment in spans:
            for note in _metadata_notes(image, sections, offset, size, alignment):
                found.setdefault(note.description_offset, note)
        if found:
            break
    return tuple(found[offset] for offset in sorted(found))


def _metadata_notes(
    image: Image, sections: tuple[Section, ...], offset: int, size: int, alignment: int
) -> Iterator[MetadataNote]:
    if alignment not in (0, 1, 4, 8):
        image.fail(offset, f"notes aligned to {alignment} bytes")
    align = max(4, alignment)
    end = offset + size
    while end - offset >= _NOTE.size:
        name_size, description_size, kind = _NOTE.unpack(image.slice(offset, _NOTE.size, "note"))
        name_at = offset + _NOTE.size
        description_at = offset + _up(_NOTE.size + name_size, align)
        following = offset + _up(description_at - offset + description_size, align)
        if description_at + description_size > end:
            image.fail(offset, "a note reaches past the end of its section")
        if (kind, name_size) == _METADATA and bytes(
            image.data[name_at : name_at + len(_OWNER)]
        ) == _OWNER:
            yield MetadataNote(
                _section_of(sections, offset),
                offset,
                min(following, end) - offset,
                description_at,
                description_size,
                _decode(image, description_at, description_size),
            )
        offset = following


def _up(value: int, alignment: int) -> int:
    return (value + alignment - 1) // alignment * alignment


def _section_of(sections: tuple[Section, ...], offset: int) -> int | None:
    for section in sections:
        if section.type == SHT_NOTE and section.offset <= offset < section.offset + section.size:
            return section.index
    return None


def _decode(image: Image, offset: int, size: int) -> Mapping[str, Any]:
    """The document, with everything that postproc reads checked for its type."""
    import msgspec

    data = image.slice(offset, size, "metadata")
    try:
        document = _frozen(msgspec.msgpack.decode(data))
    except (msgspec.MsgspecError, RecursionError, ValueError, TypeError) as error:
        image.fail(offset, f"the metadata are no msgpack: {error}")
    if not _is_map(document):
        image.fail(offset, "the metadata are no msgpack map of names")
    for key in _MERGED:
        if not isinstance(document.get(key, ()), tuple):
            image.fail(offset, f"metadata: {key} is no array")
    for key in _STRINGS:
        if not isinstance(document.get(key, ""), str):
            image.fail(offset, f"metadata: {key} is no string")
    for kernel in document.get(_KERNELS, ()):
        _check_kernel(image, offset, kernel)
    result: Mapping[str, Any] = document
    return result


def _frozen(value: Any) -> Any:
    """The value with maps and arrays that nobody can write: all plugins see the same document."""
    if isinstance(value, dict):
        return MappingProxyType({key: _frozen(item) for key, item in value.items()})
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    return value


def _is_map(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


def _check_kernel(image: Image, offset: int, kernel: Any) -> None:
    if not _is_map(kernel):
        image.fail(offset, "metadata: a kernel is no map of names")
    for key in (".name", ".symbol"):
        if not isinstance(kernel.get(key), str):
            image.fail(offset, f"metadata: a kernel without a string {key}")
    for name in _COUNTS:
        value = kernel.get(f".{name}", 0)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            image.fail(offset, f"metadata: .{name} of {kernel['.name']} is no count")
    if not isinstance(kernel.get(".uses_dynamic_stack", False), bool):
        image.fail(offset, f"metadata: .uses_dynamic_stack of {kernel['.name']} is no boolean")


def merge_documents(notes: tuple[MetadataNote, ...]) -> Mapping[str, Any]:
    """One document for all notes: the first, with the kernels and printf strings of all."""
    merged: dict[str, Any] = {}
    for note in notes:
        for key, value in note.document.items():
            if key in _MERGED and key in merged:
                merged[key] = (*merged[key], *value)
            else:
                merged.setdefault(key, value)
    return MappingProxyType(merged)


def kernels_by_symbol(document: Mapping[str, Any]) -> dict[str, KernelMetadata]:
    """Typed views on `amdhsa.kernels` by the name of the descriptor's symbol; the first counts."""
    found: dict[str, KernelMetadata] = {}
    for kernel in document.get(_KERNELS, ()):
        counts = {name: kernel.get(f".{name}") for name in (*_COUNTS, "uses_dynamic_stack")}
        view = KernelMetadata(kernel[".name"], kernel[".symbol"], kernel, **counts)
        found.setdefault(view.symbol, view)
    return found
