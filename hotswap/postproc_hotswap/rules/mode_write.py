# SPDX-License-Identifier: Apache-2.0
"""Writes to MODE need two `v_nop` before them, says one of two sources; off by default.

Under the policy `prove` a write is preserved if the two instructions before it in its straight line
are `v_nop`, and refused otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from postproc_hotswap.defects import Defect
    from postproc_hotswap.text import Finding, Text

__all__ = ["treat"]

_SLOTS: Final = 2


def treat(text: Text, index: int, defect: Defect) -> Iterable[Finding]:
    """Prove the distance, or refuse."""
    before = range(max(index - _SLOTS, int(text.lines.first[index])), index)
    names = [text.decoded[i].mnemonic.partition("_e32")[0] for i in before]
    if names == ["v_nop"] * _SLOTS and not text.flow.unresolved:
        yield text.preserve(index, defect.rule, "two v_nop stand before it")
    else:
        yield text.refuse(index, defect.rule, defect.reason)
