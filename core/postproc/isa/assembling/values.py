# SPDX-License-Identifier: Apache-2.0
"""Items of the syntax tree as registers and numbers of one target."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from postproc.isa.assembling.syntax import Item, ListItem, Name, Number, Range, Sum
from postproc.isa.printing.context import TargetFacts
from postproc.isa.printing.registers import special_registers

__all__ = [
    "Mismatch",
    "ParsedRegister",
    "Scope",
    "float_bits",
    "register_of",
    "round_trips",
]


class Mismatch(Exception):
    """The text does not fit the candidate; `column` is where."""

    def __init__(self, reason: str, column: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.column = column


@dataclass(frozen=True, slots=True)
class ParsedRegister:
    """File, first index (hardware code of a scalar), dwords (0: any) and half (1 low, 2 high)."""

    file: str
    index: int
    width: int
    half: int = 0


_PLAIN = re.compile(r"(v|s|a|ttmp)(\d+)(\.[lh])?\Z")
_HALVES = {None: 0, ".l": 1, ".h": 2}
_ANY_WIDTH = ("null", "src_")
_ALIASES = {
    "scc": "src_scc",
    "vccz": "src_vccz",
    "execz": "src_execz",
    "lds_direct": "src_lds_direct",
    "shared_base": "src_shared_base",
    "shared_limit": "src_shared_limit",
    "private_base": "src_private_base",
    "private_limit": "src_private_limit",
    "pops_exiting_wave_id": "src_pops_exiting_wave_id",
}


@lru_cache(maxsize=64)
def _named(target: TargetFacts) -> dict[str, ParsedRegister]:
    found: dict[str, ParsedRegister] = {}
    for (code, width), name in special_registers(target).items():
        any_width = name.startswith(_ANY_WIDTH)
        found.setdefault(name, ParsedRegister("s", code, 0 if any_width else width))
    return found | {alias: found[name] for alias, name in _ALIASES.items() if name in found}


def register_of(item: Item, target: TargetFacts) -> ParsedRegister | None:
    """The register that an item names, or None if it names none."""
    if isinstance(item, Name):
        plain = _PLAIN.match(item.text)
        if plain is not None:
            return _numbered(plain[1], int(plain[2]), 1, _HALVES[plain[3]])
        return _named(target).get(item.text)
    if isinstance(item, Range):
        if not isinstance(item.first, Number) or not isinstance(item.last, Number):
            return None
        first, last = int(item.first.value), int(item.last.value)
        if last < first:
            raise Mismatch("the last register lies before the first", item.column)
        return _numbered(item.file, first, last - first + 1, 0)
    if isinstance(item, ListItem):
        return _listed(item, target)
    return None


def _listed(item: ListItem, target: TargetFacts) -> ParsedRegister | None:
    """`[s0, s1, s2, s3]` names the tuple if the registers follow each other."""
    parts = [register_of(part, target) for part in item.items]
    first = parts[0] if parts else None
    if first is None:
        return None
    for place, part in enumerate(parts):
        if part != ParsedRegister(first.file, first.index + place, 1):
            return None
    return ParsedRegister(first.file, first.index, len(parts))


def _numbered(file: str, index: int, width: int, half: int) -> ParsedRegister:
    if file == "ttmp":
        return ParsedRegister("s", index + 108, width, half)
    return ParsedRegister(file, index, width, half)


@dataclass(frozen=True, slots=True)
class Scope:
    """What names mean where an instruction stands; offsets are bytes in the section.

    `labels` is None while sizes are still being found: every label then counts as 0.
    """

    labels: Mapping[str, int] | None
    offset: int

    def evaluate(self, item: Item) -> int:
        """The value of an integer expression.  Raises Mismatch."""
        if isinstance(item, Number) and isinstance(item.value, int):
            return item.value
        if isinstance(item, Name):
            return self._label(item)
        if isinstance(item, Sum):
            total = self.evaluate(item.terms[0])
            for operator, term in zip(item.operators, item.terms[1:], strict=True):
                total = _apply(operator, total, self.evaluate(term))
            return total
        raise Mismatch("expected an integer", item.column)

    def _label(self, item: Name) -> int:
        if self.labels is None:
            return 0
        if item.text == ".":
            return self.offset
        if item.text not in self.labels:
            raise Mismatch(f"unknown name {item.text!r}", item.column)
        return self.labels[item.text]


def _apply(operator: str, left: int, right: int) -> int:
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    if operator == "|":
        return left | right
    return left & right if operator == "&" else left * right


def is_relocatable(item: Item) -> bool:
    """Whether the value depends on labels."""
    if isinstance(item, Sum):
        return any(is_relocatable(term) for term in item.terms)
    return isinstance(item, Name)


_FORMATS = {"f16": ("<e", 2), "f32": ("<f", 4), "f64": ("<d", 8)}


def float_bits(value: float, form: str) -> int:
    """The bit pattern of `value` in f16, bf16, f32 or f64.  Raises OverflowError."""
    if form == "bf16":
        return float_bits(value, "f32") >> 16
    code, size = _FORMATS[form]
    return int.from_bytes(struct.pack(code, value)[:size], "little")


def round_trips(value: float, form: str) -> bool:
    """Whether the format holds `value` without loss."""
    if form == "bf16":
        return float_bits(value, "f32") & 0xFFFF == 0 and round_trips(value, "f32")
    code, _ = _FORMATS[form]
    try:
        return bool(struct.unpack(code, struct.pack(code, value))[0] == value)
    except OverflowError:
        return False
