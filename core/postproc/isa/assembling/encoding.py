# SPDX-License-Identifier: Apache-2.0
"""From operand values to bits: the inverse of `postproc.isa.operands`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from postproc.isa.assembling.values import Mismatch, ParsedRegister
from postproc.isa.model import (
    BitRun,
    CodedField,
    ConstantOperand,
    Entry,
    ImmediateCode,
    ImmediateField,
    LiteralCode,
    OperandClass,
    OperandSpec,
    OperandValue,
    RegisterCode,
)
from postproc.isa.operands import ClassLookup
from postproc.isa.printing.context import TargetFacts
from postproc.isa.printing.immediates import immediate

__all__ = [
    "Codes",
    "Encoding",
    "FieldCode",
    "InverseClass",
    "k_literal",
    "register_code",
    "split_immediate",
]

_K_LITERALS = frozenset({"k16", "k32", "k64"})


@dataclass(frozen=True, slots=True)
class FieldCode:
    """A field value; the bits of `free` mean nothing and may hold something else."""

    value: int
    free: int = 0


@final
class InverseClass:
    """Codes of an operand class by meaning; the lowest code where several mean the same."""

    __slots__ = ("constants", "literals", "numbers", "registers")

    def __init__(self, codes: OperandClass, spec: OperandSpec, target: TargetFacts) -> None:
        registers: dict[tuple[str, int, int], list[int]] = {}
        constants: dict[str, list[int]] = {}
        literals: dict[int, list[int]] = {}
        self.numbers: dict[int, FieldCode] = {}
        """Immediate as LLVM's MCInst holds it -> code."""
        for number, code in enumerate(codes):
            if isinstance(code, RegisterCode):
                registers.setdefault((code.file, code.half, code.index), []).append(number)
            elif isinstance(code, ImmediateCode):
                text = immediate(OperandValue(spec, "imm", code.value), target)
                constants.setdefault(text, []).append(number)
                self.numbers.setdefault(code.value, FieldCode(number))
            elif isinstance(code, LiteralCode):
                literals.setdefault(code.extra_bytes, []).append(number)
        self.registers = {key: _joined(found) for key, found in registers.items()}
        """(file, half, index) -> code."""
        self.constants = {key: _joined(found) for key, found in constants.items()}
        """LLVM's spelling of an inline constant -> code."""
        self.literals = {
            key: _joined([code for code in found if code & 0xFF == found[-1] & 0xFF])
            for key, found in literals.items()
        }
        """Bytes of a literal (0: the K literal) -> code; 255 where 254 means the same."""


def _joined(codes: list[int]) -> FieldCode:
    """One code for many: with free bits if the codes are all combinations of them."""
    free = 0
    for code in codes:
        free |= code ^ codes[0]
    if len(codes) == 1 << bin(free).count("1"):
        return FieldCode(codes[0] & ~free, free)
    return FieldCode(codes[0])


@final
class Codes:
    """Inverse operand classes of one target, made when first asked for."""

    __slots__ = ("_classes", "_known", "target")

    def __init__(self, classes: ClassLookup, target: TargetFacts) -> None:
        self._classes = classes
        self._known: dict[tuple[int, str], InverseClass] = {}
        self.target = target

    def of(self, spec: OperandSpec) -> InverseClass:
        """Raises TypeError if the operand is no coded field."""
        source = spec.source
        if not isinstance(source, CodedField):
            raise TypeError(f"{spec.role} is not looked up in a class")
        key = (source.class_id, spec.operand_type)
        found = self._known.get(key)
        if found is None:
            codes = self._classes(source.class_id)
            found = self._known[key] = InverseClass(codes, spec, self.target)
        return found


