# SPDX-License-Identifier: Apache-2.0
"""Finds what each value of an operand's field means, by trying them all.

The meanings of all values of a field make up its *class*; fields with equal classes share it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .llvm import Decodes
from .windows import swept

if TYPE_CHECKING:
    from .study import OperandStudy, Study
    from .target import Target

REJECTED, REGISTER, IMMEDIATE, LITERAL = range(4)
"""Kinds of a code.  The value is a packed register, an immediate, or the bytes that follow (0: the
literal is the one that VOPD, FMAMK and FMAAK carry in any case)."""

OWN_WIDTH = 0xFF
"""Width, in a class, of registers that are as wide as the operand."""

MOST_BASES = 6
LITERAL_CODES = (254, 255)
MAJORITY = 0.7
"""Share of an immediate's values that must be a weighted sum of its bits for all to be."""


@dataclass(frozen=True)
class CodeClass:
    """kind uint8 and value int64, by code."""

    kind: np.ndarray
    value: np.ndarray


@dataclass
class ClassTable:
    """All distinct classes of a target, in order of discovery."""

    classes: list[CodeClass] = field(default_factory=list)
    _numbers: dict[bytes, int] = field(default_factory=dict)

    def number(self, found: CodeClass) -> int:
        key = found.kind.tobytes() + found.value.tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self.classes)
            self.classes.append(found)
        return self._numbers[key]


def sweep(target: Target, study: Study, operand: OperandStudy, classes: ClassTable) -> None:
    """Sets `linear` if the codes are a weighted sum, else `operand_class` and `width`."""
    operand.linear = operand.operand_class = None
    meaning = _meaning(target, study, operand)
    if operand.is_immediate:
        _correct_misread(operand, meaning)
    if not (meaning.kind == IMMEDIATE).all() or not _set_linear(operand, meaning.value):
        registers = meaning.kind == REGISTER
        widths = Counter((meaning.value[registers] >> 12 & 0xFF).tolist())
        operand.width = widths.most_common(1)[0][0] if widths else 0
        own = registers & ((meaning.value >> 12 & 0xFF) == operand.width)
        meaning.value[own] |= OWN_WIDTH << 12
        operand.operand_class = classes.number(meaning)


def _meaning(target: Target, study: Study, operand: OperandStudy) -> CodeClass:
    """What LLVM makes of each code, with as many bases as it takes: a code that is rejected with
    one base for another reason may be accepted with the next."""
    kind, value = _try_codes(target, study, operand, study.bases[0])
    fruitless = 0
    for base in study.bases[1:MOST_BASES]:
        holes = kind == REJECTED
        if not holes.any() or fruitless == 2:
            break
        more_kind, more_value = _try_codes(target, study, operand, base)
        kind = np.where(holes, more_kind, kind)
        value = np.where(holes, more_value, value)
        fruitless = 0 if (kind[holes] != REJECTED).any() else fruitless + 1
    return CodeClass(kind, value)


def _try_codes(
    target: Target, study: Study, operand: OperandStudy, base: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    windows = swept(base, operand.bits)
    decodes = target.llvm.decode(windows)
    index = operand.index
    valid = study.accepts(decodes) & (decodes.operand_count > index)
    registers = valid & (decodes.kind[:, index] == 1)
    kind = np.where(valid, IMMEDIATE, REJECTED).astype(np.uint8)
    value = np.where(valid, decodes.value[:, index], 0)
    kind[registers] = REGISTER
    value[registers] = target.packed_registers[value[registers]]
    if not operand.is_immediate:
        _mark_literals(target, study, operand, windows, decodes, kind, value)
    return kind, value


def _mark_literals(
    target: Target,
    study: Study,
    operand: OperandStudy,
    windows: np.ndarray,
    decodes: Decodes,
    kind: np.ndarray,
    value: np.ndarray,
) -> None:
    """Tells literals from inline constants: a literal makes the encoding longer, or changes when
    the bytes that hold the shared literal do."""
    rows = np.nonzero(kind == IMMEDIATE)[0]
    if not rows.size:
        return
    index = operand.index
    extra = decodes.size[rows].astype(int) - study.base_size
    longer = (extra == 4) | (extra == 8)
    changed = windows[rows].copy()
    changed[:, study.explored_size :] ^= 0x15
    for bit in _shared_literal_bits(study):
        if bit % 4 == 0 and bit not in operand.bits:
            changed[:, bit >> 3] ^= np.uint8(1 << (bit & 7))
    again = target.llvm.decode(changed)
    moved = (again.value[:, index] != decodes.value[rows, index]) | (
        again.kind[:, index] != decodes.kind[rows, index]
    )
    # a literal that consumes nothing and has no shared literal to take: LLVM reads what follows
    # the instruction, and says so nowhere
    nonsense = (decodes.kind[rows, index] == 3) | np.isin(rows & 0xFF, LITERAL_CODES)
    kind[rows[longer | moved]] = LITERAL
    value[rows[longer]] = extra[longer]
    value[rows[moved & ~longer]] = 0
    rejected = rows[nonsense & ~longer & ~moved]
    kind[rejected], value[rejected] = REJECTED, 0


def _shared_literal_bits(study: Study) -> set[int]:
    """Bits of immediates that can only be the literal that VOPD, FMAMK and FMAAK carry."""
    return {
        bit
        for operand in study.operands
        if operand.is_immediate and len(operand.bits) >= 16 and min(operand.bits) >= 32
        for bit in operand.bits
    }


def _correct_misread(operand: OperandStudy, meaning: CodeClass) -> None:
    """LLVM 22 takes some values of some immediates (`dpp_ctrl` of v_fma_mixlo_f16_dpp ...) for
    inline constants or literals, as if they were sources.  Where most values are a weighted sum of
    the bits, so are the others."""
    codes = np.arange(len(meaning.value))
    known = meaning.kind == IMMEDIATE
    weights = []
    for place in range(len(operand.bits)):
        lower = codes[(codes >> place & 1) == 0]
        both = lower[known[lower] & known[lower | 1 << place]]
        if not both.size:
            return
        delta = Counter((meaning.value[both | 1 << place] - meaning.value[both]).tolist())
        weights.append(delta.most_common(1)[0][0])
    total = np.zeros(len(codes), np.int64)
    for place, weight in enumerate(weights):
        total += (codes >> place & 1) * weight
    base, votes = Counter((meaning.value - total)[known].tolist()).most_common(1)[0]
    if MAJORITY * known.sum() <= votes < known.sum():
        meaning.value[known] = (total + base)[known]
        operand.misread = True


def _set_linear(operand: OperandStudy, values: np.ndarray) -> bool:
    """Whether the values are a sum of weights of the bits that are set; if so, keeps them."""
    base = int(values[0])
    weights = {bit: int(values[1 << place]) - base for place, bit in enumerate(operand.bits)}
    codes = np.arange(len(values))
    total = np.full(len(values), base, np.int64)
    for place, weight in enumerate(weights.values()):
        total += (codes >> place & 1) * weight
    if not np.array_equal(total, values):
        return False
    operand.linear, operand.base = weights, base
    return True
