# SPDX-License-Identifier: Apache-2.0
"""Kernels that do not begin with a harmless vector memory operation; off by default.

The first vector memory operation of a wave should be one that does nothing and stands in no clause
(COMGR, L#3008, L#3483; LLVM#208467 and LLVM#210874 emit it in every kernel):

    global_prefetch_b8 v0, s[0:1] scope:SCOPE_SE        or        global_wb scope:SCOPE_CU
    v_nop                                                         v_nop

Under the policy `prove` every kernel must begin like that, or is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from postproc.codeobject import TextPosition
from postproc.transaction import Site, SiteOutcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from postproc_hotswap.text import Text

__all__ = ["RULE", "check"]

RULE: Final = "entry-vmem"
_HARMLESS: Final = ("global_prefetch_b8", "global_wb")


def check(text: Text) -> Iterable[SiteOutcome]:
    """One outcome for each kernel that starts in this section."""
    if text.config.entry_vmem == "ignore":
        return
    for kernel in text.context.code_object.kernels:
        if kernel.section_index == text.section.index:
            yield _outcome(text, kernel.name, kernel.offset)


def _outcome(text: Text, name: str, offset: int) -> SiteOutcome:
    names = _first_two(text, offset)
    at = TextPosition(text.section.index, offset)
    site = Site(text.context.owner, RULE, at, names[0] if names else "", name)
    if len(names) > 1 and names[0] in _HARMLESS and names[1].startswith("v_nop"):
        return SiteOutcome(site, "preserved", f"begins with {names[0]}")
    reason = "the kernel does not begin with a harmless vector memory operation"
    return SiteOutcome(site, "refused", reason, required=True)


def _first_two(text: Text, offset: int) -> list[str]:
    try:
        index = text.decoded.index_at(offset)
    except ValueError:
        return []
    return [text.decoded[i].mnemonic for i in range(index, min(index + 2, len(text.decoded)))]
