# SPDX-License-Identifier: Apache-2.0
"""Inline constants and literals of source operands, by operand type.

LLVM keeps an inline float as its bit pattern in the operand's format and prints it by name where
it is one; everything else that is no small integer is printed in hexadecimal.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from postproc.isa.model import OperandValue
from postproc.isa.printing.context import TargetFacts

__all__ = ["INLINE_FLOATS", "immediate", "literal", "signed"]

_VALUES = (1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 4.0, -4.0)
_INVERSE_TWO_PI = "0.15915494"


def _named(form: str, shift: int = 0) -> dict[int, str]:
    """Bit patterns of the inline floats; `form` is a struct code, `shift` drops low bits."""
    size = "<" + {"e": "H", "f": "I", "d": "Q"}[form]
    return {
        struct.unpack(size, struct.pack("<" + form, value))[0] >> shift: str(value)
        for value in _VALUES
    }


INLINE_FLOATS: dict[str, dict[int, str]] = {
    "f16": _named("e") | {0x3118: _INVERSE_TWO_PI},
    "bf16": _named("f", 16) | {0x3E22: _INVERSE_TWO_PI},
    "f32": _named("f") | {0x3E22F983: _INVERSE_TWO_PI},
    "f64": _named("d") | {0x3FC45F306DC9C882: "0.15915494309189532"},
}
"""Format -> bit pattern -> LLVM's spelling, without zero and the small integers."""


def signed(value: int, bits: int) -> int:
    """`value` (its low `bits`) as a two's complement number."""
    value &= (1 << bits) - 1
    return value - (value >> bits - 1 << bits)


def _inline_integer(value: int) -> bool:
    return -16 <= value <= 64


def _as_32(value: int) -> str:
    number = signed(value, 32)
    if _inline_integer(number):
        return str(number)
    pattern = value & 0xFFFFFFFF
    return INLINE_FLOATS["f32"].get(pattern) or hex(pattern)


def _as_64(value: int) -> str:
    number = signed(value, 64)
    if _inline_integer(number):
        return str(number)
    pattern = value & (1 << 64) - 1
    return INLINE_FLOATS["f64"].get(pattern) or hex(pattern)


def _as_i16(value: int) -> str:
    number = signed(value, 32)
    if _inline_integer(number):
        return str(number)
    return INLINE_FLOATS["f32"].get(value & 0xFFFFFFFF) or hex(value & 0xFFFF)


def _as_f16(value: int) -> str:
    number = signed(value, 16)
    if _inline_integer(number):
        return str(number)
    return INLINE_FLOATS["f16"].get(value & 0xFFFF) or hex(value & 0xFFFF)


def _as_bf16(value: int) -> str:
    number = signed(value, 16)
    if _inline_integer(number):
        return str(number)
    return INLINE_FLOATS["bf16"].get(value & 0xFFFF) or hex(value & 0xFFFFFFFF)


def _packed(form: str) -> Callable[[int], str]:
    names = INLINE_FLOATS[form] if form else {}

    def show(value: int) -> str:
        number = signed(value, 32)
        if _inline_integer(number):
            return str(number)
        pattern = value & 0xFFFFFFFF
        return names.get(pattern) or hex(pattern)

    return show


def _as_splat(value: int) -> str:
    """A packed operand that takes one half for both, in the low half or in both."""
    low, high = value & 0xFFFF, value >> 16 & 0xFFFF
    name = INLINE_FLOATS["f16"].get(low) if high in (0, low) else None
    return name or _packed("")(value)


_BY_TYPE: dict[str, Callable[[int], str]] = {
    "i16": _as_i16,
    "f16": _as_f16,
    "bf16": _as_bf16,
    "i64": _as_64,
    "f64": _as_64,
    "v2i16": _packed("f32"),
    "v2f16": _packed("f16"),
    "v2bf16": _packed("bf16"),
    "v2f16s": _packed(""),
    "nv2f16": _packed(""),
}


def base_type(operand_type: str) -> str:
    """`f16` of `cf16` ("inline only"), `f32` of `acf32` (AccVGPR or inline) ..."""
    for prefix in ("ac", "c"):
        if operand_type.startswith(prefix):
            return operand_type[len(prefix) :]
    return operand_type


def immediate(value: OperandValue, target: TargetFacts) -> str:
    """An inline constant or a plain immediate."""
    kind = value.spec.operand_type
    if kind == "pcrel":
        return str(value.value)
    if kind == "v2f16s":
        return _as_splat(value.value)
    return _BY_TYPE.get(base_type(kind), _as_32)(value.value)


_AS_SCALAR_HALVES: dict[str, Callable[[int], str]] = {
    "cv2f16": lambda value: _as_f16(value) if _is_inline(_as_f16(value)) else hex(value),
    "cv2bf16": _as_bf16,
}
"""Packed operands that take inline constants only: their literals are judged by the low half."""

_BARE_LITERALS = frozenset({"", "nv2f16", "f64"})
"""Operand types whose literals LLVM keeps as numbers even where they look like constants."""


def literal(value: OperandValue, target: TargetFacts) -> str:
    """A literal that follows the instruction.

    One that a constant could replace reads `lit(...)`, so that assembling it gives a literal
    again; one of 8 bytes whose high half is zero reads `lit64(...)`.
    """
    number = value.value
    kind = value.spec.operand_type
    plain = base_type(kind)
    if value.literal_bytes == 8:
        if number < 1 << 32:
            return f"lit64({number:#x})"
        if plain == "f64" and not number & 0xFFFFFFFF:
            text = _as_64(number)
            return hex(number >> 32) if text.startswith("0x") else text
        return _BY_TYPE.get(plain, _as_32)(number)
    if plain == "f64":
        return hex(number) if number else "0"
    text = (_AS_SCALAR_HALVES.get(kind) or _BY_TYPE.get(plain, _as_32))(number)
    return f"lit({number:#x})" if _is_inline(text) and plain not in _BARE_LITERALS else text


def _is_inline(text: str) -> bool:
    return not text.startswith("0x")
