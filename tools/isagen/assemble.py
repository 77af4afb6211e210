# SPDX-License-Identifier: Apache-2.0
"""Turns finished studies into facts."""

from __future__ import annotations

from collections import Counter

import numpy as np

from .classes import LITERAL, ClassTable
from .facts import EntryFacts, Json, OperandFacts, bit_runs, weighted_runs
from .formats import format_of
from .numbering import PCREL, ts_flag_names
from .registers import unpack
from .study import OperandStudy, Study
from .target import Target
from .variants import Variants

DPP8_CODES = (0xE9, 0xEA)
"""Codes of src0 that select DPP8 without and with fetch-inactive."""

_BRANCH_FLAG = 1 << 3
"""`MCOI::BranchTarget` in an operand's flags."""

TEXTS = 24
"""Encodings of each entry that are printed to learn its mnemonic."""


class AssembleError(Exception):
    """A study has a hole; the generator must not write facts that hide it."""


def entry_facts(target: Target, study: Study, classes: ClassTable, texts: list[str]) -> EntryFacts:
    """`texts`: LLVM's text of some encodings of the entry."""
    instruction = study.described
    ts_flags = ts_flag_names(instruction.ts_flags)
    patterns = fixed_patterns(study)
    operands = _operands(target, study, len(patterns) == 2)
    names = Counter(mnemonic_of(text) for text in texts if text and text != "?")
    if not names:
        raise AssembleError(f"{instruction.name}: LLVM prints none of its encodings")
    mnemonics = [name for name, _ in names.most_common()]
    return EntryFacts(
        mnemonics[0],
        instruction.name,
        format_of(instruction.name, frozenset(ts_flags), study.leaf.size, study.leaf.value),
        study.base_size,
        study.leaf.size,
        patterns,
        operands,
        study.opcodes,
        tuple(mnemonics[1:]),
        tuple(sorted(study.must)),
        tuple((low, length) for low, length in bit_runs(study.ignored)),
        literals=_literals(study, classes),
        structural=study.variants.bits if study.variants else (),
        width_variants=_width_variants(study.variants) if study.variants else {},
        variant_count=study.variants.opcodes if study.variants else 0,
        implicit_defs=instruction.implicit_defs,
        implicit_uses=instruction.implicit_uses,
        desc_flags=tuple(target.numbering.desc_flag_names(instruction.flags)),
        ts_flags=tuple(ts_flags),
        example=next(text for text in texts if text and text != "?"),
    )


def mnemonic_of(text: str) -> str:
    """The first word; of a dual instruction the first words of both halves."""
    halves = text.split(" :: ") if text.startswith("v_dual") else [text]
    return " :: ".join(half.split()[0] for half in halves)


def fixed_patterns(study: Study) -> tuple[tuple[int, int], ...]:
    """The leaf's mask and value, tightened by the bits that LLVM checks in C++."""
    mask, value = study.leaf.mask, study.leaf.value
    for byte in (0, 4):
        field = 0x1FF << byte * 8
        selectors = set(study.seeds[:, byte].tolist())
        if byte + 1 < study.leaf.size and mask & field != field and selectors <= set(DPP8_CODES):
            rest_mask, rest_value = _with_musts(study, mask | field, value & ~field, field)
            return tuple((rest_mask, rest_value | code << byte * 8) for code in DPP8_CODES)
    return (_with_musts(study, mask, value, 0),)


def _with_musts(study: Study, mask: int, value: int, except_bits: int) -> tuple[int, int]:
    for bit, wanted in study.must.items():
        if not except_bits >> bit & 1 and bit < study.leaf.size * 8:
            mask |= 1 << bit
            value |= wanted << bit
    return mask, value


