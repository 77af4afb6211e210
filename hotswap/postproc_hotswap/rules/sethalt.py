# SPDX-License-Identifier: Apache-2.0
"""`s_sethalt` becomes `s_nop 0`.

    s_sethalt 1        ->    s_nop 0

A0 must not halt just before the scale load of a scaled WMMA.  Nothing but a debugger or a trap
handler resumes a wave that halted itself, so that a kernel which ran to its end on B0 does so
without the halt, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from postproc_hotswap.encodings import S_NOP_0

if TYPE_CHECKING:
    from collections.abc import Iterable

    from postproc_hotswap.defects import Defect
    from postproc_hotswap.text import Finding, Text

__all__ = ["treat"]


def treat(text: Text, index: int, defect: Defect) -> Iterable[Finding]:
    """Replace the site; its size is that of `s_nop`."""
    yield text.replace(index, defect.rule, S_NOP_0, defect.reason)
