# SPDX-License-Identifier: Apache-2.0
"""Placement in place on a real kernel: what fits, what is refused and why.

The kernel is `k_wmma_k128` of gfx1250_O3.co, with these instructions (section offsets):

    0x048  s_cbranch_scc1  -> 0x120
    0x05c  s_delay_alu
    0x060  v_add_nc_u64    (4 bytes)
    0x06c  s_clause        <- loop header
    0x0fc  s_delay_alu
    0x100  v_wmma          (8 bytes)
    0x108  v_wmma          (8 bytes)
    0x11c  s_cbranch_scc0  -> 0x6c
    0x120  v_nop
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from postproc.codeobject import CodeObject, TextPosition, TextRange
from postproc.errors import PluginError, Refusal
from postproc.passes import ObjectView
from postproc.pipeline.transform import view_of
from postproc.placement import InPlace, place, placements
from postproc.transaction import (
    ANYONE,
    Edit,
    Piece,
    PlacedEdit,
    Proposal,
    Site,
    Snippet,
    arbitrate,
    commit,
)

CORPUS = Path(__file__).parents[1] / "corpus" / "gfx1250"


@pytest.fixture(scope="module")
def view() -> ObjectView:
    return view_of(CodeObject.parse((CORPUS / "gfx1250_O3.co").read_bytes(), "k.co"))


@pytest.fixture(scope="module")
def text(view: ObjectView) -> int:
    [section] = view.code_object.executable_sections
    return section.index


def edit(
    text: int,
    start: int,
    end: int,
    *pieces: Piece,
    owner: str = "a",
    required: bool = True,
    composes: str | None = None,
) -> Edit:
    site = Site(owner, "rule", TextPosition(text, start), "mnemonic", "k_wmma_k128")
    return Edit(
        site=site,
        window=TextRange(text, start, end),
        snippet=Snippet(*pieces),
        required=required,
        composes=composes,
    )


def placed(view: ObjectView, *edits: Edit) -> PlacedEdit | Refusal:
    [merged] = arbitrate([Proposal(edits)]).accepted
    return InPlace().place(view, merged)


def new_texts(view: ObjectView, result: PlacedEdit | Refusal) -> list[str]:
    assert isinstance(result, PlacedEdit), result
    [patch] = result.patches
    return [instruction.text for instruction in view.isa.decode(patch.data)]


def test_code_of_the_same_size_takes_the_window(view: ObjectView, text: int) -> None:
    result = placed(view, edit(text, 0xFC, 0x100, "s_nop 3"))
    assert new_texts(view, result) == ["s_nop 3"]
    assert isinstance(result, PlacedEdit)
    assert (result.added_bytes, result.added_dynamic_instructions) == (0, 0)


def test_shorter_code_is_filled_up(view: ObjectView, text: int) -> None:
    result = placed(view, edit(text, 0x100, 0x108, "s_nop 3"))
    assert new_texts(view, result) == ["s_nop 3", "s_nop 0"]
    assert isinstance(result, PlacedEdit)
    assert result.added_dynamic_instructions == 1


def test_no_code_at_all_is_a_fill(view: ObjectView, text: int) -> None:
    assert new_texts(view, placed(view, edit(text, 0x100, 0x108))) == ["s_nop 0", "s_nop 0"]


def test_encoded_pieces_and_kept_originals_are_laid_out_in_order(
    view: ObjectView, text: int
) -> None:
    kept = TextRange(text, 0x100, 0x108)
    nop = view.isa.assemble_one("s_nop 7")
    result = placed(view, edit(text, 0xFC, 0x108, kept, nop))
    texts = new_texts(view, result)
    assert texts[0].startswith("v_wmma_")
    assert texts[1:] == ["s_nop 7"]
    assert isinstance(result, PlacedEdit)
    [move] = result.moves
    assert (move.source, move.target) == (kept, TextRange(text, 0xFC, 0x104))


def test_longer_code_is_refused(view: ObjectView, text: int) -> None:
    result = placed(view, edit(text, 0xFC, 0x100, "s_nop 0\ns_nop 0"))
    assert isinstance(result, Refusal)
    assert result.reason == "needs 8 bytes where 4 are free"


def test_a_branch_target_inside_the_window_is_refused(view: ObjectView, text: int) -> None:
    result = placed(view, edit(text, 0x5C, 0x70, "s_nop 0"))
    assert isinstance(result, Refusal)
    assert result.reason == "control may enter the window at 0x6c"


def test_a_branch_target_may_begin_a_window_or_stay_in_its_place(
    view: ObjectView, text: int
) -> None:
    assert isinstance(placed(view, edit(text, 0x6C, 0x70, "s_nop 0")), PlacedEdit)
    stays = edit(
        text, 0x5C, 0x70, "s_nop 0\n" * 4, TextRange(text, 0x6C, 0x70)
    )  # from 0x5c on, four dwords reach 0x6c
    assert isinstance(placed(view, stays), PlacedEdit)


def test_a_branch_that_would_move_is_refused(view: ObjectView, text: int) -> None:
    moving = edit(text, 0x114, 0x120, TextRange(text, 0x11C, 0x120))
    result = placed(view, moving)
    assert isinstance(result, Refusal)
    assert "s_cbranch_scc0 at 0x11c computes with its own address" in result.reason


def test_a_window_that_cuts_an_instruction_is_the_plugins_fault(
    view: ObjectView, text: int
) -> None:
    for start, end in ((0x104, 0x108), (0x100, 0x104)):
        with pytest.raises(PluginError, match="whole instructions"):
            placed(view, edit(text, start, end, "s_nop 0"))


def test_a_snippet_that_does_not_assemble_is_the_plugins_fault(view: ObjectView, text: int) -> None:
    with pytest.raises(PluginError, match="does not assemble") as caught:
        placed(view, edit(text, 0xFC, 0x100, "s_nonsense 1"))
    assert caught.value.plugin == "a"
    assert caught.value.offset == 0xFC


def test_an_optional_probe_that_does_not_fit_leaves_the_required_rewrite(
    view: ObjectView, text: int
) -> None:
    window = TextRange(text, 0xFC, 0x100)
    probe = edit(text, 0xFC, 0x100, "s_nop 9", window, owner="p", required=False, composes=ANYONE)
    rewrite = edit(text, 0xFC, 0x100, "s_nop 3", owner="h")
    accepted = arbitrate([Proposal([probe, rewrite])]).accepted
    plan = place(view, accepted, placements("auto"))
    assert [e.owner for p in plan.placed for e in p.merged.edits] == ["h"]
    [refused] = plan.refused
    assert refused.edit.owner == "p"
    assert refused.refusal.reason == "needs 8 bytes where 4 are free"


def test_commit_changes_the_window_and_nothing_else(view: ObjectView, text: int) -> None:
    accepted = arbitrate([Proposal([edit(text, 0xFC, 0x100, "s_nop 3")])]).accepted
    plan = place(view, accepted, placements("in-place"))
    before, after = bytes(view.code_object.data), commit(plan)
    [section] = view.code_object.executable_sections
    at = section.offset + 0xFC
    assert after == before[:at] + view.isa.assemble_one("s_nop 3") + before[at + 4 :]


def test_a_plan_without_edits_is_the_input(view: ObjectView) -> None:
    plan = place(view, (), placements("auto"))
    assert commit(plan) == bytes(view.code_object.data)


@pytest.mark.parametrize("name", ["rel_indirect.o", "rdc_emit_relocs.co"])
def test_bytes_that_a_relocation_fills_in_are_not_rewritten(name: str) -> None:
    """In an object that is not linked yet, and in one that kept its relocations."""
    code_object = CodeObject.parse((CORPUS / name).read_bytes(), name)
    view = view_of(code_object)
    [section] = [s for s in code_object.executable_sections if s.name == ".text"]
    [table] = [t for t in code_object.relocations if t.applies_to == section.index]
    base = 0 if code_object.is_relocatable else section.address
    decoded = view.decoded(section)
    for address in table.offset.tolist():
        offset = address - base
        index = int(decoded.offset.searchsorted(offset, side="right")) - 1
        start, size = int(decoded.offset[index]), int(decoded.size[index])
        [merged] = arbitrate(
            [Proposal(edits=[edit(section.index, start, start + size, b"\0\0\x80\xbf")])]
        ).accepted
        refusal = InPlace().place(view, merged)
        assert isinstance(refusal, Refusal)
        assert refusal.reason == f"a relocation fills in bytes at 0x{offset:x}, inside the window"
    assert len(table)


ELSEWHERE = '.section .elsewhere,"ax",@progbits\n{}\n.text'
"""Code in an executable section of its own."""


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("s_nop 1\n.Linside:\ns_nop 2\ns_endpgm\n" + ELSEWHERE.format("s_branch .Linside"),
         "control may enter the window at 0x4"),
        ("s_nop 1\ns_nop 2\ns_endpgm\n" + ELSEWHERE.format("s_set_pc_i64 s[4:5]"),
         "control may enter the window: a computed branch has unknown targets"),
        ("s_nop 1\ns_nop 2\ns_get_pc_i64 s[30:31]\ns_set_pc_i64 s[30:31]",
         "control may enter the window: a computed branch has unknown targets"),
        ("s_nop 1\ns_nop 2\ns_set_pc_i64 s[30:31]", None),
    ],
    ids=["branch", "computed branch", "link register as a pointer", "return"],
)  # fmt: skip
def test_control_may_come_from_any_section(
    body: str, reason: str | None, assembled: Callable[[str, str], CodeObject]
) -> None:
    code_object = assembled("gfx1250", body)
    kernel = code_object.kernels[0]
    result = placed(view_of(code_object), edit(kernel.section_index, 0, 8, "s_nop 3"))
    assert (result.reason if isinstance(result, Refusal) else None) == reason
