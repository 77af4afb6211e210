# SPDX-License-Identifier: Apache-2.0
"""Finds how some bits of an encoding change the widths of operands and its size.

In image instructions dmask, tfe, d16, dim, a16 and the like decide how many registers hold data
and addresses; in matrix products the formats decide how wide the matrices are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .fields import LAST_MATRIX_FORMAT, MATRIX_FORMATS, packed_values
from .study import Study
from .target import Target
from .windows import swept

__all__ = ["LAST_MATRIX_FORMAT", "SIZE", "Variants", "explore_variants", "selecting_bits"]

MOST_BITS = 13
BASES = 6

SIZE = "#size"
"""Pseudo-role: the size of the encoding in bytes."""

IMAGE_ROLES = ("dmask", "dim", "a16", "d16", "tfe", "lwe", "da", "r128")
"""Immediates that decide about the registers of image instructions."""


@dataclass(frozen=True)
class Variants:
    """`bits` (lowest first) select; `widths`: role -> int16 by selector: dwords, 0 absent, -1 where
    LLVM rejects the combination (or it was never seen).  `opcodes` counts those seen."""

    bits: tuple[int, ...]
    widths: dict[str, np.ndarray]
    opcodes: int


def selecting_bits(target: Target, study: Study) -> list[int]:
    """Bits that may select a variant; [] if there is but one."""
    name = target.instruction(study.leaf.opcode).name
    roles = MATRIX_FORMATS if "F8F6F4" in name else IMAGE_ROLES if name.startswith("IMAGE_") else ()
    bits = set(study.structural)
    names = target.roles(study.described.id)
    for operand in study.operands:
        if names.get(operand.index) in roles:
            bits.update(operand.bits)
    for role in roles:
        bits.update(study.structural_immediates.get(role, ()))
    return sorted(bits)


def explore_variants(target: Target, study: Study) -> None:
    bits = selecting_bits(target, study)
    if not bits:
        return
    if len(bits) > MOST_BITS:
        raise ValueError(f"{study.described.name}: {len(bits)} bits select variants")
    count = 1 << len(bits)
    widths: dict[str, np.ndarray] = {SIZE: np.full(count, -1, np.int16)}
    seen = np.zeros(count, bool)
    opcodes: set[int] = set()
    for base in study.bases[:BASES]:
        windows = swept(base, bits)
        decodes = target.llvm.decode(windows)
        rows = np.nonzero(study.accepts(decodes) & ~seen)[0]
        if not rows.size and seen.any():
            continue
        seen[rows] = True
        packed = packed_values(target, decodes)
        widths[SIZE][rows] = decodes.size[rows]
        for opcode in np.unique(decodes.opcode[rows]).tolist():
            opcodes.add(opcode)
            mine = rows[decodes.opcode[rows] == opcode]
            for index, role in target.roles(opcode).items():
                registers = mine[decodes.kind[mine, index] == 1]
                if registers.size:
                    table = widths.setdefault(role, np.full(count, -1, np.int16))
                    table[registers] = packed[registers, index] >> 12 & 0xFF
    for role, table in widths.items():
        if role != SIZE:
            table[seen & (table < 0)] = 0
    study.variants = Variants(tuple(bits), widths, len(opcodes))
