# SPDX-License-Identifier: Apache-2.0
"""Immediates of scalar instructions: the inverse of `postproc.isa.printing.scalars`."""

from __future__ import annotations

from collections.abc import Mapping

from postproc.isa.assembling.matching import Matcher
from postproc.isa.assembling.symbols import inverted, symbol
from postproc.isa.assembling.syntax import Call, Item, Name, Sum
from postproc.isa.assembling.values import Mismatch
from postproc.isa.printing import scalars
from postproc.isa.printing.names import hardware_registers, messages


def wait_counters(matcher: Matcher, role: str) -> None:
    items = matcher.take_rest()
    fields = scalars.counter_fields(matcher.target)
    code = 0
    for runs in fields.values():
        for low, length in runs:
            code |= (1 << length) - 1 << low
    for item in items:
        if not isinstance(item, Call):
            matcher.write(role, matcher.integer(item), item.column)
            return
        name = item.name.removesuffix("_sat")
        if name not in fields or len(item.arguments) != 1:
            raise Mismatch(f"unknown counter {item.name!r}", item.column)
        value = matcher.integer(item.arguments[0])
        span = sum(length for _, length in fields[name])
        if value >> span and item.name == name:
            raise Mismatch(f"{name} is too large", item.column)
        value = min(value, (1 << span) - 1)
        for low, length in fields[name]:
            mask = (1 << length) - 1
            code = code & ~(mask << low) | (value & mask) << low
            value >>= length
    matcher.write(role, code, items[0].column)


def dependency_counters(matcher: Matcher, role: str) -> None:
    items = matcher.take_rest()
    fields = {
        name: (low, length) for name, low, length in scalars.dependency_fields(matcher.target)
    }
    code = 0
    for low, length in fields.values():
        code |= (1 << length) - 1 << low
    for item in items:
        if not isinstance(item, Call):
            matcher.write(role, matcher.integer(item), item.column)
            return
        if item.name not in fields or len(item.arguments) != 1:
            raise Mismatch(f"unknown counter {item.name!r}", item.column)
        low, length = fields[item.name]
        mask = (1 << length) - 1
        value = matcher.integer(item.arguments[0])
        if value & ~mask:
            raise Mismatch(f"{item.name} is too large", item.column)
        code = code & ~(mask << low) | value << low
    matcher.write(role, code, items[0].column)


def delay_alu(matcher: Matcher, role: str) -> None:
    items = matcher.take_rest()
    instructions = inverted(scalars.DELAY_INSTRUCTIONS)
    skips = inverted(scalars.DELAY_SKIPS)
    parts = {"instid0": (0, instructions), "instskip": (4, skips), "instid1": (7, instructions)}
    code = 0
    for item in items:
        if not isinstance(item, Call):
            matcher.write(role, matcher.integer(item), item.column)
            return
        if item.name not in parts or len(item.arguments) != 1:
            raise Mismatch(f"unknown delay {item.name!r}", item.column)
        low, names = parts[item.name]
        code |= symbol(item.arguments[0], names, matcher) << low
    matcher.write(role, code, items[0].column)


def hardware_register(matcher: Matcher, role: str) -> None:
    item = matcher.take()
    if not isinstance(item, Call) or item.name != "hwreg" or not item.arguments:
        matcher.write(role, matcher.integer(item), item.column)
        return
    names = inverted(hardware_registers(matcher.target))
    code = symbol(item.arguments[0], names, matcher)
    offset, size = 0, 32
    if len(item.arguments) == 3:
        offset, size = (matcher.integer(argument) for argument in item.arguments[1:])
    if not (0 <= code < 64 and 0 <= offset < 32 and 1 <= size <= 32):
        raise Mismatch("the bit field is out of range", item.column)
    matcher.write(role, code | offset << 6 | size - 1 << 11, item.column)


def send_message(matcher: Matcher, role: str) -> None:
    item = matcher.take()
    if not isinstance(item, Call) or item.name != "sendmsg" or not item.arguments:
        matcher.write(role, matcher.integer(item), item.column)
        return
    words = [argument.text if isinstance(argument, Name) else "" for argument in item.arguments]
    known = messages(matcher.target)
    if words[0]:
        spelled = ", ".join(
            word or str(matcher.integer(argument))
            for word, argument in zip(words, item.arguments, strict=True)
        )
        by_name = inverted(known)
        found = by_name.get(spelled, by_name.get(spelled + ", 0"))
        if found is None:
            raise Mismatch(f"unknown message {spelled!r}", item.column)
        matcher.write(role, found, item.column)
        return
    parts = [matcher.integer(argument) for argument in item.arguments] + [0, 0]
    matcher.write(role, parts[0] | parts[1] << 4 | parts[2] << 8, item.column)


def index_mode(matcher: Matcher, role: str) -> None:
    item = matcher.take()
    if not isinstance(item, Call) or item.name != "gpr_idx":
        matcher.write(role, matcher.integer(item), item.column)
        return
    names = inverted(scalars.INDEX_MODES)
    code = 0
    for argument in item.arguments:
        code |= 1 << symbol(argument, names, matcher)
    matcher.write(role, code, item.column)


def microcode_version(matcher: Matcher, role: str) -> None:
    item = matcher.take()
    names = inverted(scalars.VERSIONS) | inverted(scalars.VERSION_FLAGS)
    matcher.write(role, _named_sum(item, names, matcher), item.column)


def _named_sum(item: Item, names: Mapping[str, int], matcher: Matcher) -> int:
    if isinstance(item, Sum):
        return sum(_named_sum(term, names, matcher) for term in item.terms)
    return symbol(item, names, matcher)


def end_program(matcher: Matcher, role: str) -> None:
    """The optional number of `s_endpgm` stands as an operand of its own."""
    item = matcher.take_optional()
    matcher.write(
        role, 0 if item is None else matcher.integer(item), 1 if item is None else item.column
    )
