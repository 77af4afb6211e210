# SPDX-License-Identifier: Apache-2.0
"""What the arbiter accepts, composes and refuses; clause by clause of its definition."""

from __future__ import annotations

import pytest

from postproc.codeobject import TextPosition
from postproc.testing import SECTION, span
from postproc.testing import make_claim as claim
from postproc.testing import make_edit as edit
from postproc.testing import make_site as site
from postproc.transaction import (
    ANYONE,
    Arbitration,
    ClaimMode,
    DescriptorField,
    Edit,
    MetadataField,
    Proposal,
    RegisterAt,
    SiteOutcome,
    SymbolRef,
    arbitrate,
)

READ, PIN, MOVE, REPLACE = ClaimMode


def settle(*edits: Edit, claims: tuple[object, ...] = ()) -> Arbitration:
    return arbitrate([Proposal(edits, claims=claims)])  # type: ignore[arg-type]  # a test's shorthand


def accepted_owners(arbitration: Arbitration) -> list[str]:
    return [e.owner for merged in arbitration.accepted for e in merged.edits]


def test_edits_of_disjoint_windows_are_accepted() -> None:
    result = settle(edit("a", 0, 4, "s_nop 0"), edit("b", 4, 8, "s_nop 1"))
    assert accepted_owners(result) == ["a", "b"]
    assert result.refused == ()
    assert result.decisions == ()


def test_two_required_rewrites_of_one_window_are_both_refused_with_both_owners_named() -> None:
    result = settle(
        edit("alpha", 0, 8, "s_nop 0", required=True),
        edit("beta", 4, 12, "s_nop 1", required=True),
    )
    assert result.accepted == ()
    assert [r.edit.owner for r in result.refused] == ["alpha", "beta"]
    for refused in result.refused:
        assert "conflict between alpha and beta" in refused.refusal.reason
        assert "bytes 0x0..0x8" in refused.refusal.reason
        assert "bytes 0x4..0xc" in refused.refusal.reason


def test_a_required_edit_wins_over_an_optional_one_whatever_their_names() -> None:
    result = settle(
        edit("a", 0, 8, "s_nop 0"),
        edit("z", 0, 8, "s_nop 1", required=True),
    )
    assert accepted_owners(result) == ["z"]
    assert "a" in result.refused[0].refusal.reason
    assert "z" in result.refused[0].refusal.reason


def test_of_two_optional_edits_the_first_in_place_stays() -> None:
    result = settle(edit("z", 0, 8, "s_nop 0"), edit("a", 4, 12, "s_nop 1"))
    assert accepted_owners(result) == ["z"]


def test_a_refused_edit_refuses_nobody_else() -> None:
    result = settle(
        edit("a", 0, 8, "s_nop 0", required=True),
        edit("b", 4, 12, "s_nop 1"),
        edit("c", 8, 16, "s_nop 2"),
    )
    assert accepted_owners(result) == ["a", "c"]


def test_two_edits_of_one_owner_that_overlap_conflict_as_well() -> None:
    result = settle(edit("a", 0, 8, "x", rule="one"), edit("a", 4, 12, "y", rule="two"))
    assert "two edits of a" in result.refused[0].refusal.reason


def test_the_same_code_in_the_same_window_is_merged() -> None:
    result = settle(edit("a", 0, 4, "s_nop 0"), edit("b", 0, 4, "s_nop 0"))
    [merged] = result.accepted
    assert [e.owner for e in merged.edits] == ["a", "b"]
    assert merged.snippet.pieces == ("s_nop 0",)
    assert [d.kind for d in result.decisions] == ["merged"]


@pytest.mark.parametrize(("mode", "refused"), [(READ, True), (PIN, True)], ids=["read", "pin"])
def test_a_required_claim_keeps_others_from_rewriting(mode: ClaimMode, refused: bool) -> None:
    result = settle(edit("a", 4, 8, "s_nop 0"), claims=(claim("b", mode, span(0, 8)),))
    assert bool(result.refused) is refused
    assert "conflict between a and b" in result.refused[0].refusal.reason
    assert result.claims == (claim("b", mode, span(0, 8)),)


