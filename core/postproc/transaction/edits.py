# SPDX-License-Identifier: Apache-2.0
"""Sites, snippets, edits, and the proposal that a pass returns.

An edit replaces the bytes of its `window` by a `Snippet`.  A snippet is a sequence of pieces: new
assembly, new bytes, and *kept originals* (a `TextRange` inside the window).  Keeping an original is
how an edit says "this instruction, whatever becomes of it, goes here"; two edits of one place
compose exactly when one nests in a piece that the other keeps::

    delay window (one rule)      Snippet("s_delay_alu ...", keep(0x10, 0x18), "s_delay_alu ...")
    DS2 split    (another)       window 0x10..0x18, Snippet("ds_load_b64 ...", "ds_load_b64 ...")
    together                     the split stands where the kept original stood

The same mechanism carries a probe before an instruction that somebody else rewrites
(`Snippet(probe, keep)`), and neighbours that placement absorbs into a larger window.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, final

from postproc.codeobject import TextPosition, TextRange
from postproc.transaction.claims import Claim, ClaimMode, resource_key

__all__ = [
    "ANYONE",
    "Edit",
    "Piece",
    "Proposal",
    "Site",
    "SiteOutcome",
    "SiteStatus",
    "Snippet",
]

Piece = str | bytes | TextRange
"""Assembly in LLVM syntax (one or more lines) | encoded bytes | an original that is kept."""

ANYONE = "*"
"""`Edit.composes` of an edit that lets any other edit nest in the originals it keeps."""

SiteStatus = Literal["rewritten", "preserved", "refused", "not-applicable"]

_INSTRUCTION_ALIGNMENT = 4
"""Bytes; every AMDGPU encoding is a whole number of dwords."""


@final
@dataclass(frozen=True, slots=True)
class Site:
    """An instruction that a rule of `owner` matched.

    `owner` is the name of the plugin, `symbol` the function or kernel around the site ("" if there
    is none).
    """

    owner: str
    rule: str
    position: TextPosition
    mnemonic: str
    symbol: str


@final
@dataclass(frozen=True, slots=True, init=False)
class Snippet:
    """The code that takes the place of a window: `Snippet("s_nop 0")`, `Snippet(b"...", keep)`.

    Pieces are laid out in order.  No piece at all means: the window's instructions go away.
    """

    pieces: tuple[Piece, ...]

    def __init__(self, *pieces: Piece) -> None:
        for piece in pieces:
            if isinstance(piece, builtins.bytes) and len(piece) % _INSTRUCTION_ALIGNMENT:
                raise ValueError(f"encoded piece of {len(piece)} bytes is not a number of dwords")
            if not isinstance(piece, (str, builtins.bytes, TextRange)):
                raise TypeError(f"a piece is str, bytes or TextRange, not {type(piece).__name__}")
        object.__setattr__(self, "pieces", pieces)

    @classmethod
    def bytes(cls, data: builtins.bytes) -> Snippet:
        """A snippet of one encoded piece (a patched encoding, say)."""
        return cls(data)

    @property
    def kept(self) -> tuple[TextRange, ...]:
        """The originals that stay, in the order in which they are laid out."""
        return tuple(piece for piece in self.pieces if isinstance(piece, TextRange))


@final
@dataclass(frozen=True, kw_only=True)
class Edit:
    """Replace the bytes of `window` by `snippet`.

    `window` is a non-empty half-open range of whole instructions; it need not hold the site itself
    (a mask may be put where its register is defined).  `claims` are what the edit needs besides its
    window.  `required`: without this edit the object is wrong, so a refusal fails the transaction.
    `composes` names the company that the edit keeps:

    - None: nobody may nest in the originals it keeps;
    - a label: edits of the same label may nest in one another, and those that do are accepted or
      refused together;
    - `ANYONE`: every edit may nest in the originals it keeps (a probe).

    `reason` tells the reader of the report why the site needs it.

    Raises ValueError if the window, the kept originals or the claims' owners make no sense.
    """

    site: Site
    window: TextRange
    snippet: Snippet
    claims: tuple[Claim, ...] = ()
    required: bool = True
    composes: str | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        window = self.window
        if window.start < 0 or window.end <= window.start:
            raise ValueError(f"window {window} is empty")
        if window.start % _INSTRUCTION_ALIGNMENT or window.end % _INSTRUCTION_ALIGNMENT:
            raise ValueError(f"window {window} is not a number of dwords")
        end_of_last = window.start
        for kept in sorted(self.snippet.kept, key=lambda piece: piece.start):
            if not window.covers(kept) or kept.start < end_of_last or kept.end <= kept.start:
                raise ValueError(f"kept original {kept} is empty, doubled or outside {window}")
            end_of_last = kept.end
        for claim in self.claims:
            if claim.owner != self.site.owner:
                raise ValueError(f"claim of {claim.owner!r} in an edit of {self.site.owner!r}")

    @property
    def owner(self) -> str:
        return self.site.owner

    @property
    def window_claims(self) -> tuple[Claim, ...]:
        """The claims that the snippet implies: MOVE on kept originals, REPLACE on the rest.

        Their reason is empty: the window says it all.
        """

        def implied(start: int, end: int, mode: ClaimMode) -> Claim:
            span = TextRange(self.window.section, start, end)
            return Claim(self.owner, span, mode, True, "")

        claims: list[Claim] = []
        cursor = self.window.start
        for kept in sorted(self.snippet.kept, key=lambda piece: piece.start):
            if cursor < kept.start:
                claims.append(implied(cursor, kept.start, ClaimMode.REPLACE))
            claims.append(implied(kept.start, kept.end, ClaimMode.MOVE))
            cursor = kept.end
        if cursor < self.window.end:
            claims.append(implied(cursor, self.window.end, ClaimMode.REPLACE))
        return tuple(claims)

    def keeps(self, span: TextRange) -> bool:
        """Whether `span` lies in one original that this edit keeps."""
        return any(kept.covers(span) for kept in self.snippet.kept)


@final
@dataclass(frozen=True, slots=True)
class SiteOutcome:
    """What became of a site.

    A pass returns outcomes for the sites it decides itself (preserved, refused, not-applicable);
    the core makes those of the edits.  `required` matters only with "refused": it fails the
    transaction.
    `new_offset` is where the site's code begins in the output (bytes from the start of its section,
    None: it has no code of its own there); `added_bytes` and `added_dynamic_instructions` (per
    execution of the site, straight through) may be negative.
    """

    site: Site
    status: SiteStatus
    reason: str
    placement: str | None = None
    new_offset: int | None = None
    added_bytes: int = 0
    added_dynamic_instructions: int = 0
    required: bool = False


@final
@dataclass(frozen=True, slots=True, init=False)
class Proposal:
    """All that one pass wants of one code object: `Proposal(edits, outcomes, claims, warnings)`.

    `claims` stand on their own: facts of the original that the pass's *outcomes* rest upon, such as
    the members of a clause that was left as it is.  An edit of another owner that breaks a required
    one is refused.  `warnings` are for the user ("nothing matches select = ..."); they fail the
    object where the user asked for strictness.
    """

    edits: tuple[Edit, ...]
    outcomes: tuple[SiteOutcome, ...]
    claims: tuple[Claim, ...]
    warnings: tuple[str, ...]

    def __init__(
        self,
        edits: Iterable[Edit] = (),
        outcomes: Iterable[SiteOutcome] = (),
        claims: Iterable[Claim] = (),
        warnings: Iterable[str] = (),
    ) -> None:
        object.__setattr__(self, "edits", tuple(edits))
        object.__setattr__(self, "outcomes", tuple(outcomes))
        object.__setattr__(self, "claims", tuple(claims))
        object.__setattr__(self, "warnings", tuple(warnings))


def site_key(site: Site) -> tuple[int, int, str, str, str, str]:
    """A total order on sites: by place first."""
    at = site.position
    return (at.section, at.offset, site.owner, site.rule, site.mnemonic, site.symbol)


def claim_key(claim: Claim) -> tuple[object, ...]:
    """A total order on claims."""
    return (
        resource_key(claim.resource),
        claim.owner,
        claim.mode.value,
        not claim.required,
        claim.reason,
    )


def _piece_key(piece: Piece) -> tuple[str, str, int, int]:
    if isinstance(piece, TextRange):
        return ("keep", "", piece.start, piece.end)
    if isinstance(piece, bytes):
        return ("bytes", piece.hex(), 0, 0)
    return ("text", piece, 0, 0)


def edit_key(edit: Edit) -> tuple[object, ...]:
    """A total order on edits: by window, then owner and rule, then content."""
    window = edit.window
    return (
        window.section,
        window.start,
        -window.end,
        edit.owner,
        edit.site.rule,
        site_key(edit.site),
        tuple(_piece_key(piece) for piece in edit.snippet.pieces),
        edit.composes or "",
        not edit.required,
        edit.reason,
        tuple(sorted(claim_key(claim) for claim in edit.claims)),
    )
