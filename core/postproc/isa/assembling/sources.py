# SPDX-License-Identifier: Apache-2.0
"""Registers, inline constants and literals of source operands, chosen as LLVM's assembler does.

A number becomes an inline constant where the operand has one of that value, else a literal.
"""

from __future__ import annotations

from postproc.isa.assembling.encoding import (
    Codes,
    Encoding,
    FieldCode,
    InverseClass,
    k_literal,
    register_code,
)
from postproc.isa.assembling.syntax import Call, Item, Modified, Name, Number
from postproc.isa.assembling.values import (
    Mismatch,
    Scope,
    float_bits,
    is_relocatable,
    register_of,
    round_trips,
)
from postproc.isa.model import CodedField, Entry, OperandSpec
from postproc.isa.printing.immediates import INLINE_FLOATS, base_type

__all__ = ["write_source"]

_HALF_TYPES = frozenset({"f16", "bf16", "i16"})
_WIDE_TYPES = frozenset({"i64", "f64"})
_FOLDING = {
    "f16": 1 << 15,
    "bf16": 1 << 15,
    "v2f16": 1 << 15,
    "v2bf16": 1 << 15,
    "f32": 1 << 31,
    "f64": 1 << 63,
}
"""Sign bit of the operand types that take a folded sign."""

_FLOAT_FORMAT = {
    "f16": "f16",
    "bf16": "bf16",
    "f64": "f64",
    "v2f16": "f16",
    "v2bf16": "bf16",
    "v2f16s": "f16",
    "nv2f16": "f16",
}


def write_source(
    encoding: Encoding,
    entry: Entry,
    spec: OperandSpec,
    codes: Codes,
    item: Item,
    scope: Scope,
) -> None:
    """Encode a register, constant or literal operand.  Raises Mismatch."""
    source = spec.source
    assert isinstance(source, CodedField)
    inverse = codes.of(spec)
    if isinstance(item, Modified):
        item = fold_modifiers(entry, spec, inverse, item)
    register = register_of(item, codes.target)
    if register is not None:
        _check_literal_only(entry, spec, item)
        code = register_code(inverse, register)
        if code is None:
            raise Mismatch(f"{spec.role} cannot be that register", item.column)
    else:
        code = _constant_code(encoding, entry, spec, inverse, item, scope)
    encoding.write_code(source.runs, code, item.column)


def _constant_code(
    encoding: Encoding,
    entry: Entry,
    spec: OperandSpec,
    inverse: InverseClass,
    item: Item,
    scope: Scope,
) -> FieldCode:
    forced = item.name if isinstance(item, Call) else None
    if isinstance(item, Call):
        if forced not in ("lit", "lit64") or len(item.arguments) != 1:
            raise Mismatch(f"{item.name} is no operand", item.column)
        item = item.arguments[0]
    relocatable = is_relocatable(item)
    if relocatable and isinstance(item, Name) and scope.labels is not None:
        scope.evaluate(item)
    number: int | float = item.value if isinstance(item, Number) else scope.evaluate(item)
    if forced is None and not relocatable:
        code = _inline_code(spec, inverse, number)
        if code is not None:
            _check_literal_only(entry, spec, item)
            return code
    can_be_wide = 8 in inverse.literals and not {"VOP3", "VOP3P"} & entry.ts_flags
    size, bits = _literal(spec, number, forced, item.column, can_be_wide)
    return _literal_code(encoding, entry, spec, inverse, size, bits, item.column)


def _check_literal_only(entry: Entry, spec: OperandSpec, item: Item) -> None:
    """On gfx1250 LLVM 22 takes the long form of this instruction unless its source is a literal."""
    if (
        spec.role == "src0X"
        and entry.format == "VOPD"
        and entry.llvm_name.startswith("V_DUAL_DOT2C_F32_BF16_e32_X_")
        and entry.llvm_name.endswith("_gfx1250")
    ):
        raise Mismatch("the short form takes a literal here", item.column)


def fold_modifiers(entry: Entry, spec: OperandSpec, inverse: InverseClass, item: Modified) -> Item:
    """`neg(x)` and `|x|` of a number where a float operand has no modifiers: LLVM folds the sign.

    VOPD has a longer form with modifiers, so there only literals are folded.
    """
    inner = item.inner
    kind = base_type(spec.operand_type)
    if not isinstance(inner, Number) or item.extended or kind not in _FOLDING:
        raise Mismatch("the operand takes no modifiers", item.column)
    if entry.format == "VOPD" and _inline_code(spec, inverse, inner.value) is not None:
        raise Mismatch("the operand takes no modifiers", item.column)
    if isinstance(inner.value, float):
        value = abs(inner.value) if item.absolute else inner.value
        return Number(-value if item.negated else value, item.column)
    sign = _FOLDING[kind]
    pattern = inner.value & (2 * sign - 1 | 0xFFFFFFFF)
    pattern = pattern & ~sign if item.absolute else pattern
    return Number(pattern ^ sign if item.negated else pattern, item.column)


