# SPDX-License-Identifier: Apache-2.0
"""Arbitration: from the proposals of all passes to one set of edits that can all be made.

Let P be the *parties*: every edit, and every standalone claim.  Each party has claims.

1. Two claims of different parties *collide* if their resources overlap and their modes are
   incompatible (`postproc.transaction.claims`).
2. A collision is *settled* if
   a. one owner filed both and one of them only reads or pins: an owner vouches for itself;
   b. both edits put the same pieces into the same window (merged);
   c. one edit nests in an original that the other keeps, and they say that they compose
      (composed; ordered where either could be the outer one);
   d. the side that reads or pins did not require it (waived).
   Otherwise it is a *conflict*.
3. A *bundle* is a set of edits that share a label of `Edit.composes` and nest in one another; it
   is accepted or refused as one.  Any other party is a bundle of its own.
4. Bundles are taken required first, then in the order of their place and content.  One that
   conflicts inside itself, or with one already taken, is refused; of two required bundles both.
5. Taken edits whose windows overlap are folded into one `MergedEdit`, the outer ones first.

Order of arrival is used nowhere: everything is sorted by value before it is looked at.
The time is O(n log n + pairs of overlapping claims of which at least one writes).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, final

from postproc.codeobject import TextRange
from postproc.errors import Refusal
from postproc.transaction.claims import Claim, describe_resource
from postproc.transaction.collisions import Collision, Party, find_collisions
from postproc.transaction.composition import MergedEdit, fold, nests
from postproc.transaction.edits import (
    ANYONE,
    Edit,
    Proposal,
    Site,
    SiteOutcome,
    claim_key,
    edit_key,
    site_key,
)

__all__ = ["Arbitration", "Decision", "RefusedEdit", "arbitrate"]

DecisionKind = Literal["merged", "composed", "ordered", "waived", "refused"]


@final
@dataclass(frozen=True, slots=True)
class Decision:
    """One thing that the arbiter decided, for the report.

    `owners` are the plugins concerned, in the order of their names; `sites` the sites of the edits.
    """

    kind: DecisionKind
    owners: tuple[str, ...]
    sites: tuple[Site, ...]
    reason: str


@final
@dataclass(frozen=True, slots=True)
class RefusedEdit:
    """An edit that cannot be made, and why."""

    edit: Edit
    refusal: Refusal


@final
@dataclass(frozen=True, slots=True)
class Arbitration:
    """What the arbiter settled; all tuples are sorted by place.

    `claims` are the claims that hold in the output: those of the accepted edits and the standalone
    ones, without the waived.  `outcomes` are the sites that the passes decided themselves.
    """

    accepted: tuple[MergedEdit, ...]
    refused: tuple[RefusedEdit, ...]
    claims: tuple[Claim, ...]
    outcomes: tuple[SiteOutcome, ...]
    decisions: tuple[Decision, ...]


@dataclass
class _Bundle:
    """Parties that stand or fall together, in canonical order."""

    members: list[Party]
    lost: list[Collision] = field(default_factory=list)

    @property
    def required(self) -> bool:
        return any(member.required for member in self.members)

    @property
    def refusal(self) -> Refusal | None:
        """Why it was refused; None if it was taken."""
        return _conflict_refusal(self.lost) if self.lost else None

    @property
    def parties(self) -> list[Party]:
        """Its members, and whoever stood against them."""
        rivals = (party for collision in self.lost for party in collision.parties)
        return list(dict.fromkeys((*self.members, *rivals)))


def arbitrate(proposals: Iterable[Proposal]) -> Arbitration:
    """Settle all proposals for one code object.  The order of `proposals` has no influence."""
    taken_in = tuple(proposals)
    parties = _parties(taken_in)
    settled = [_settle(collision) for collision in find_collisions(parties)]
    bundles = _bundles(parties, settled)
    _refuse_conflicting(bundles, [s.collision for s in settled if s.kind == "conflict"])
    return _result(taken_in, bundles, settled)


def _parties(proposals: Sequence[Proposal]) -> list[Party]:
    edits = sorted((edit for p in proposals for edit in p.edits), key=edit_key)
    claims = sorted((claim for p in proposals for claim in p.claims), key=claim_key)
    parties: list[Party] = []
    for edit in edits:
        parties.append(Party.of_edit(len(parties), edit))
    for claim in claims:
        parties.append(Party.of_claim(len(parties), claim))
    return parties


@final
@dataclass(frozen=True, eq=False)
class _Settled:
    """A collision and what clause 2 says of it; `reason` is for the record."""

    collision: Collision
    kind: Literal["vouched", "merged", "composed", "ordered", "waived", "conflict"]
    reason: str = ""


def _settle(collision: Collision) -> _Settled:
    one, other = collision.parties
    reader = collision.reading_claim
    if reader is not None:
        if one.owner == other.owner or _same_label(one.edit, other.edit):
            return _Settled(collision, "vouched")
        if not reader.required:
            reason = f"{reader.owner} did not require {_claim_text(reader)}"
            return _Settled(collision, "waived", reason)
        return _Settled(collision, "conflict")
    if one.edit is None or other.edit is None:
        return _Settled(collision, "conflict")
    if not all(isinstance(claim.resource, TextRange) for claim in collision.claims):
        return _Settled(collision, "conflict")
    if one.edit.window == other.edit.window and one.edit.snippet == other.edit.snippet:
        return _Settled(collision, "merged", "both put the same code into the same window")
    return _compose(collision, one.edit, other.edit)


def _same_label(one: Edit | None, other: Edit | None) -> bool:
    return (
        one is not None
        and other is not None
        and one.composes == other.composes
        and one.composes not in (None, ANYONE)
    )


def _compose(collision: Collision, one: Edit, other: Edit) -> _Settled:
    ways = [
        (outer, inner)
        for outer, inner in ((one, other), (other, one))
        if nests(inner, outer) and (outer.composes == ANYONE or _same_label(outer, inner))
    ]
    if not ways:
        return _Settled(collision, "conflict")
    outer, inner = (f"{edit.owner}/{edit.site.rule}" for edit in ways[0])
    reason = f"{inner} stands in an original that {outer} keeps"
    return _Settled(collision, "ordered" if len(ways) == 2 else "composed", reason)


def _claim_text(claim: Claim) -> str:
    reason = f" ({claim.reason})" if claim.reason else ""
    return f"{claim.mode.value} of {describe_resource(claim.resource)}{reason}"


def _decision(kind: DecisionKind, parties: Iterable[Party], reason: str) -> Decision:
    concerned = list(parties)
    sites = sorted((p.edit.site for p in concerned if p.edit is not None), key=site_key)
    owners = sorted({party.owner for party in concerned})
    return Decision(kind, tuple(owners), tuple(sites), reason)


def _bundles(parties: Sequence[Party], settled: Iterable[_Settled]) -> list[_Bundle]:
    """Clause 3: union of the labelled edits that nest in one another."""
    root = list(range(len(parties)))

    def find(index: int) -> int:
        while root[index] != index:
            root[index] = root[root[index]]
            index = root[index]
        return index

    for settlement in settled:
        one, other = settlement.collision.parties
        nested = settlement.kind in ("composed", "ordered")
        if nested and _same_label(one.edit, other.edit):
            low, high = sorted((find(one.index), find(other.index)))
            root[high] = low
    members: dict[int, list[Party]] = {}
    for party in parties:
        members.setdefault(find(party.index), []).append(party)
    bundles = [_Bundle(group) for group in members.values()]
    bundles.sort(key=lambda bundle: (not bundle.required, bundle.members[0].index))
    return bundles


def _refuse_conflicting(bundles: Sequence[_Bundle], conflicts: Iterable[Collision]) -> None:
    """Clause 4.  `bundles` come in the order in which they are taken."""
    bundle_of = {member.index: rank for rank, b in enumerate(bundles) for member in b.members}
    against: dict[int, list[Collision]] = {}
    for collision in conflicts:
        ranks = {bundle_of[party.index] for party in collision.parties}
        against.setdefault(max(ranks), []).append(collision)

    victims: list[tuple[_Bundle, Collision]] = []
    taken: set[int] = set()
    for rank, bundle in enumerate(bundles):
        for collision in against.get(rank, ()):
            rivals = {bundle_of[party.index] for party in collision.parties} - {rank}
            if not rivals or rivals & taken:
                bundle.lost.append(collision)
            if bundle.required:
                required = (bundles[rival] for rival in rivals if bundles[rival].required)
                victims.extend((rival, collision) for rival in required)
        if not bundle.lost:
            taken.add(rank)
    for rival, collision in victims:
        if collision not in rival.lost:
            rival.lost.append(collision)


def _conflict_refusal(collisions: Sequence[Collision]) -> Refusal:
    evidence = tuple(dict.fromkeys(_collision_text(collision) for collision in collisions))
    owners = sorted({party.owner for c in collisions for party in c.parties})
    between = " and ".join(owners) if len(owners) > 1 else f"two edits of {owners[0]}"
    return Refusal(f"conflict between {between}: {evidence[0]}", evidence[1:])


def _collision_text(collision: Collision) -> str:
    sides = [
        f"{party.describe()} claims {_claim_text(claim)}"
        for party, claim in zip(collision.parties, collision.claims, strict=True)
    ]
    return "; ".join(sides)


def _result(
    proposals: Sequence[Proposal], bundles: Sequence[_Bundle], settled: Sequence[_Settled]
) -> Arbitration:
    gone = {member.index for bundle in bundles if bundle.lost for member in bundle.members}
    decisions: list[Decision] = []
    waived: set[Claim | None] = set()
    for settlement in settled:
        kind, parties = settlement.kind, settlement.collision.parties
        if kind == "vouched" or kind == "conflict" or any(p.index in gone for p in parties):
            continue
        decisions.append(_decision(kind, parties, settlement.reason))
        if kind == "waived":
            waived.add(settlement.collision.reading_claim)
    accepted: list[Edit] = []
    refused: list[RefusedEdit] = []
    claims: set[Claim] = set()
    for bundle in bundles:
        edits = [member.edit for member in bundle.members if member.edit is not None]
        refusal = bundle.refusal
        if refusal is None:
            accepted.extend(edits)
            claims.update(claim for member in bundle.members for claim in member.stated)
        else:
            refused.extend(RefusedEdit(edit, refusal) for edit in edits)
            decisions.append(_decision("refused", bundle.parties, refusal.reason))
    outcomes = [outcome for proposal in proposals for outcome in proposal.outcomes]
    return Arbitration(
        accepted=fold(accepted),
        refused=tuple(sorted(refused, key=lambda r: edit_key(r.edit))),
        claims=tuple(sorted(claims - waived, key=claim_key)),
        outcomes=tuple(sorted(outcomes, key=lambda o: (site_key(o.site), o.status, o.reason))),
        decisions=tuple(sorted(dict.fromkeys(decisions), key=_decision_key)),
    )


def _decision_key(decision: Decision) -> tuple[object, ...]:
    sites = tuple(site_key(site) for site in decision.sites)
    return (decision.kind, decision.owners, sites, decision.reason)
