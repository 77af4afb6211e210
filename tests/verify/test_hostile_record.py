# SPDX-License-Identifier: Apache-2.0
"""A record, which anybody may have written, cannot make the verifier look away."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from postproc import isa
from postproc.codeobject import CodeObject, Section
from postproc.errors import VerificationError
from postproc.verify import Record, verify
from postproc.verify.record import Kept, NewBytes, RecordedPiece, WindowRecord

CORPUS = Path(__file__).parents[1] / "corpus" / "gfx1250"
NOP = struct.pack("<I", 0xBF800000)
ENDPGM = struct.pack("<I", 0xBFB00000)
SETHALT = struct.pack("<I", 0xBF820001)
UNDECODABLE = struct.pack("<I", 0xFFFFFFFF)


def read(name: str) -> CodeObject:
    return CodeObject.parse((CORPUS / name).read_bytes(), name)


@pytest.fixture(scope="module")
def original() -> CodeObject:
    return read("cluster_O3.co")


def text_of(code_object: CodeObject) -> Section:
    return code_object.executable_sections[0]


def window(section: int, start: int, end: int, *pieces: RecordedPiece) -> WindowRecord:
    return WindowRecord(section, start, end, section, start, end, ("a",), ("r",), pieces)


def check(code_object: CodeObject, at: int, data: bytes, *windows: WindowRecord) -> None:
    """Verify the object with `data` at `at` of its text."""
    produced = bytearray(code_object.data)
    start = text_of(code_object).offset + at
    produced[start : start + len(data)] = data
    verify(code_object, bytes(produced), Record(windows), isa.load("gfx1250"))


def dwords(code_object: CodeObject) -> list[int]:
    """Offsets of instructions of one dword that are no branches."""
    decoded = isa.load("gfx1250").decode(code_object.code(text_of(code_object)))
    return [
        int(decoded.offset[i])
        for i in range(len(decoded))
        if decoded[i].size == 4 and decoded[i].branch_offset is None
    ]


def test_a_window_does_not_vouch_for_other_bytes_than_its_own(original: CodeObject) -> None:
    """What stands at `b` is right; what was written at `a` would go unseen."""
    section = text_of(original)
    a, b = dwords(original)[3], dwords(original)[10]
    there = bytes(original.code(section)[b : b + 4]).hex()
    lie = msgspec.structs.replace(
        window(section.index, a, a + 4, NewBytes(there)), new_start=b, new_end=b + 4
    )
    with pytest.raises(VerificationError, match="lies elsewhere"):
        check(original, a, ENDPGM, lie)


def test_a_window_stays_in_its_section(original: CodeObject) -> None:
    section = text_of(original)
    a = dwords(original)[3]
    lie = msgspec.structs.replace(
        window(section.index, a, a + 4, NewBytes(NOP.hex())), new_section=section.index + 1
    )
    with pytest.raises(VerificationError, match="lies elsewhere"):
        check(original, a, NOP, lie)


def test_only_originals_of_the_window_are_kept(original: CodeObject) -> None:
    section = text_of(original)
    a, b = dwords(original)[3], dwords(original)[10]
    foreign = window(section.index, a, a + 4, Kept(b, b + 4, a))
    with pytest.raises(VerificationError, match="none of its window"):
        check(original, a, bytes(original.code(section)[b : b + 4]), foreign)


def test_what_reads_its_own_address_does_not_move() -> None:
    code_object = read("calls_cov4.co")
    section = text_of(code_object)
    decoded = isa.load("gfx1250").decode(code_object.code(section))
    index = next(i for i in range(len(decoded)) if decoded[i].mnemonic == "s_get_pc_i64")
    first, second = decoded[index], decoded[index + 1]
    start, end = first.offset, second.offset + second.size
    swapped = window(
        section.index,
        start,
        end,
        Kept(second.offset, end, start),
        Kept(start, second.offset, start + second.size),
    )
    with pytest.raises(VerificationError, match="must not"):
        check(code_object, start, bytes(second.data) + bytes(first.data), swapped)


def test_what_cannot_be_decoded_does_not_move(original: CodeObject) -> None:
    section = text_of(original)
    a = next(at for at in dwords(original) if at + 4 in dwords(original))
    data = bytearray(original.data)
    at = section.offset + a
    data[at : at + 4] = UNDECODABLE
    odd = CodeObject.parse(bytes(data), "odd.co")
    moved = window(section.index, a, a + 8, NewBytes(NOP.hex()), Kept(a, a + 4, a + 4))
    with pytest.raises(VerificationError, match="must not"):
        check(odd, a, NOP + UNDECODABLE, moved)


def test_a_window_holds_nothing_but_code(original: CodeObject) -> None:
    """The text is made to begin with the descriptors before it; one of their words is a site."""
    section = text_of(original)
    header = original.header.section_header_offset + 64 * section.index
    room = 0x80
    data = bytearray(original.data)
    place = (section.address - room, section.offset - room, section.size + room)
    struct.pack_into("<QQQ", data, header + 16, *place)
    data[section.offset - room + 4 : section.offset - room + 8] = SETHALT
    overlapping = CodeObject.parse(bytes(data), "overlapping.co")
    with pytest.raises(VerificationError, match="holds more than code"):
        check(overlapping, 4, NOP, window(section.index, 4, 8, NewBytes(NOP.hex())))


@pytest.mark.parametrize("digits", ["zz", "0", "0G", "BF"])
def test_bytes_are_given_by_pairs_of_digits(digits: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(f'{{"kind":"bytes","hex":"{digits}"}}', type=NewBytes)


def test_a_branch_from_another_section_into_a_window(
    assembled: Callable[[str, str], CodeObject],
) -> None:
    code_object = assembled(
        "gfx1250",
        "s_nop 1\n.Linside:\ns_nop 2\ns_endpgm\n"
        '.section .elsewhere,"ax",@progbits\ns_branch .Linside\n.text',
    )
    section = text_of(code_object)
    assert section.index == code_object.kernels[0].section_index
    merged = window(section.index, 0, 8, NewBytes(NOP.hex() * 2))
    with pytest.raises(VerificationError, match="goes to rewritten code"):
        check(code_object, 0, NOP * 2, merged)
