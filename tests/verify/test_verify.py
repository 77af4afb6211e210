# SPDX-License-Identifier: Apache-2.0
"""The verifier on a real kernel: what it lets pass, and every mutation that it has to catch.

The kernel is `k_wmma_k128` of gfx1250_O3.co; of its text (section offsets):

    0x048  s_cbranch_scc1  -> 0x120
    0x05c  s_delay_alu
    0x060  v_add_nc_u64    (4 bytes)
    0x06c  s_clause        <- loop header
    0x0fc  s_delay_alu
    0x100  v_wmma          (8 bytes)
    0x11c  s_cbranch_scc0  -> 0x6c
    0x120  v_nop
    0x154  s_endpgm
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from postproc import isa
from postproc.codeobject import CodeObject
from postproc.errors import VerificationError
from postproc.transaction import ClaimMode
from postproc.verify import Record, verify
from postproc.verify.record import ClaimRecord, Kept, NewBytes, WindowRecord

CORPUS = Path(__file__).parents[1] / "corpus" / "gfx1250"
NOP = struct.pack("<I", 0xBF800000)
NOP_1 = struct.pack("<I", 0xBF800001)
MOV_S4_0 = struct.pack("<I", 0xBE840080)
MOV_S4_LITERAL = struct.pack("<I", 0xBE8400FF)
UNDECODABLE = struct.pack("<I", 0xFFFFFFFF)


@pytest.fixture(scope="module")
def original() -> CodeObject:
    return CodeObject.parse((CORPUS / "gfx1250_O3.co").read_bytes(), "k.co")


@pytest.fixture(scope="module")
def text(original: CodeObject) -> Any:
    [section] = original.executable_sections
    return section


def window(
    text: Any,
    start: int,
    end: int,
    *pieces: NewBytes | Kept,
    owner: str = "a",
    new_start: int | None = None,
) -> WindowRecord:
    begin = start if new_start is None else new_start
    return WindowRecord(
        text.index, start, end, text.index, begin, begin + end - start, (owner,), ("r",), pieces
    )


def patched(original: CodeObject, text: Any, *patches: tuple[int, bytes]) -> bytes:
    data = bytearray(original.data)
    for offset, new in patches:
        data[text.offset + offset : text.offset + offset + len(new)] = new
    return bytes(data)


def check(
    original: CodeObject,
    produced: bytes,
    windows: Sequence[WindowRecord] = (),
    claims: Sequence[ClaimRecord] = (),
) -> CodeObject:
    record = Record(tuple(windows), tuple(claims))
    return verify(original, produced, record, isa.load("gfx1250"))


def refused(message: str, *arguments: Any) -> None:
    with pytest.raises(VerificationError, match=message):
        check(*arguments)


DELAY = (0xFC, 0x100)


def test_an_unchanged_object_passes(original: CodeObject) -> None:
    assert check(original, bytes(original.data)).data == original.data


def test_a_replaced_instruction_passes(original: CodeObject, text: Any) -> None:
    produced = patched(original, text, (0xFC, NOP))
    check(original, produced, [window(text, *DELAY, NewBytes(NOP.hex()))])


def test_a_removed_instruction_passes_with_a_fill(original: CodeObject, text: Any) -> None:
    check(original, patched(original, text, (0xFC, NOP)), [window(text, *DELAY)])


def test_a_kept_instruction_passes_where_the_map_has_it(original: CodeObject, text: Any) -> None:
    code = original.code(text)
    wmma = bytes(code[0x100:0x108])
    produced = patched(original, text, (0xFC, wmma + NOP))
    check(original, produced, [window(text, 0xFC, 0x108, Kept(0x100, 0x108, 0xFC))])


def test_a_branch_to_the_start_of_a_window_passes(original: CodeObject, text: Any) -> None:
    produced = patched(original, text, (0x6C, NOP))
    check(original, produced, [window(text, 0x6C, 0x70, NewBytes(NOP.hex()))])


def test_a_flipped_byte_outside_every_window(original: CodeObject, text: Any) -> None:
    for offset in (-text.offset + 0x40, 0x60, 0xF8, 0x100, text.size):
        produced = bytearray(patched(original, text, (0xFC, NOP)))
        produced[text.offset + offset] ^= 1
        with pytest.raises(VerificationError, match=r"outside every window|cannot be read"):
            check(original, bytes(produced), [window(text, *DELAY, NewBytes(NOP.hex()))])


def test_a_change_without_any_record(original: CodeObject, text: Any) -> None:
    refused("outside every window", original, patched(original, text, (0xFC, NOP)))


def test_a_truncated_or_longer_output(original: CodeObject) -> None:
    refused("the size changed", original, bytes(original.data) + bytes(4))
    refused("cannot be read", original, bytes(original.data[:200]))


def test_an_edit_that_was_not_applied(original: CodeObject, text: Any) -> None:
    windows = [window(text, *DELAY, NewBytes(NOP.hex()))]
    refused("does not hold what an edit put there", original, bytes(original.data), windows)


def test_other_code_than_was_meant(original: CodeObject, text: Any) -> None:
    produced = patched(original, text, (0xFC, NOP_1))
    windows = [window(text, *DELAY, NewBytes(NOP.hex()))]
    refused("does not hold what an edit put there", original, produced, windows)


def test_two_edits_swapped(original: CodeObject, text: Any) -> None:
    produced = patched(original, text, (0x5C, NOP_1), (0xFC, NOP))
    windows = [
        window(text, 0x5C, 0x60, NewBytes(NOP.hex())),
        window(text, *DELAY, NewBytes(NOP_1.hex())),
    ]
    refused("does not hold what an edit put there", original, produced, windows)


def test_a_displaced_instruction_that_was_dropped(original: CodeObject, text: Any) -> None:
    produced = patched(original, text, (0xFC, NOP * 3))
    windows = [window(text, 0xFC, 0x108, Kept(0x100, 0x108, 0xFC))]
    refused("does not hold what an edit put there", original, produced, windows)


def test_a_kept_instruction_elsewhere_than_the_map_says(original: CodeObject, text: Any) -> None:
    wmma = bytes(original.code(text)[0x100:0x108])
    produced = patched(original, text, (0xFC, wmma + NOP))
    windows = [window(text, 0xFC, 0x108, Kept(0x100, 0x108, 0x100))]
    refused("not where the map says", original, produced, windows)


def test_unexplained_code_behind_the_pieces(original: CodeObject, text: Any) -> None:
    produced = patched(original, text, (0xFC, NOP + MOV_S4_0 + NOP))
    windows = [window(text, 0xFC, 0x108, NewBytes(NOP.hex()))]
    refused("unexplained code", original, produced, windows)


def test_new_code_that_cannot_be_decoded(original: CodeObject, text: Any) -> None:
    produced = patched(original, text, (0xFC, UNDECODABLE))
    windows = [window(text, *DELAY, NewBytes(UNDECODABLE.hex()))]
    refused("cannot be decoded", original, produced, windows)


def test_new_code_that_runs_over_the_end_of_its_window(original: CodeObject, text: Any) -> None:
    """`s_mov_b32 s4, LITERAL` takes its literal from behind the window."""
    produced = patched(original, text, (0xFC, MOV_S4_LITERAL))
    windows = [window(text, *DELAY, NewBytes(MOV_S4_LITERAL.hex()))]
    refused("boundaries moved|cuts an instruction", original, produced, windows)


def test_a_window_that_cuts_an_instruction(original: CodeObject, text: Any) -> None:
    produced = patched(original, text, (0xFC, NOP * 2))
    windows = [window(text, 0xFC, 0x104, NewBytes((NOP * 2).hex()))]
    refused("boundaries moved|cuts an instruction", original, produced, windows)


def test_windows_that_overlap(original: CodeObject, text: Any) -> None:
    windows = [window(text, 0xFC, 0x108), window(text, 0x100, 0x108)]
    refused("windows overlap", original, bytes(original.data), windows)


def test_a_window_outside_the_code(original: CodeObject, text: Any) -> None:
    windows = [window(text, text.size, text.size + 4)]
    refused("outside the code", original, bytes(original.data), windows)


def test_a_branch_into_a_replaced_instruction(original: CodeObject, text: Any) -> None:
    """0x6c is the loop header: nothing stands there any more for the branch at 0x11c."""
    size = 0x70 - 0x5C
    code = NOP * (size // 4)
    produced = patched(original, text, (0x5C, code))
    windows = [window(text, 0x5C, 0x70, NewBytes(code.hex()))]
    refused("goes to an instruction that was replaced", original, produced, windows)


def test_a_branch_target_that_moved_without_its_branch(original: CodeObject, text: Any) -> None:
    code = bytes(original.code(text)[0x68:0x70])
    assert len(code) == 8
    produced = patched(original, text, (0x68, code[4:] + NOP))
    windows = [window(text, 0x68, 0x70, Kept(0x6C, 0x70, 0x68))]
    refused("a branch lands wrongly", original, produced, windows)


def test_an_entry_inside_rewritten_code(original: CodeObject, text: Any) -> None:
    second = sorted(e.offset for e in original.entries)[1]
    produced = patched(original, text, (second - 4, NOP_1 * 3))
    windows = [window(text, second - 4, second + 8, NewBytes((NOP_1 * 3).hex()))]
    refused(r"lies inside rewritten code|cuts an instruction", original, produced, windows)


def test_a_new_branch_into_the_middle_of_an_instruction(original: CodeObject, text: Any) -> None:
    branch = struct.pack("<I", 0xBFA00000 | (0x104 - 0x100) // 4)
    produced = patched(original, text, (0xFC, branch))
    windows = [window(text, *DELAY, NewBytes(branch.hex()))]
    refused("a branch goes into an instruction", original, produced, windows)


def claim(kind: Any, mode: ClaimMode = ClaimMode.READ, **fields: Any) -> ClaimRecord:
    return ClaimRecord("b", mode, kind, "proof", **fields)


def test_a_read_claim_holds_if_its_bytes_stay(original: CodeObject, text: Any) -> None:
    produced = patched(original, text, (0xFC, NOP))
    windows = [window(text, *DELAY, NewBytes(NOP.hex()))]
    near = claim("text", section=text.index, start=0x100, end=0x108)
    check(original, produced, windows, [near])
    over = claim("text", section=text.index, start=0xF8, end=0x108)
    refused("a claim of b was broken", original, produced, windows, [over])


def test_a_moved_instruction_keeps_a_read_and_breaks_a_pin(original: CodeObject, text: Any) -> None:
    wmma = bytes(original.code(text)[0x100:0x108])
    produced = patched(original, text, (0xFC, wmma + NOP))
    windows = [window(text, 0xFC, 0x108, Kept(0x100, 0x108, 0xFC))]
    span = {"section": text.index, "start": 0x100, "end": 0x108}
    check(original, produced, windows, [claim("text", **span)])
    pinned = claim("text", ClaimMode.PIN, **span)
    refused("a claim of b was broken", original, produced, windows, [pinned])


def test_a_register_that_new_code_writes(original: CodeObject, text: Any) -> None:
    wmma = bytes(original.code(text)[0x100:0x108])
    produced = patched(original, text, (0xFC, MOV_S4_0 + wmma))
    windows = [window(text, 0xFC, 0x108, NewBytes(MOV_S4_0.hex()), Kept(0x100, 0x108, 0x100))]
    point = {"section": text.index, "start": 0x100}
    check(original, produced, windows, [claim("register", **point, name="s5")])
    live = claim("register", **point, name="s4")
    refused("writes s4", original, produced, windows, [live])


@pytest.mark.parametrize(
    ("kind", "name"),
    [("descriptor", "private_segment_fixed_size"), ("metadata", ".sgpr_count")],
)
def test_claims_on_fields_hold_where_nothing_changed(
    original: CodeObject, text: Any, kind: str, name: str
) -> None:
    produced = patched(original, text, (0xFC, NOP))
    windows = [window(text, *DELAY, NewBytes(NOP.hex()))]
    check(original, produced, windows, [claim(kind, kernel="k_wmma_k128", name=name)])
