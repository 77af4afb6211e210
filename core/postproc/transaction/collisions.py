# SPDX-License-Identifier: Apache-2.0
"""Which claims of different parties collide (clause 1 of `postproc.transaction.arbitration`)."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

from postproc.codeobject import TextRange
from postproc.transaction.claims import Claim, compatible, resource_key
from postproc.transaction.edits import Edit, claim_key

__all__ = ["Collision", "Party", "find_collisions"]


@final
@dataclass(frozen=True, eq=False)
class Party:
    """An edit or a standalone claim, at the negotiating table.

    `stated` are the claims that its owner filed, `claims` those and the ones that its window
    implies.  `index` is its rank in the canonical order.
    """

    index: int
    owner: str
    required: bool
    edit: Edit | None
    stated: tuple[Claim, ...]
    claims: tuple[Claim, ...]

    @classmethod
    def of_edit(cls, index: int, edit: Edit) -> Party:
        claims = tuple(sorted((*edit.window_claims, *edit.claims), key=claim_key))
        return cls(index, edit.owner, edit.required, edit, edit.claims, claims)

    @classmethod
    def of_claim(cls, index: int, claim: Claim) -> Party:
        return cls(index, claim.owner, claim.required, None, (claim,), (claim,))

    def describe(self) -> str:
        """`hotswap/clause at 0x40`, or `dbi` for a standalone claim."""
        if self.edit is None:
            return self.owner
        site = self.edit.site
        return f"{site.owner}/{site.rule} at 0x{site.position.offset:x}"


@final
@dataclass(frozen=True, eq=False)
class Collision:
    """Two incompatible claims on one resource; `parties` are in canonical order."""

    parties: tuple[Party, Party]
    claims: tuple[Claim, Claim]

    @property
    def reading_claim(self) -> Claim | None:
        """The side that only reads or pins; None if both write."""
        for claim in self.claims:
            if not claim.mode.writes:
                return claim
        return None


_Held = tuple[Claim, Party]


def find_collisions(parties: Sequence[Party]) -> list[Collision]:
    """All collisions, in canonical order."""
    text: list[_Held] = []
    named: dict[Hashable, list[_Held]] = {}
    for party in parties:
        for claim in party.claims:
            if isinstance(claim.resource, TextRange):
                text.append((claim, party))
            else:
                named.setdefault(resource_key(claim.resource), []).append((claim, party))
    found = [_collision(a, b) for a, b in _overlapping_text(text) if _collide(a, b)]
    for holders in named.values():
        writers = [held for held in holders if held[0].mode.writes]
        for writer in writers:
            for held in holders:
                both_write = held[0].mode.writes
                if _collide(writer, held) and not (both_write and held[1].index < writer[1].index):
                    found.append(_collision(writer, held))
    found.sort(
        key=lambda c: (
            c.parties[0].index,
            c.parties[1].index,
            claim_key(c.claims[0]),
            claim_key(c.claims[1]),
        )
    )
    return found


def _collide(one: _Held, other: _Held) -> bool:
    return one[1] is not other[1] and not compatible(one[0].mode, other[0].mode)


def _collision(one: _Held, other: _Held) -> Collision:
    first, second = (one, other) if one[1].index < other[1].index else (other, one)
    return Collision((first[1], second[1]), (first[0], second[0]))


def _overlapping_text(held: Sequence[_Held]) -> Iterator[tuple[_Held, _Held]]:
    """Pairs of overlapping text claims of which at least one writes.

    A sweep over the starts; claims whose end was passed leave the two heaps.  Readers are not
    compared with readers, so that many proofs over the same code cost nothing.
    """

    def start(item: _Held) -> tuple[int, int]:
        span = item[0].resource
        assert isinstance(span, TextRange)
        return (span.section, span.start)

    writers: list[tuple[int, int, int]] = []
    readers: list[tuple[int, int, int]] = []
    ordered = sorted(held, key=start)
    for rank, item in enumerate(ordered):
        span = item[0].resource
        assert isinstance(span, TextRange)
        for heap in (writers, readers):
            while heap and (heap[0][0], heap[0][1]) <= (span.section, span.start):
                heapq.heappop(heap)
        for _, _, earlier in writers:
            yield ordered[earlier], item
        if item[0].mode.writes:
            for _, _, earlier in readers:
                yield ordered[earlier], item
        heap = writers if item[0].mode.writes else readers
        heapq.heappush(heap, (span.section, span.end, rank))
