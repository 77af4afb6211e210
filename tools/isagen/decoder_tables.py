# SPDX-License-Identifier: Apache-2.0
"""Flattens the decoder tables of LLVM's AMDGPU disassembler into fixed-bit patterns.

LLVM compiles every table to a byte code (`llvm/MC/MCDecoderOps.h`): nested scopes, switches over
bit fields, checks of bit fields and of subtarget predicates, and decodes.  The tables lie as data
in `AMDGPUDisassembler.cpp.o`, one section each, in the order in which the disassembler tries them.
"""

from __future__ import annotations

import enum
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SECTION_PREFIX = ".rodata._ZN12_GLOBAL__N_1"


class Op(enum.IntEnum):
    """`llvm::MCD::DecoderOps`."""

    SCOPE = 1
    SWITCH_FIELD = 2
    CHECK_FIELD = 3
    CHECK_PREDICATE = 4
    DECODE = 5
    SOFT_FAIL = 6


@dataclass(frozen=True)
class Leaf:
    """One decode of a table: encodings of `size` bytes with `bits & mask == value` are `opcode`.

    `order` counts leaves over all tables in LLVM's order of trial, so it is their precedence.
    """

    table: str
    order: int
    size: int
    mask: int
    value: int
    opcode: int


def read_leaves(object_file: Path) -> list[Leaf]:
    """Leaves of all tables, in LLVM's order of trial."""
    leaves: list[Leaf] = []
    for name, content in _sections(object_file.read_bytes()):
        match = re.fullmatch(r"\d\dDecoderTable(\w+?)(32|64|96|128)E", name)
        if match is None:
            continue
        for mask, value, opcode in flatten(content):
            leaves.append(
                Leaf(match[1] + match[2], len(leaves), int(match[2]) // 8, mask, value, opcode)
            )
    if not leaves:
        raise ValueError(f"{object_file}: no decoder tables")
    return leaves


def flatten(table: bytes) -> Iterator[tuple[int, int, int]]:
    """(mask, value, opcode) of each decode of one table that can be reached, in order of trial."""
    yield from _Flattener(table).leaves()


class _Flattener:
    """Walks one table."""

    def __init__(self, table: bytes) -> None:
        self._table = table

    def leaves(self) -> Iterator[tuple[int, int, int]]:
        _, start = self._uleb(0)  # the width of the table's encodings in bits
        yield from self._block(start, len(self._table), 0, 0)

    def _uleb(self, position: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            byte = self._table[position]
            position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value, position

    def _block(self, at: int, end: int, mask: int, value: int) -> Iterator[tuple[int, int, int]]:
        while at < end:
            op = Op(self._table[at])
            at += 1
            if op is Op.SCOPE:
                size, at = self._uleb(at)
                yield from self._block(at, at + size, mask, value)
                at += size
            elif op is Op.SWITCH_FIELD:
                yield from self._switch(at, end, mask, value)
                return
            elif op is Op.CHECK_FIELD:
                low, at = self._uleb(at)
                length = self._table[at]
                wanted, at = self._uleb(at + 1)
                field = ((1 << length) - 1) << low
                if _contradicts(mask, value, field, wanted << low):
                    return
                mask |= field
                value |= wanted << low
            elif op is Op.CHECK_PREDICATE:
                _, at = self._uleb(at)
            elif op is Op.DECODE:
                opcode, at = self._uleb(at)
                yield mask, value, opcode
                return
            else:
                _, at = self._uleb(at)
                _, at = self._uleb(at)

    def _switch(self, at: int, end: int, mask: int, value: int) -> Iterator[tuple[int, int, int]]:
        low, at = self._uleb(at)
        length = self._table[at]
        at += 1
        field = ((1 << length) - 1) << low
        while True:
            case, at = self._uleb(at)
            size, at = self._uleb(at)
            case_end = at + size if size else end  # size 0 marks the last case
            if not _contradicts(mask, value, field, case << low):
                yield from self._block(at, case_end, mask | field, value | case << low)
            if not size:
                return
            at = case_end


def _contradicts(mask: int, value: int, field: int, wanted: int) -> bool:
    return (value ^ wanted) & mask & field != 0


def _sections(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Name (without the prefix) and content of the table sections of an ELF64 object."""
    table_offset = struct.unpack_from("<Q", data, 0x28)[0]
    entry_size, count, names_index = struct.unpack_from("<HHH", data, 0x3A)
    header = struct.Struct("<IIQQQQIIQQ")
    first = header.unpack_from(data, table_offset)
    count = count or first[5]
    names_index = first[6] if names_index == 0xFFFF else names_index
    headers = [header.unpack_from(data, table_offset + i * entry_size) for i in range(count)]
    names_offset = headers[names_index][4]
    for fields in headers:
        start = names_offset + fields[0]
        name = data[start : data.index(b"\0", start)].decode()
        if name.startswith(SECTION_PREFIX):
            yield name[len(SECTION_PREFIX) :], data[fields[4] : fields[4] + fields[5]]