def _inline_code(spec: OperandSpec, inverse: InverseClass, number: int | float) -> FieldCode | None:
    if isinstance(number, float):
        return _inline_float(inverse, number)
    if -16 <= number <= 64:
        return inverse.constants.get(str(number))
    kind = base_type(spec.operand_type)
    bits = 16 if kind in _HALF_TYPES else 64 if kind in _WIDE_TYPES else 32
    if not -(1 << bits - 1) <= number < 1 << bits:
        return None
    pattern = number & (1 << bits) - 1
    signed = pattern - (pattern >> bits - 1 << bits)
    if -16 <= signed <= 64:
        return inverse.constants.get(str(signed))
    if kind == "i16":
        return None
    names = INLINE_FLOATS[_FLOAT_FORMAT.get(kind, "f64" if bits == 64 else "f32")]
    name = names.get(pattern)
    return None if name is None else inverse.constants.get(name)


def _inline_float(inverse: InverseClass, number: float) -> FieldCode | None:
    if number == 0:
        return inverse.constants.get("0") if str(number) == "0.0" else None
    for spelling in (str(number), "0.15915494", "0.15915494309189532"):
        if spelling in inverse.constants and abs(float(spelling) - number) < 1e-9:
            return inverse.constants[spelling]
    return None


def _literal(
    spec: OperandSpec, number: int | float, forced: str | None, column: int, can_be_wide: bool
) -> tuple[int, int]:
    """(bytes, bits) of the literal."""
    kind = base_type(spec.operand_type)
    if isinstance(number, float):
        return _float_literal(kind, number, forced, column, can_be_wide)
    if kind in _WIDE_TYPES:
        if forced == "lit64":
            return 8, number & (1 << 64) - 1
        return _wide_literal(kind, number, forced, column, can_be_wide)
    bits = 16 if kind in _HALF_TYPES and forced is None else 32
    if not -(1 << bits - 1) <= number < 1 << bits:
        raise Mismatch(f"{number:#x} does not fit {spec.role}", column)
    return 4, number & (1 << bits) - 1


def _wide_literal(
    kind: str, number: int, forced: str | None, column: int, can_be_wide: bool
) -> tuple[int, int]:
    """Four bytes are sign- or zero-extended by the hardware: only what both agree on is safe."""
    unsigned, signed = 0 <= number < 1 << 32, -(1 << 31) <= number < 1 << 31
    small = unsigned and (signed or kind == "f64" or not can_be_wide)
    if forced == "lit" or small or (signed and not can_be_wide):
        if not (unsigned or signed):
            raise Mismatch(f"{number:#x} does not fit 32 bits", column)
        return 4, number & 0xFFFFFFFF
    if not can_be_wide or not -(1 << 63) <= number < 1 << 64:
        raise Mismatch(f"{number:#x} does not fit the literal", column)
    return 8, number & (1 << 64) - 1


def _float_literal(
    kind: str, number: float, forced: str | None, column: int, can_be_wide: bool
) -> tuple[int, int]:
    if kind == "f64":
        bits = float_bits(number, "f64")
        if forced == "lit64" or (bits & 0xFFFFFFFF and can_be_wide):
            return 8, bits
        return 4, bits >> 32
    if kind == "i64":
        raise Mismatch("an integer operand takes no float", column)
    form = _FLOAT_FORMAT.get(kind, "f16" if kind == "i16" else "f32")
    if abs(number) and not round_trips(number, "f64"):
        raise Mismatch("not a float", column)
    return 4, float_bits(number, form)


def _literal_code(
    encoding: Encoding,
    entry: Entry,
    spec: OperandSpec,
    inverse: InverseClass,
    size: int,
    bits: int,
    column: int,
) -> FieldCode:
    code = inverse.literals.get(size)
    if code is not None:
        encoding.write_literal(bits, size, column)
        return code
    shared = k_literal(entry)
    if 0 in inverse.literals and shared is not None:
        encoding.write_immediate(shared, bits, column)
        return inverse.literals[0]
    raise Mismatch(f"{spec.role} takes no literal of {size} bytes", column)
