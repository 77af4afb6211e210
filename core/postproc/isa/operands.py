# SPDX-License-Identifier: Apache-2.0
"""From the bits of one instruction to its operand values.

A field value is looked up in its operand class, an immediate is a weighted sum of bits, and some
operands are constant (`postproc.isa.model`).  Literals of 4 or 8 bytes follow the base encoding;
an operand whose code says "shares the K literal" takes the value of the entry's K operand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

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
    RawByteField,
    RegisterCode,
)

__all__ = ["ClassLookup", "OperandDecoder", "decode_operands", "field_bits"]

ClassLookup = Callable[[int], OperandClass]
"""Gives the operand class of a number (`Tables.operand_class`)."""

_Reader = Callable[[int], "OperandValue | None"]
"""Reads one operand from the bits of an instruction; None: absent in this encoding."""

_K_LITERALS = frozenset({"k16", "k32", "k64"})


@final
class OperandDecoder:
    """Decodes operands of many instructions of one target; readers are made once an entry."""

    __slots__ = ("_classes", "_readers")

    def __init__(self, classes: ClassLookup) -> None:
        self._classes = classes
        self._readers: dict[int, tuple[_Reader, ...]] = {}

    def __call__(self, entry: Entry, value: int) -> tuple[OperandValue, ...]:
        """Operands of the instruction whose bytes, literal included, are the little-endian `value`.

        Operands that the encoding leaves out are left out.  Raises ValueError if a field holds a
        code that the entry rejects.
        """
        readers = self._readers.get(entry.index)
        if readers is None:
            readers = self._readers[entry.index] = _readers(entry, self._classes)
        return tuple(found for reader in readers if (found := reader(value)) is not None)


def decode_operands(entry: Entry, classes: ClassLookup, value: int) -> tuple[OperandValue, ...]:
    """`OperandDecoder` for a single instruction."""
    return tuple(
        found for reader in _readers(entry, classes) if (found := reader(value)) is not None
    )


def field_bits(runs: tuple[BitRun, ...], value: int) -> int:
    """The bits of `runs` in `value`, joined from the lowest."""
    joined = shift = 0
    for run in runs:
        joined |= (value >> run.low & (1 << run.length) - 1) << shift
        shift += run.length
    return joined


def _readers(entry: Entry, classes: ClassLookup) -> tuple[_Reader, ...]:
    shared = next(
        (spec for spec in entry.operands if spec.operand_type in _K_LITERALS),
        None,
    )
    shared_reader = None if shared is None else _reader(entry, shared, classes, None)
    out = []
    for spec in entry.operands:
        variants = [v for v in entry.width_variants if v.role == spec.role]
        reader = _reader(entry, spec, classes, shared_reader)
        for variant in variants:
            reader = _with_widths(reader, variant.bits, variant.widths)
        out.append(reader)
    return tuple(out)


def _reader(
    entry: Entry, spec: OperandSpec, classes: ClassLookup, shared: _Reader | None
) -> _Reader:
    source = spec.source
    if isinstance(source, ConstantOperand):
        return _constant_reader(spec, source)
    if isinstance(source, ImmediateField):
        return _immediate_reader(spec, source)
    if isinstance(source, RawByteField):
        low = source.low
        return lambda value: OperandValue(spec, "imm", value >> low & 0xFF)
    return _coded_reader(entry, spec, source, classes(source.class_id), shared)


def _constant_reader(spec: OperandSpec, source: ConstantOperand) -> _Reader:
    code = source.code
    if isinstance(code, ImmediateCode):
        fixed = OperandValue(spec, "imm", code.value)
    else:
        fixed = OperandValue(spec, "reg", register=code, width=code.width or 0)
    return lambda value: fixed


def _immediate_reader(spec: OperandSpec, source: ImmediateField) -> _Reader:
    runs = tuple((run.low, (1 << run.length) - 1, run.weight) for run in source.runs)
    base = source.base
    if len(runs) == 1 and base == 0:
        low, mask, weight = runs[0]
        return lambda value: OperandValue(spec, "imm", (value >> low & mask) * weight)

    def read(value: int) -> OperandValue:
        total = base
        for low, mask, weight in runs:
            total += (value >> low & mask) * weight
        return OperandValue(spec, "imm", total)

    return read


def _coded_reader(
    entry: Entry,
    spec: OperandSpec,
    source: CodedField,
    codes: OperandClass,
    shared: _Reader | None,
) -> _Reader:
    runs = source.runs
    known: dict[int, OperandValue] = {}
    literal_at = entry.base_size * 8

    def read(value: int) -> OperandValue:
        code = field_bits(runs, value)
        found = known.get(code)
        if found is not None:
            return found
        meaning = codes[code]
        if isinstance(meaning, RegisterCode):
            width = source.width if meaning.width is None else meaning.width
            found = OperandValue(spec, "reg", register=meaning, width=width)
        elif isinstance(meaning, ImmediateCode):
            found = OperandValue(spec, "imm", meaning.value)
        elif isinstance(meaning, LiteralCode):
            return _literal(spec, meaning, value, literal_at, shared)
        else:
            raise ValueError(f"{entry.mnemonic}: {spec.role} rejects the code {code:#x}")
        known[code] = found
        return found

    return read


def _literal(
    spec: OperandSpec, code: LiteralCode, value: int, literal_at: int, shared: _Reader | None
) -> OperandValue:
    size = code.extra_bytes
    if size:
        raw = value >> literal_at & (1 << 8 * size) - 1
        return OperandValue(spec, "literal", raw, literal_bytes=size)
    k_literal = None if shared is None else shared(value)
    if k_literal is None:
        raise ValueError(f"{spec.role} shares a literal that the entry does not have")
    # LLVM reads the low half of a 64-bit K literal here
    return OperandValue(spec, "literal", k_literal.value & 0xFFFFFFFF, literal_bytes=4)


def _with_widths(reader: _Reader, bits: tuple[int, ...], widths: tuple[int | None, ...]) -> _Reader:
    """`reader` for an operand whose width some other bits select."""

    def read(value: int) -> OperandValue | None:
        selected = 0
        for position, bit in enumerate(bits):
            selected |= (value >> bit & 1) << position
        width = widths[selected]
        if width == 0:
            return None
        found = reader(value)
        if found is None or width is None or found.kind != "reg" or found.width == width:
            return found
        return OperandValue(found.spec, "reg", register=found.register, width=width)

    return read