@final
class Encoding:
    """An instruction under construction: bits written so far, and the literal behind them."""

    __slots__ = ("_entry", "_written", "literal", "literal_bytes", "value")

    def __init__(self, entry: Entry, pattern: tuple[int, int]) -> None:
        mask, value = pattern
        self._entry = entry
        self._written = mask
        self.value = value | entry.base & ~mask
        self.literal = 0
        self.literal_bytes = 0

    def to_bytes(self) -> bytes:
        size = self._entry.base_size
        return self.value.to_bytes(size, "little") + self.literal.to_bytes(
            self.literal_bytes, "little"
        )

    def write_code(self, runs: tuple[BitRun, ...], code: FieldCode, column: int) -> None:
        """Write a field value.  Raises Mismatch if other bits already stand there."""
        joined, free = code.value, code.free
        for run in runs:
            mask = (1 << run.length) - 1
            self._write(mask & ~free, joined & mask, run.low, column)
            joined >>= run.length
            free >>= run.length

    def _write(self, mask: int, bits: int, low: int, column: int) -> None:
        mask <<= low
        placed = bits << low
        if (self.value ^ placed) & mask & self._written:
            raise Mismatch("the encoding has another value there", column)
        self.value = self.value & ~mask | placed
        self._written |= mask

    def write_immediate(self, spec: OperandSpec, number: int, column: int) -> None:
        """Write an immediate.  Raises Mismatch if it does not fit."""
        source = spec.source
        if isinstance(source, ConstantOperand):
            code = source.code
            if not isinstance(code, ImmediateCode) or code.value != number:
                raise Mismatch(f"{spec.role} cannot be {number}", column)
        elif isinstance(source, ImmediateField):
            split = split_immediate(source, number)
            if split is None:
                raise Mismatch(f"{number} does not fit {spec.role}", column)
            for run, bits in split:
                self._write((1 << run.length) - 1, bits, run.low, column)
        elif isinstance(source, CodedField):
            raise Mismatch(f"{spec.role} is no immediate", column)

    def write_masked(self, spec: OperandSpec, mask: int, number: int, column: int) -> None:
        """Write those bits of an immediate that `mask` names, and no others."""
        source = spec.source
        if isinstance(source, ImmediateField):
            for run in source.runs:
                for place in range(run.length):
                    weight = run.weight << place
                    if mask & weight:
                        self._write(1, int(bool(number & weight)), run.low + place, column)
                        number &= ~weight
        elif isinstance(source, ConstantOperand) and isinstance(source.code, ImmediateCode):
            number ^= source.code.value & mask
        if number & mask:
            raise Mismatch("not a modifier of this operand", column)

    def write_literal(self, number: int, size: int, column: int) -> None:
        """Write the literal.  Raises Mismatch if another one stands there: there is only one."""
        if self.literal_bytes and (self.literal, self.literal_bytes) != (number, size):
            raise Mismatch("an instruction has one literal only", column)
        self.literal, self.literal_bytes = number, size


def split_immediate(source: ImmediateField, number: int) -> tuple[tuple[BitRun, int], ...] | None:
    """The bits of each run that make up `number`, or None if none do.

    A number is also taken modulo the width of the field, if that holds every number.
    """
    span = sum(((1 << run.length) - 1) * abs(run.weight) for run in source.runs) + 1
    gapless = span & span - 1 == 0 and source.base == 0
    for candidate in (number, number + span, number - span) if gapless else (number,):
        found = _split(source, candidate)
        if found is not None:
            return found
    return None


def _split(source: ImmediateField, number: int) -> tuple[tuple[BitRun, int], ...] | None:
    rest = number - source.base
    out = []
    for run in sorted(source.runs, key=lambda run: -abs(run.weight)):
        if run.weight < 0:
            bits = int(rest < 0)
        else:
            bits = max(0, min(rest // run.weight, (1 << run.length) - 1))
        rest -= bits * run.weight
        out.append((run, bits))
    return tuple(out) if rest == 0 else None


def k_literal(entry: Entry) -> OperandSpec | None:
    """The operand whose literal others may share."""
    return next((spec for spec in entry.operands if spec.operand_type in _K_LITERALS), None)


def register_code(inverse: InverseClass, register: ParsedRegister) -> FieldCode | None:
    """The code of a register; `v1` stands for `v1.l` where the operand is a half."""
    found = inverse.registers.get((register.file, register.half, register.index))
    if found is None and register.width == 1 and not register.half:
        found = inverse.registers.get((register.file, 1, register.index))
    return found
