# SPDX-License-Identifier: Apache-2.0
"""The src2 field of the scale prefix of a scaled WMMA becomes v0.

    prefix dword 1:  0x02031189 (src2 = 0x80)   ->   0x04031189 (src2 = 0x100)

The prefix does not use src2.  A field that names an SGPR or a constant makes the sequencer wait for
a scalar result that nobody reads; LLVM 22 writes v0 there.  Nothing else of the instruction, which
is one 16-byte encoding of two halves, changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from postproc_hotswap.defects import SCALE_PREFIX_SOURCE2, VGPR0
from postproc_hotswap.encodings import with_field

if TYPE_CHECKING:
    from collections.abc import Iterable

    from postproc_hotswap.defects import Defect
    from postproc_hotswap.text import Finding, Text

__all__ = ["treat"]


def treat(text: Text, index: int, defect: Defect) -> Iterable[Finding]:
    """Set the field; refuse if the result is not the same instruction."""
    before = text.decoded[index]
    data = with_field(before.data, SCALE_PREFIX_SOURCE2, VGPR0)
    after = text.context.isa.decode(data)
    same = len(after) == 1 and after[0].mnemonic == before.mnemonic
    if not same:
        yield text.refuse(
            index, defect.rule, "with v0 in the prefix the encoding is another instruction"
        )
        return
    yield text.replace(index, defect.rule, data, defect.reason)