def _operands(target: Target, study: Study, dpp8: bool) -> tuple[OperandFacts, ...]:
    instruction = study.described
    roles = target.roles(instruction.id)
    found: list[OperandFacts] = []
    for operand in study.operands:
        index = operand.index
        described = instruction.operands[index]
        role = roles.get(index) or _role_by_place(operand, study)
        if role == "fi" and dpp8:
            source: Json = {"fi8": 1}
        else:
            source = _source(study, operand, role)
        type_name = target.numbering.operand_types.get(described.type, str(described.type))
        known_class = described.register_class >= 0
        found.append(
            OperandFacts(
                role,
                index < instruction.defs,
                source,
                described.tied,
                bool(described.early_clobber),
                type_name == PCREL or bool(described.flags & _BRANCH_FLAG),
                type_name,
                target.description.classes[described.register_class].name if known_class else "",
            )
        )
    return tuple(found)


def _source(study: Study, operand: OperandStudy, role: str) -> Json:
    structural = study.structural_immediates.get(role)
    if structural is not None:
        weights = (operand.linear or {}) | structural
        fixed = sum(w for b, w in weights.items() if study.leaf.value >> b & 1)
        free = {b: w for b, w in weights.items() if not study.leaf.mask >> b & 1}
        item: Json = {"imm": weighted_runs(free)} if free else {"const": ["i", fixed]}
        return item | ({"c0": fixed} if free and fixed else {})
    if operand.problem:
        raise AssembleError(f"{study.described.name}: operand {role}: {operand.problem}")
    if operand.constant is not None:
        kind, value = operand.constant
        if kind != 1:
            return {"const": ["i", value]}
        register = unpack(value)
        return {"const": ["r", register.file, register.index, register.width]}
    if operand.linear is not None:
        item = {"imm": weighted_runs(operand.linear)} | ({"misread": 1} if operand.misread else {})
        return item | ({"c0": operand.base} if operand.base else {})
    return {"bits": bit_runs(operand.bits), "cls": operand.operand_class, "w": operand.width}


_PLACES_VINTRP = {18: "vdst", 0: "src0", 10: "attr", 8: "attrchan"}


def _role_by_place(operand: OperandStudy, study: Study) -> str:
    """Roles in formats that LLVM gives no names (scalar ones and VINTRP): by place."""
    instruction = study.described
    flags = ts_flag_names(instruction.ts_flags)
    first = operand.bits[0] if operand.bits else -1
    tied = "_in" if instruction.operands[operand.index].tied >= 0 else ""
    if "VINTRP" in flags and first in _PLACES_VINTRP:
        return _PLACES_VINTRP[first] + tied
    if first == 16:
        return "sdst" + tied
    if first == 0:
        return "simm16" if "SOPP" in flags else "src0"
    return "src1" if first == 8 else f"?{operand.index}"


def _literals(study: Study, classes: ClassTable) -> tuple[int, ...]:
    sizes: set[int] = set()
    for operand in study.operands:
        if operand.operand_class is not None:
            codes = classes.classes[operand.operand_class]
            sizes.update(np.unique(codes.value[codes.kind == LITERAL]).tolist())
    return tuple(sorted(sizes))


def _width_variants(variants: Variants) -> dict[str, tuple[list[int], list[int | None]]]:
    """Per role the bits that matter and the widths by them; only what varies."""
    reduced: dict[str, tuple[list[int], list[int | None]]] = {}
    for role, widths in sorted(variants.widths.items()):
        known = widths >= 0
        if len(np.unique(widths[known])) < 2 and known.all():
            continue
        places = [p for p in range(len(variants.bits)) if _matters(widths, p)]
        selector = np.zeros(len(widths), np.int64)
        codes = np.arange(len(widths))
        for new, place in enumerate(places):
            selector |= (codes >> place & 1) << new
        table = np.full(1 << len(places), -1, np.int64)
        np.maximum.at(table, selector, widths)
        reduced[role] = (
            [variants.bits[p] for p in places],
            [None if width < 0 else width for width in table.tolist()],
        )
    return reduced


def _matters(widths: np.ndarray, place: int) -> bool:
    """Whether two combinations that differ in this bit only have different widths."""
    codes = np.arange(len(widths))
    other = widths[codes ^ 1 << place]
    return bool(((widths != other) & (widths >= 0) & (other >= 0)).any())
