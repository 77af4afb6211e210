# SPDX-License-Identifier: Apache-2.0
"""Finds by flipping bits which bits of an encoding drive which operand.

Every free bit of some accepted encodings (the *bases*) is inverted, one at a time.  A bit belongs
to the operands that change with it, is *ignored* if nothing ever changes, is a *must* if LLVM never
takes the encoding any more, and *structural* if the opcode (within the leaf's family) or the number
of operands changes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from .classes import ClassTable, sweep
from .llvm import Decodes
from .seeds import SEED, more_seeds
from .study import OperandStudy, Study
from .target import Target
from .windows import bit_values, flipped

BASES = 24
WIDE_IMMEDIATE = 10
"""Immediates with more bits are taken as weighted sums, without trying all values."""
LONGEST_SWEEP = 12
"""Bits of the widest field all of whose values are tried."""
MAJORITY = 0.7
"""LLVM 22 misreads some immediates as inline constants: a share of the bases that must agree."""

MATRIX_FORMATS = ("cbsz", "blgp", "matrix_a_fmt", "matrix_b_fmt")
LAST_MATRIX_FORMAT = 4
"""Of 8-, 6- and 4-bit matrices; LLVM accepts the reserved values, and makes nonsense of them."""


@dataclass
class Flips:
    """LLVM's answers to the flips: [base, 1 + free bit] or [base, 1 + free bit, operand].

    `valid`: accepted for the leaf; `same`: also with the base's opcode and number of operands.
    `value` holds packed registers.
    """

    free: list[int]
    windows: np.ndarray
    valid: np.ndarray
    same: np.ndarray
    opcode: np.ndarray
    size: np.ndarray
    operand_count: np.ndarray
    kind: np.ndarray
    value: np.ndarray


def explore(target: Target, study: Study, classes: ClassTable) -> None:
    """Fills everything in the study except its variants."""
    if target.instruction(study.leaf.opcode).name.startswith("IMAGE_"):
        sizes = target.llvm.decode(study.seeds, operands=False).size
        study.explored_size = max(study.leaf.size, int(sizes.max()))
    more_seeds(target, study)
    choose_bases(target, study)
    flips = flip(target, study)
    classify_bits(study, flips)
    study.structural_immediates = structural_immediates(target, study, flips)
    describe_operands(study, flips)
    for operand in study.operands:
        if not operand.bits:
            _constant(operand, flips)
        elif operand.is_immediate and len(operand.bits) > WIDE_IMMEDIATE:
            _linear(study, operand, flips)
        elif len(operand.bits) > LONGEST_SWEEP:
            operand.problem = f"{len(operand.bits)} bits are too many to sweep"
        else:
            sweep(target, study, operand, classes)


def packed_values(target: Target, decodes: Decodes) -> np.ndarray:
    """Values with registers packed."""
    value = decodes.value.copy()
    registers = decodes.kind == 1
    value[registers] = target.packed_registers[value[registers]]
    return value


# ---------------------------------------------------------------- bases
def choose_bases(target: Target, study: Study) -> None:
    decodes = target.llvm.decode(study.seeds)
    name = target.instruction(study.leaf.opcode).name
    if "F8F6F4" in name:
        sane = _sane_matrix_operands(target, study, decodes)
        if sane.sum() >= 3:
            study.seeds = study.seeds[sane]
            decodes = target.llvm.decode(study.seeds)
    study.base_size = int(decodes.size.min())
    opcode = _reference_opcode(decodes, study.base_size, name.startswith("IMAGE_"))
    rng = np.random.default_rng([SEED, study.leaf.order, 2])
    order = np.lexsort((rng.random(len(study.seeds)), decodes.size, decodes.opcode != opcode))
    chosen = [
        i
        for i in order.tolist()
        if decodes.opcode[i] == opcode and decodes.size[i] == decodes.size[order[0]]
    ]
    study.bases = study.seeds[chosen[:BASES]]
    study.instruction = target.instruction(opcode)


def _sane_matrix_operands(target: Target, study: Study, decodes: Decodes) -> np.ndarray:
    place = target.role_indices(study.leaf.opcode)
    sane = np.ones(len(study.seeds), bool)
    for role in MATRIX_FORMATS:
        if role in place:
            sane &= decodes.value[:, place[role]] <= LAST_MATRIX_FORMAT
    files = packed_values(target, decodes) >> 24
    for role in ("src0", "src1"):
        sane &= (decodes.kind[:, place[role]] == 1) & (files[:, place[role]] >= 2)
    return sane


def _reference_opcode(decodes: Decodes, base_size: int, image: bool) -> int:
    """The most common opcode; of an image instruction one with the most operands, since that
    describes the others, too."""
    if not image:
        common = Counter(decodes.opcode[decodes.size == base_size].tolist())
        return int(common.most_common(1)[0][0])
    count = Counter(decodes.opcode.tolist())
    operands = dict(zip(decodes.opcode.tolist(), decodes.operand_count.tolist(), strict=True))
    most = max((operands[o] for o in count if count[o] >= 2), default=0)
    return int(max(count, key=lambda o: (operands[o] == most, count[o], -o)))


# ---------------------------------------------------------------- flips
def flip(target: Target, study: Study) -> Flips:
    free = study.free_bits
    windows = flipped(study.bases, free)
    decodes = target.llvm.decode(windows.reshape(-1, windows.shape[-1]))
    shape = windows.shape[:2]
    opcode = decodes.opcode.reshape(shape)
    operand_count = decodes.operand_count.reshape(shape)
    valid = study.accepts(decodes).reshape(shape)
    same = valid & (opcode == opcode[:, :1]) & (operand_count == operand_count[:, :1])
    return Flips(
        free,
        windows,
        valid,
        same,
        opcode,
        decodes.size.reshape(shape),
        operand_count,
        decodes.kind.reshape(*shape, -1),
        packed_values(target, decodes).reshape(*shape, -1),
    )


def classify_bits(study: Study, flips: Flips) -> None:
    """Sets `structural` and `must`; `ignored` is what no operand claims later."""
    study.structural = [
        bit
        for column, bit in enumerate(flips.free, 1)
        if (flips.valid[:, column] & ~flips.same[:, column]).any()
    ]
    for column, bit in enumerate(flips.free, 1):
        if not flips.valid[:, column].any():
            values = bit_values(study.bases, bit)
            study.must[bit] = int(values[0])
    study.ignored = [b for b in flips.free if b not in study.must and b not in study.structural]


def structural_immediates(target: Target, study: Study, flips: Flips) -> dict[str, dict[int, int]]:
    """Structural bits that an immediate of the same role shows before and after the flip."""
    found: dict[str, dict[int, int]] = {}
    bases = len(study.bases)
    for bit in study.structural:
        column = flips.free.index(bit) + 1
        votes: Counter[tuple[str, int]] = Counter()
        for row in np.nonzero(flips.valid[:, column])[0].tolist():
            before = target.role_indices(int(flips.opcode[row, 0]))
            after = target.role_indices(int(flips.opcode[row, column]))
            was_set = bool(bit_values(study.bases[row], bit))
            for role in before.keys() & after.keys():
                places = (row, 0, before[role]), (row, column, after[role])
                if all(flips.kind[place] == 2 for place in places):
                    delta = int(flips.value[places[1]] - flips.value[places[0]])
                    if delta:
                        votes[role, -delta if was_set else delta] += 1
        for (role, weight), count in sorted(votes.items()):
            if count >= 2 or bases < 4:
                found.setdefault(role, {})[bit] = weight
    return found


# ---------------------------------------------------------------- operands
def describe_operands(study: Study, flips: Flips) -> None:
    """Sets `operands`, with bits and weights but not yet their meaning, and shrinks `ignored`."""
    # on some targets LLVM's decoder appends operands that the instruction does not have
    count = min(int(flips.operand_count[:, 0].max()), len(study.described.operands))
    same = flips.same[:, 1:]
    before_kind, before_value = flips.kind[:, :1, :count], flips.value[:, :1, :count]
    kind, value = flips.kind[:, 1:, :count], flips.value[:, 1:, :count]
    changed = ((value != before_value) | (kind != before_kind)) & same[:, :, None]
    # a change can be measured if kind and (of registers) file, half and width stay
    measurable = (
        changed & (kind == before_kind) & (flips.size[:, 1:] == flips.size[:, :1])[:, :, None]
    )
    registers = kind == 1
    measurable &= ~registers | (value >> 12 == before_value >> 12)
    delta = np.abs(value - before_value)
    needed = np.array([_threshold(int(n)) for n in same.sum(0)])
    drives = changed.sum(0) >= needed[:, None]
    claimed: set[int] = set()
    for index in range(count):
        weights: dict[int, int | None] = {}
        for column in np.nonzero(drives[:, index])[0].tolist():
            seen = Counter(delta[measurable[:, column, index], column, index].tolist())
            weights[flips.free[column]] = seen.most_common(1)[0][0] if seen else None
        columns = [flips.free.index(bit) for bit in weights]
        is_register = (before_kind[:, 0, index] == 1).any() or (
            registers[:, columns, index] & same[:, columns]
        ).any()
        known = {bit: weight for bit, weight in weights.items() if weight is not None}
        bits = sorted(known, key=lambda b: (known[b], b)) + sorted(weights.keys() - known.keys())
        if is_register and max(bits, default=0) - min(bits, default=0) == len(bits) - 1:
            bits.sort()  # one run; where constants hide the weights, their order is by chance
        study.operands.append(OperandStudy(index, not is_register, bits, weights))
        claimed.update(bits)
    study.ignored = [b for b in study.ignored if b not in claimed]
    for operand in study.operands:
        _take_ignored_low_bits(study, operand)


def _threshold(valid: int) -> int:
    """In how many of the valid flips an operand must change to be driven by the bit; not all,
    since the bit may matter only with some values of others, and not one, since LLVM misreads."""
    return max(1, min(3, (valid + 5) // 8)) if valid < 8 else max(2, valid // 8)


def _take_ignored_low_bits(study: Study, operand: OperandStudy) -> None:
    """Of a multi-dword scalar field LLVM ignores the low bits on GFX9: take the whole field."""
    bits = operand.bits
    lowest = operand.weights[bits[0]] if bits else None
    if operand.is_immediate or lowest is None:
        return
    while lowest > 1 and lowest % 2 == 0 and bits[0] % 32 and bits[0] - 1 in study.ignored:
        bits.insert(0, bits[0] - 1)
        lowest //= 2
        operand.weights[bits[0]] = lowest
        study.ignored.remove(bits[0])


# ---------------------------------------------------------------- meaning without a sweep
def _constant(operand: OperandStudy, flips: Flips) -> None:
    index = operand.index
    seen = Counter(
        zip(flips.kind[:, 0, index].tolist(), flips.value[:, 0, index].tolist(), strict=True)
    )
    if len(seen) == 1:
        operand.constant = next(iter(seen))
    else:
        operand.problem = f"{len(seen)} values, though no bit changes it"


def _linear(study: Study, operand: OperandStudy, flips: Flips) -> None:
    """The immediate as a weighted sum of its bits, by majority."""
    index = operand.index
    weights: dict[int, int] = {}
    for bit in operand.bits:
        column = flips.free.index(bit) + 1
        rows = flips.same[:, column] & (flips.kind[:, column, index] == flips.kind[:, 0, index])
        delta = (flips.value[:, column, index] - flips.value[:, 0, index])[rows]
        delta = np.where(bit_values(study.bases[rows], bit) == 1, -delta, delta)
        seen = Counter(delta[delta != 0].tolist())
        if not seen:
            operand.problem = f"bit {bit} has no weight"
            return
        weight, count = seen.most_common(1)[0]
        if count < MAJORITY * seen.total():
            operand.problem = f"bit {bit} has weights {seen.most_common(3)}"
            return
        operand.misread |= len(seen) > 1
        weights[bit] = weight
    rest = flips.value[:, 0, index].copy()
    for bit, weight in weights.items():
        rest -= bit_values(study.bases, bit).astype(np.int64) * weight
    base, count = Counter(rest.tolist()).most_common(1)[0]
    if count < MAJORITY * len(rest):
        operand.problem = f"no base: {Counter(rest.tolist()).most_common(3)}"
        return
    operand.linear, operand.base = weights, base
