# SPDX-License-Identifier: Apache-2.0
"""Words that are no instruction, where one that A0 lacks could hide.

A word that the tables do not know may be the beginning of an instruction of any length, so that
even what is decoded behind it may be wrong.  It is harmless where control does not come:

  1. Zero words are padding wherever they stand: no instruction has a zero first dword.
  2. Other unknown words are refused if control comes to them: as an entry, as a branch target, or
     by falling through from such a place.
  3. They are refused as well if nothing leads there, but a computed transfer of the object has
     unknown targets; the policy `data` takes them for data then.
  4. Where control arrives in the middle of a decoded instruction, the text was read out of step.
  5. A site among unknown words (in the same stretch that no control enters) may be data: it is
     neither rewritten nor passed, but refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from postproc.transaction import Site, SiteOutcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from postproc_hotswap.text import Text

__all__ = ["RULE", "check", "doubtful"]

RULE: Final = "undecodable"


def check(text: Text) -> Iterable[SiteOutcome]:
    """One required refusal for each run of unknown words that may be executed."""
    for position in text.flow.torn:
        if position.section == text.section.index:
            symbol = text.context.view.symbol_at(position)
            site = Site(text.context.owner, RULE, position, ".long", symbol)
            why = "control arrives in the middle of an instruction: the text is read out of step"
            yield SiteOutcome(site, "refused", why, required=True)
    unknown = _unknown(text)
    if not unknown.size:
        return
    begins = np.flatnonzero(np.diff(unknown, prepend=-2) > 1)
    for start, stop in zip(begins.tolist(), [*begins[1:].tolist(), unknown.size], strict=True):
        reason = _why_executed(text, unknown[start:stop])
        if reason is not None:
            words = f"{stop - start} word{'s' if stop - start > 1 else ''} at and behind it"
            yield text.refuse(
                int(unknown[start]), RULE, f"no known instruction ({words}), {reason}"
            )


def doubtful(text: Text) -> NDArray[np.bool_]:
    """For each instruction, whether it stands among unknown words that control does not enter."""
    count = len(text.decoded)
    unknown = _unknown(text)
    if not unknown.size:
        return np.zeros(count, bool)
    with_unknown = np.zeros(count, bool)
    with_unknown[text.lines.stretch[unknown]] = True
    return with_unknown[text.lines.stretch] & np.logical_not(text.lines.reached)


def _unknown(text: Text) -> NDArray[np.intp]:
    """Numbers of the unknown words that are not zero."""
    decoded = text.decoded
    found = decoded.unknown
    starts = decoded.offset[found]
    code = np.frombuffer(decoded.code, np.uint8)
    bytes_of = np.minimum(starts[:, None] + np.arange(4, dtype=np.uint32), max(len(code) - 1, 0))
    return found[code[bytes_of].any(axis=1)] if found.size else found


def _why_executed(text: Text, run: NDArray[np.intp]) -> str | None:
    if text.lines.enters[run].any():
        return "and it is an entry or the target of a branch"
    if text.lines.reached[run].any():
        return "and control falls through to it"
    if text.flow.unresolved and text.config.undecodable == "refuse":
        at = text.flow.unresolved[0].offset
        return f"and the computed transfer of control at 0x{at:x} may go to it"
    return None