def test_reading_survives_moving_but_pinning_does_not() -> None:
    moving = edit("a", 0, 8, "s_nop 0", span(4, 8))
    read = settle(moving, claims=(claim("b", READ, span(4, 8)),))
    assert accepted_owners(read) == ["a"]
    pinned = settle(moving, claims=(claim("b", PIN, span(4, 8)),))
    assert accepted_owners(pinned) == []


def test_a_claim_that_only_touches_the_window_does_not_matter() -> None:
    result = settle(edit("a", 4, 8, "s_nop 0"), claims=(claim("b", READ, span(8, 12)),))
    assert accepted_owners(result) == ["a"]


def test_a_wish_is_waived_and_recorded() -> None:
    wish = claim("b", READ, span(0, 8), required=False, reason="clause members")
    result = settle(edit("a", 0, 4, "s_nop 0"), claims=(wish,))
    assert accepted_owners(result) == ["a"]
    assert result.claims == ()
    [decision] = result.decisions
    assert decision.kind == "waived"
    assert decision.owners == ("a", "b")
    assert "clause members" in decision.reason


def test_an_owner_vouches_for_its_own_claims() -> None:
    result = settle(edit("a", 0, 4, "s_nop 0"), claims=(claim("a", READ, span(0, 8)),))
    assert accepted_owners(result) == ["a"]
    assert result.refused == ()


@pytest.mark.parametrize(
    "resource",
    [
        RegisterAt(TextPosition(SECTION, 8), "s4"),
        MetadataField("kernel", ".sgpr_count"),
        DescriptorField("kernel", "private_segment_fixed_size"),
        SymbolRef("kernel"),
    ],
    ids=lambda resource: type(resource).__name__,
)
def test_claims_on_anything_else_than_text_collide_by_name(resource: object) -> None:
    reader = edit("a", 0, 4, "x", claims=(claim("a", READ, resource),))  # type: ignore[arg-type]
    writer = edit("b", 8, 12, "y", claims=(claim("b", REPLACE, resource),))  # type: ignore[arg-type]
    result = settle(reader, writer)
    assert accepted_owners(result) == ["a"]
    assert "conflict between a and b" in result.refused[0].refusal.reason


def test_different_registers_at_one_point_do_not_collide() -> None:
    at = TextPosition(SECTION, 8)
    result = settle(
        edit("a", 0, 4, "x", claims=(claim("a", READ, RegisterAt(at, "s4")),)),
        edit("b", 8, 12, "y", claims=(claim("b", REPLACE, RegisterAt(at, "s5")),)),
    )
    assert accepted_owners(result) == ["a", "b"]


def test_an_edit_nests_in_an_original_that_another_keeps() -> None:
    delay = edit(
        "h", 0, 20, "s_delay_alu 1", span(4, 8), span(8, 16), "s_delay_alu 2", span(16, 20),
        rule="delay", composes="delay", required=True,
    )  # fmt: skip
    split = edit("h", 8, 16, "ds_a", "ds_b", rule="ds2", composes="delay", required=True)
    result = settle(split, delay)
    [merged] = result.accepted
    assert merged.window == span(0, 20)
    assert merged.snippet.pieces == (
        "s_delay_alu 1", span(4, 8), "ds_a", "ds_b", "s_delay_alu 2", span(16, 20)
    )  # fmt: skip
    assert [e.site.rule for e in merged.edits] == ["delay", "ds2"]
    assert [d.kind for d in result.decisions] == ["composed"]


def test_an_inner_edit_takes_only_its_part_of_a_kept_range() -> None:
    outer = edit("p", 0, 12, "probe", span(0, 12), composes=ANYONE)
    result = settle(outer, edit("q", 4, 8, "new", required=True))
    [merged] = result.accepted
    assert merged.snippet.pieces == ("probe", span(0, 4), "new", span(8, 12))


