# SPDX-License-Identifier: Apache-2.0
"""Finds how some bits of an encoding change the widths of operands and its size.

In image instructions dmask, tfe, d16, dim, a16 and the like decide how many registers hold data
and addresses; in matrix products the formats decide how wide the matrices are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .fields import MATRIX_FORMATS, packed_values
from .study import Study
from .target import Target
from .windows import swept

MOST_BITS = 13
BASES = 6

SIZE = "#size"
"""Pseudo-role: the size of the encoding in bytes."""

IMAGE_ROLES = ("dmask", "dim", "a16", "d16", "tfe", "lwe", "da")
"""Immediates that decide about the registers of image instructions."""


@dataclass(frozen=True)
class Variants:
    """`bits` (lowest first) select; `widths`: role -> int16 by selector: dwords, 0 absent, -1 where
    LLVM rejects the combination (or it was never seen).  `opcodes` counts those seen."""

    bits: tuple[int, ...]
    widths: dict[str, np.ndarray]
    opcodes: int


def share_image_immediates(target: Target, studies: Sequence[Study]) -> None:
    """The deciding immediates of image instructions stand at the same place in a whole format.

    Most of their bits are structural, so a single entry does not show all of them.
    """
    shared: dict[tuple[int, int], dict[str, dict[int, int]]] = {}
    images = [s for s in studies if target.instruction(s.leaf.opcode).name.startswith("IMAGE_")]
    for study in images:
        known = shared.setdefault(_image_format(study), {})
        names = target.roles(study.described.id)
        for operand in study.operands:
            role = names.get(operand.index, "")
            if role in IMAGE_ROLES and operand.linear:
                known.setdefault(role, {}).update(operand.linear)
        for role, weights in study.structural_immediates.items():
            known.setdefault(role, {}).update(weights)
    for study in images:
        roles = set(target.roles(study.described.id).values())
        for role, weights in shared[_image_format(study)].items():
            if role in roles and role in IMAGE_ROLES:
                study.structural_immediates[role] = dict(weights)


def _image_format(study: Study) -> tuple[int, int]:
    """The bits that tell VIMAGE from VSAMPLE; MIMG has but one value."""
    return study.leaf.value >> 26 & 0x3F, study.leaf.size if study.leaf.size == 12 else 8


def selecting_bits(target: Target, study: Study) -> list[int]:
    """Bits that may select a variant; [] if there is but one."""
    name = target.instruction(study.leaf.opcode).name
    roles = MATRIX_FORMATS if "F8F6F4" in name else IMAGE_ROLES if name.startswith("IMAGE_") else ()
    # a register close to the end of the file, too, makes LLVM give up on a variant
    registers = {b for o in study.operands if not o.is_immediate for b in o.bits}
    bits = set(study.structural) - registers
    names = target.roles(study.described.id)
    for operand in study.operands:
        if names.get(operand.index) in roles:
            bits.update(operand.bits)
    for role in roles:
        bits.update(study.structural_immediates.get(role, ()))
    return sorted(b for b in bits if not study.leaf.mask >> b & 1)


def _with_low_registers(study: Study) -> np.ndarray:
    """The bases with the vector operands that may grow at register 0, so that they can."""
    bases = study.bases[:BASES].copy()
    for operand in study.operands:
        if not operand.is_immediate and len(operand.bits) in (8, 9):
            for bit in operand.bits:
                bases[:, bit >> 3] &= np.uint8(0xFF ^ (1 << (bit & 7)))
    return bases


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
    image = target.instruction(study.leaf.opcode).name.startswith("IMAGE_")
    for base in _with_low_registers(study) if image else study.bases[:BASES]:
        decodes = target.llvm.decode(swept(base, bits))
        rows = np.nonzero(study.accepts(decodes) & ~seen)[0]
        if seen.all() or (image and not rows.size and seen.any()):
            break
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
