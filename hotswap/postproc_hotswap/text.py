# SPDX-License-Identifier: Apache-2.0
"""What a rule sees of one section, and what it may answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from postproc.codeobject import TextRange
from postproc.transaction import Claim, Edit, SiteOutcome, Snippet
from postproc_hotswap.defects import Defect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from postproc.codeobject import Section
    from postproc.isa import Decoded
    from postproc.passes import PassContext
    from postproc.transaction import Site
    from postproc_cfg import StraightLines, TextFlow
    from postproc_hotswap.config import Config
    from postproc_hotswap.detection import Matches

__all__ = ["Finding", "Rule", "Text"]

Finding = Edit | SiteOutcome | Claim
"""What a rule says of a site: an edit, an outcome, and claims that the outcome rests upon."""


@final
@dataclass(frozen=True, eq=False)
class Text:
    """One executable section with its sites."""

    context: PassContext
    section: Section
    decoded: Decoded
    matches: Matches
    flow: TextFlow
    _latest: dict[tuple[str, ...], NDArray[np.intp]] = field(default_factory=dict)

    @property
    def config(self) -> Config:
        """The `[plugin.hotswap]` table."""
        config: Config = self.context.config
        return config

    @property
    def lines(self) -> StraightLines:
        """The straight lines of this section."""
        return self.flow.lines[self.section.index]

    def latest(self, mnemonics: tuple[str, ...], index: int) -> int | None:
        """The last instruction with one of the mnemonics (shell patterns) before instruction
        `index` in its straight line."""
        found = self._latest.get(mnemonics)
        if found is None:
            marked = np.zeros(len(self.decoded), bool)
            marked[self.decoded.where(self.decoded.isa.match(*mnemonics))] = True
            found = self._latest[mnemonics] = self.lines.latest(marked)
        last = int(found[index])
        return None if last < 0 else last

    def window(self, index: int, last: int | None = None) -> TextRange:
        """The bytes of instruction `index`, or of those from `index` to `last`."""
        end = index if last is None else last
        start = int(self.decoded.offset[index])
        stop = int(self.decoded.offset[end]) + int(self.decoded.size[end])
        return TextRange(self.section.index, start, stop)

    def site(self, index: int, rule: str) -> Site:
        """The site of `rule` at instruction `index`."""
        return self.context.site(self.section, self.decoded[index], rule)

    def replace(self, index: int, rule: str, data: bytes, reason: str) -> Edit:
        """The required edit that puts `data` over instruction `index`."""
        return Edit(
            site=self.site(index, rule),
            window=self.window(index),
            snippet=Snippet.bytes(data),
            reason=reason,
        )

    def refuse(self, index: int, rule: str, reason: str) -> SiteOutcome:
        """The refusal that ends the transaction."""
        return SiteOutcome(self.site(index, rule), "refused", reason, required=True)

    def preserve(self, index: int, rule: str, reason: str) -> SiteOutcome:
        """The site stays as it is, for `reason`."""
        return SiteOutcome(self.site(index, rule), "preserved", reason)


if TYPE_CHECKING:
    Rule = Callable[[Text, int, Defect], Iterable[Finding]]
else:
    Rule = object
"""What becomes of one site: `rule(text, index, row)`."""
