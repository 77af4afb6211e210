# SPDX-License-Identifier: Apache-2.0
"""Operands that commas separate: the inverse of the printers in `sources` and `memory`."""

from __future__ import annotations

from postproc.isa.assembling.matching import Matcher
from postproc.isa.assembling.syntax import Call, Item, ListItem, Modified, Name, Number
from postproc.isa.assembling.values import Mismatch, float_bits
from postproc.isa.printing import sources


def plain(matcher: Matcher, role: str) -> None:
    matcher.source(role, matcher.take())


def with_float_modifiers(matcher: Matcher, role: str) -> None:
    item = matcher.take()
    bits = 0
    if isinstance(item, Modified) and not item.extended:
        bits = sources.NEG * item.negated | sources.ABS * item.absolute
        item = item.inner
    matcher.source(role, item)
    matcher.add(f"{role}_modifiers", sources.NEG | sources.ABS, bits, item.column)


def with_float_modifiers_and_carry(matcher: Matcher, role: str) -> None:
    with_float_modifiers(matcher, role)
    fixed(matcher, "vcc_lo" if matcher.target.wavefront_size == 32 else "vcc")


def with_integer_modifiers(matcher: Matcher, role: str) -> None:
    item = matcher.take()
    bits = 0
    if isinstance(item, Modified) and not item.negated and not item.absolute:
        bits = sources.SEXT
        item = item.inner
    matcher.source(role, item)
    matcher.add(f"{role}_modifiers", sources.SEXT, bits, item.column)


def fixed(matcher: Matcher, text: str) -> None:
    item = matcher.take()
    if not isinstance(item, Name) or item.text != text:
        raise Mismatch(f"expected {text}", item.column)


def number(matcher: Matcher, role: str) -> None:
    """An integer, or a branch target where the operand is one."""
    item = matcher.take()
    spec = matcher.spec(role)
    is_target = spec is not None and (spec.is_branch_target or spec.operand_type == "pcrel")
    if is_target and not isinstance(item, Number):
        distance = matcher.integer(item) - matcher.scope.offset - matcher.entry.base_size
        if matcher.scope.labels is None:
            distance = 0
        if distance % 4 or not -(1 << 17) <= distance < 1 << 17:
            raise Mismatch("the target is out of reach", item.column)
        matcher.write(role, distance // 4 & 0xFFFF, item.column)
        return
    matcher.write(role, _any_bits(matcher, item), item.column)


def _any_bits(matcher: Matcher, item: Item) -> int:
    """An integer; a float stands for its f32 pattern."""
    if isinstance(item, Number) and isinstance(item.value, float):
        return float_bits(item.value, "f32")
    if isinstance(item, Call) and item.name in ("lit", "lit64") and len(item.arguments) == 1:
        return matcher.integer(item.arguments[0])
    return matcher.integer(item)


def literal64(matcher: Matcher, role: str) -> None:
    """A number below 2**32 without `lit64` is the high half."""
    item = matcher.take()
    if isinstance(item, Number) and isinstance(item.value, float):
        matcher.write(role, float_bits(item.value, "f64"), item.column)
        return
    value = _any_bits(matcher, item)
    whole = isinstance(item, Call) or not 0 <= value < 1 << 32
    matcher.write(role, value & (1 << 64) - 1 if whole else value << 32, item.column)


def address_list(matcher: Matcher, role: str) -> None:
    item = matcher.take()
    if not isinstance(item, ListItem):
        raise Mismatch("expected a list of registers", item.column)
    matcher.addresses = len(item.items)
    for place, part in enumerate(item.items):
        matcher.source(f"vaddr{place}", part)


def address(matcher: Matcher, role: str) -> None:
    item = matcher.take()
    parts = item.items if isinstance(item, ListItem) else (item,)
    matcher.addresses = len(parts)
    for place, part in enumerate(parts):
        matcher.source(f"vaddr{place}", part)
