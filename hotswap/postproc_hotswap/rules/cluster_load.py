# SPDX-License-Identifier: Apache-2.0
"""Cluster loads become global loads of the same operands, with and without a scalar base.

    cluster_load_b32 v4, v1, s[2:3]                        ->    global_load_b32 v4, v1, s[2:3]
    cluster_load_async_to_lds_b128 v1, v[2:3], off         ->    global_load_async_to_lds_b128 ...

A cluster load differs from a global load in the multicast that the workgroup mask in M0[15:0] asks
for; a lane receives the same data without it, from its own request.  Only the opcode field changes:
size, operands, cache policy, the counter that is waited for (LOADcnt, ASYNCcnt), SCC and M0 stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from postproc_hotswap.defects import CLUSTER_TO_GLOBAL
from postproc_hotswap.encodings import GLOBAL_OPCODE, with_field

if TYPE_CHECKING:
    from collections.abc import Iterable

    from postproc.isa import Isa
    from postproc_hotswap.defects import Defect
    from postproc_hotswap.text import Finding, Text

__all__ = ["treat"]


def treat(text: Text, index: int, defect: Defect) -> Iterable[Finding]:
    """Change the opcode; refuse if the result has other operands."""
    isa, before = text.context.isa, text.decoded[index]
    wanted = CLUSTER_TO_GLOBAL[before.mnemonic]
    data = with_field(before.data, GLOBAL_OPCODE, _opcode(isa, wanted))
    after = isa.decode(data)
    if len(after) != 1 or after[0].mnemonic != wanted:
        yield text.refuse(index, defect.rule, f"its operands do not fit {wanted}")
        return
    old = [(v.spec.role, v.kind, v.value, v.register, v.width) for v in before.values]
    new = [(v.spec.role, v.kind, v.value, v.register, v.width) for v in after[0].values]
    if old != new:
        yield text.refuse(index, defect.rule, f"{wanted} reads its operands otherwise")
        return
    yield text.replace(index, defect.rule, data, defect.reason)


def _opcode(isa: Isa, mnemonic: str) -> int:
    """The OP field of a VGLOBAL instruction, from the tables."""
    entry = isa.entry(int(np.flatnonzero(isa.match(mnemonic))[0]))
    mask, bits = entry.patterns[0]
    if mask & GLOBAL_OPCODE.mask != GLOBAL_OPCODE.mask:
        raise ValueError(f"{mnemonic} has no fixed opcode field")
    return (bits & GLOBAL_OPCODE.mask) >> GLOBAL_OPCODE.low
