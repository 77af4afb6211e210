# SPDX-License-Identifier: Apache-2.0
"""What the dynamic section says: the only way to symbols when section headers were removed.

Source: System V ABI, "Dynamic Section", "Hash Table"; GNU hash as in lld (ELF/SyntheticSections).
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from postproc.codeobject.elf import PT_DYNAMIC, Segment
from postproc.codeobject.relocations import RELA, RelocationTable, relocation_table
from postproc.codeobject.symbols import EMPTY, SYMBOL, SymbolTable, symbol_table

if TYPE_CHECKING:
    from postproc.codeobject.image import Image

__all__ = ["dynamic_relocations", "dynamic_symbols", "file_offset", "read_dynamic"]

DT_NULL: Final = 0
DT_HASH: Final = 4
DT_STRTAB: Final = 5
DT_SYMTAB: Final = 6
DT_RELA: Final = 7
DT_RELASZ: Final = 8
DT_RELAENT: Final = 9
DT_STRSZ: Final = 10
DT_REL: Final = 17
DT_RELR: Final = 36
DT_GNU_HASH: Final = 0x6FFFFEF5

_ENTRY: Final = struct.Struct("<qQ")
_GNU_HASH: Final = struct.Struct("<IIII")


def file_offset(image: Image, loaded: Sequence[Segment], address: int, size: int) -> int:
    """Where `size` bytes at `address` stand in the file; MalformedInput if they do not.

    `loaded` are the PT_LOAD segments, in order of address.
    """
    rank = bisect_right(loaded, address, key=lambda segment: segment.address) - 1
    if rank >= 0:
        start = address - loaded[rank].address
        if start + size <= loaded[rank].file_size:
            return loaded[rank].offset + start
    image.fail(None, f"no segment has 0x{size:x} bytes at address 0x{address:x} in the file")


def read_dynamic(image: Image, segments: tuple[Segment, ...]) -> dict[int, int]:
    """Tags and values of the dynamic section, the first of each tag; empty if there is none."""
    tags: dict[int, int] = {}
    for segment in segments:
        if segment.type != PT_DYNAMIC:
            continue
        whole = segment.file_size - segment.file_size % _ENTRY.size
        for tag, value in _ENTRY.iter_unpack(image.slice(segment.offset, whole, "dynamic section")):
            if tag == DT_NULL:
                break
            tags.setdefault(tag, value)
    return tags


def dynamic_symbols(image: Image, loaded: Sequence[Segment], tags: dict[int, int]) -> SymbolTable:
    """The dynamic symbols, counted through the hash table."""
    if DT_SYMTAB not in tags or DT_STRTAB not in tags:
        return EMPTY
    count = _symbol_count(image, loaded, tags)
    at = file_offset(image, loaded, tags[DT_SYMTAB], count * SYMBOL.itemsize)
    rows = image.records(at, count, SYMBOL, "dynamic symbols")
    strings_size = tags.get(DT_STRSZ, 0)
    strings_at = file_offset(image, loaded, tags[DT_STRTAB], strings_size)
    strings = bytes(image.slice(strings_at, strings_size, "dynamic strings"))
    return symbol_table(image, at, "dynamic symbols", rows, strings, None)


def dynamic_relocations(
    image: Image, loaded: Sequence[Segment], tags: dict[int, int], symbols: SymbolTable
) -> tuple[RelocationTable, ...]:
    """The relocations that the loader applies."""
    if DT_REL in tags or DT_RELR in tags:
        image.fail(None, "dynamic relocations without addends, which AMDGPU does not use")
    size = tags.get(DT_RELASZ, 0)
    if DT_RELA not in tags or size == 0:
        return ()
    if tags.get(DT_RELAENT, RELA.itemsize) != RELA.itemsize or size % RELA.itemsize:
        image.fail(None, f"0x{size:x} bytes are no whole table of dynamic relocations")
    at = file_offset(image, loaded, tags[DT_RELA], size)
    rows = image.records(at, size // RELA.itemsize, RELA, "dynamic relocations")
    return (relocation_table(image, at, "dynamic relocations", rows, None, None, symbols),)


def _symbol_count(image: Image, loaded: Sequence[Segment], tags: dict[int, int]) -> int:
    if DT_HASH in tags:
        at = file_offset(image, loaded, tags[DT_HASH], 8)
        return int.from_bytes(image.slice(at + 4, 4, "hash table"), "little")
    if DT_GNU_HASH in tags:
        return _gnu_symbol_count(image, loaded, tags[DT_GNU_HASH])
    image.fail(None, "neither section headers nor a hash table: symbols cannot be counted")


def _gnu_symbol_count(image: Image, loaded: Sequence[Segment], address: int) -> int:
    """The hashed symbols come last, ordered by bucket; the last one's chain has its low bit set."""
    at = file_offset(image, loaded, address, _GNU_HASH.size)
    header = _GNU_HASH.unpack(image.slice(at, _GNU_HASH.size, "GNU hash table"))
    bucket_count, first_hashed, bloom_count = map(int, header[:3])
    at += _GNU_HASH.size + 8 * bloom_count
    buckets = np.frombuffer(image.slice(at, 4 * bucket_count, "GNU hash buckets"), "<u4")
    last = int(buckets.max(initial=0))
    if last < first_hashed:
        return first_hashed
    at += 4 * bucket_count + 4 * (last - first_hashed)
    chains = np.frombuffer(image.slice(at, (image.size - at) // 4 * 4, "GNU hash chains"), "<u4")
    ends = np.flatnonzero(chains & np.uint32(1))
    if not len(ends):
        image.fail(at, "a chain of the GNU hash table does not end")
    return last + int(ends[0]) + 1
