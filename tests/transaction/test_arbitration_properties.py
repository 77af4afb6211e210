# SPDX-License-Identifier: Apache-2.0
"""Whatever is proposed: the order of arrival is irrelevant, and what is accepted fits together."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from postproc.codeobject import TextPosition, TextRange
from postproc.testing import SECTION, span
from postproc.testing import make_claim as claim
from postproc.testing import make_edit as edit
from postproc.transaction import (
    ANYONE,
    Arbitration,
    Claim,
    ClaimMode,
    Edit,
    MetadataField,
    Piece,
    Proposal,
    RegisterAt,
    Resource,
    arbitrate,
)

OWNERS = ("a", "b", "c")
DWORDS = 10


@st.composite
def spans(draw: st.DrawFn) -> TextRange:
    start = draw(st.integers(0, DWORDS - 1))
    end = draw(st.integers(start + 1, DWORDS))
    return span(4 * start, 4 * end)


def resources() -> st.SearchStrategy[Resource]:
    registers = st.builds(
        lambda dword, name: RegisterAt(TextPosition(SECTION, 4 * dword), name),
        st.integers(0, 3),
        st.sampled_from(("s0", "scc")),
    )
    fields = st.builds(MetadataField, st.just("k"), st.sampled_from((".a", ".b")))
    return st.one_of(spans(), registers, fields)


@st.composite
def claims(draw: st.DrawFn, owner: str) -> Claim:
    mode = draw(st.sampled_from(list(ClaimMode)))
    return claim(owner, mode, draw(resources()), required=draw(st.booleans()))


@st.composite
def edits(draw: st.DrawFn, owner: str) -> Edit:
    window = draw(spans())
    pieces: list[Piece] = [draw(st.sampled_from(("x", "y")))]
    cursor = window.start
    while cursor < window.end:
        end = draw(st.integers(cursor // 4 + 1, window.end // 4)) * 4
        if draw(st.booleans()):
            pieces.append(span(cursor, end))
        cursor = end
    return edit(
        owner,
        window.start,
        window.end,
        *pieces,
        rule=draw(st.sampled_from(("r", "s"))),
        required=draw(st.booleans()),
        composes=draw(st.sampled_from((None, ANYONE, "l", "m"))),
        claims=tuple(draw(st.lists(claims(owner), max_size=2))),
    )


@st.composite
def proposals(draw: st.DrawFn) -> list[Proposal]:
    return [
        Proposal(
            draw(st.lists(edits(owner), max_size=4)),
            claims=draw(st.lists(claims(owner), max_size=2)),
        )
        for owner in OWNERS
    ]


def shuffled(data: st.DataObject, asked: list[Proposal]) -> list[Proposal]:
    draw = data.draw
    return [
        Proposal(draw(st.permutations(p.edits)), claims=draw(st.permutations(p.claims)))
        for p in draw(st.permutations(asked))
    ]


@given(proposals(), st.data())
def test_the_order_of_arrival_has_no_influence(asked: list[Proposal], data: st.DataObject) -> None:
    assert arbitrate(asked) == arbitrate(shuffled(data, asked))


@given(proposals(), st.data())
def test_how_edits_are_spread_over_proposals_has_no_influence(
    asked: list[Proposal], data: st.DataObject
) -> None:
    one_by_one = [Proposal([e]) for p in asked for e in p.edits]
    one_by_one += [Proposal(claims=[c]) for p in asked for c in p.claims]
    assert arbitrate(asked) == arbitrate(data.draw(st.permutations(one_by_one)))


def all_edits(asked: list[Proposal]) -> list[Edit]:
    return [edit for proposal in asked for edit in proposal.edits]


@given(proposals())
def test_every_edit_is_accepted_or_refused_and_never_both(asked: list[Proposal]) -> None:
    result = arbitrate(asked)
    accepted = [e for merged in result.accepted for e in merged.edits]
    refused = [r.edit for r in result.refused]
    key = repr
    assert sorted(accepted + refused, key=key) == sorted(all_edits(asked), key=key)


@given(proposals())
def test_accepted_windows_do_not_overlap(asked: list[Proposal]) -> None:
    windows = [merged.window for merged in arbitrate(asked).accepted]
    assert windows == sorted(windows)
    for one, other in itertools.pairwise(windows):
        assert one.end <= other.start


@given(proposals())
def test_every_new_piece_of_an_accepted_edit_is_laid_out(asked: list[Proposal]) -> None:
    """Equal edits of one window count once; nothing that was asked for gets lost in the fold."""
    for merged in arbitrate(asked).accepted:
        distinct = {(e.window, e.snippet) for e in merged.edits}
        wanted = sum(1 for _, s in distinct for p in s.pieces if isinstance(p, str))
        assert sum(1 for p in merged.snippet.pieces if isinstance(p, str)) == wanted


@given(proposals())
def test_required_reads_of_others_hold_in_what_is_accepted(asked: list[Proposal]) -> None:
    result = arbitrate(asked)
    if any(refused.edit.required for refused in result.refused):
        return
    for held in result.claims:
        if held.mode is ClaimMode.READ and held.required and isinstance(held.resource, TextRange):
            for merged in result.accepted:
                assert not breaks(merged.edits, held)


def breaks(accepted: tuple[Edit, ...], held: Claim) -> bool:
    """Whether an edit of another owner replaces bytes that `held` reads.

    Edits of one label may break each other's claims: saying so is what the label is for.
    """
    assert isinstance(held.resource, TextRange)
    labels = {e.composes for e in accepted if e.owner == held.owner and held in e.claims}
    return any(
        implied.mode is ClaimMode.REPLACE
        and isinstance(implied.resource, TextRange)
        and implied.resource.overlaps(held.resource)
        and e.owner != held.owner
        and (e.composes in (None, ANYONE) or e.composes not in labels)
        for e in accepted
        for implied in e.window_claims
    )


def conflict_free(result: Arbitration) -> bool:
    return not result.refused


@given(proposals())
def test_what_was_accepted_is_accepted_again_when_proposed_alone(asked: list[Proposal]) -> None:
    result = arbitrate(asked)
    if any(refused.edit.required for refused in result.refused):
        return
    accepted = [e for merged in result.accepted for e in merged.edits]
    again = arbitrate([Proposal(accepted)])
    assert conflict_free(again)
    assert again.accepted == result.accepted