def test_edits_without_a_common_label_do_not_nest() -> None:
    outer = edit("a", 0, 12, "x", span(4, 12), composes="one")
    result = settle(outer, edit("b", 4, 8, "y", composes="two"))
    assert len(result.accepted) == 1
    assert len(result.refused) == 1


def test_a_label_does_not_help_edits_that_do_not_nest() -> None:
    one = edit("a", 0, 8, span(0, 8), composes="l")
    other = edit("b", 4, 12, span(4, 12), composes="l")
    result = settle(one, other)
    assert len(result.accepted) == 1


def test_edits_of_one_label_stand_or_fall_together() -> None:
    outer = edit("h", 0, 12, "x", span(4, 12), composes="l", rule="outer")
    inner = edit("h", 4, 8, "y", composes="l", rule="inner")
    pinned = claim("p", PIN, span(8, 12))
    result = settle(outer, inner, claims=(pinned,))
    assert result.accepted == ()
    assert sorted(r.edit.site.rule for r in result.refused) == ["inner", "outer"]


def test_a_conflict_between_two_of_one_label_refuses_all_of_them() -> None:
    outer = edit("h", 0, 16, "x", span(4, 16), composes="l", rule="outer")
    one = edit("h", 4, 12, "y", composes="l", rule="one")
    other = edit("h", 8, 16, "z", composes="l", rule="other")
    result = settle(outer, one, other)
    assert result.accepted == ()
    assert {r.edit.site.rule for r in result.refused} == {"outer", "one", "other"}
    assert "two edits of h" in result.refused[0].refusal.reason


def test_probes_of_different_owners_share_an_instruction_in_a_fixed_order() -> None:
    one = edit("a", 0, 4, "probe a", span(0, 4), composes=ANYONE)
    two = edit("b", 0, 4, "probe b", span(0, 4), composes=ANYONE)
    rewrite = edit("h", 0, 4, "new", required=True)
    for order in ([one, two, rewrite], [rewrite, two, one]):
        result = settle(*order)
        [merged] = result.accepted
        assert merged.snippet.pieces == ("probe a", "probe b", "new")
    assert {d.kind for d in result.decisions} == {"composed", "ordered"}


def test_required_edits_remain_when_the_optional_ones_are_dropped() -> None:
    probe = edit("a", 0, 4, "probe", span(0, 4), composes=ANYONE)
    rewrite = edit("h", 0, 4, "new", required=True)
    [merged] = settle(probe, rewrite).accepted
    [rest] = merged.without_optional()
    assert rest.snippet.pieces == ("new",)
    assert [e.owner for e in rest.edits] == ["h"]


def test_an_optional_edit_stays_with_the_required_one_of_its_label() -> None:
    outer = edit("h", 0, 12, "x", span(4, 12), composes="l")
    inner = edit("h", 4, 8, "y", composes="l", required=True)
    [merged] = settle(outer, inner).accepted
    assert merged.without_optional() == (merged,)


def test_what_the_passes_decided_themselves_comes_through_sorted() -> None:
    late = SiteOutcome(site("a", 8), "preserved", "proven")
    early = SiteOutcome(site("b", 0), "refused", "no", required=True)
    result = arbitrate([Proposal(outcomes=[late]), Proposal(outcomes=[early])])
    assert result.outcomes == (early, late)


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ((span(0, 4), span(0, 4)), "doubled"),
        ((span(0, 12),), "outside"),
        ((span(4, 4),), "empty"),
    ],
    ids=["doubled", "outside", "empty"],
)
def test_kept_originals_must_make_sense(pieces: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        edit("a", 0, 8, *pieces)  # type: ignore[arg-type]  # a test's shorthand


def test_a_window_is_whole_dwords_and_not_empty() -> None:
    with pytest.raises(ValueError, match="empty"):
        edit("a", 4, 4, "x")
    with pytest.raises(ValueError, match="dwords"):
        edit("a", 4, 6, "x")


def test_an_edit_carries_only_claims_of_its_owner() -> None:
    with pytest.raises(ValueError, match="claim of 'b'"):
        edit("a", 0, 4, "x", claims=(claim("b", READ, span(0, 4)),))
