# SPDX-License-Identifier: Apache-2.0
"""Repairs fields that missed bits for want of good seeds.

Where most entries of a format have a wider field for the same role, register class and operand
type, an entry with part of it takes it over, and its codes are swept again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .classes import ClassTable, sweep
from .fields import LONGEST_SWEEP
from .formats import format_of
from .numbering import ts_flag_names
from .study import OperandStudy, Study
from .target import Target

LEAST_SHARE = 0.5
LEAST_ENTRIES = 4

_Key = tuple[int, str, str | None, int, int]


def repair_fields(target: Target, studies: Sequence[Study], classes: ClassTable) -> int:
    """Returns the number of repaired fields."""
    groups: dict[_Key, list[tuple[Study, OperandStudy]]] = {}
    for study in studies:
        for operand in study.operands:
            if operand.operand_class is not None:
                groups.setdefault(_key(target, study, operand), []).append((study, operand))
    repaired = 0
    for members in groups.values():
        usual = _usual_bits(members)
        for study, operand in members if usual else ():
            if set(operand.bits) < set(usual) and not any(study.leaf.mask >> b & 1 for b in usual):
                operand.bits = list(usual)
                sweep(target, study, operand, classes)
                study.ignored = [b for b in study.ignored if b not in usual]
                study.must = {b: v for b, v in study.must.items() if b not in usual}
                repaired += 1
    return repaired


def _key(target: Target, study: Study, operand: OperandStudy) -> _Key:
    instruction = study.described
    flags = frozenset(ts_flag_names(instruction.ts_flags))
    described = instruction.operands[operand.index]
    return (
        study.leaf.size,
        format_of(instruction.name, flags, study.leaf.size, study.leaf.value),
        target.roles(instruction.id).get(operand.index),
        described.register_class,
        described.type,
    )


def _usual_bits(members: Sequence[tuple[Study, OperandStudy]]) -> list[int]:
    """The bits that most of the fields have, or [] if there is no such majority."""
    count = Counter(tuple(operand.bits) for _, operand in members)
    bits, votes = count.most_common(1)[0]
    clear = votes >= LEAST_ENTRIES and votes >= LEAST_SHARE * len(members)
    return list(bits) if clear and len(bits) <= LONGEST_SWEEP else []
