# SPDX-License-Identifier: Apache-2.0
"""DPP, DPP8 and swizzles: the inverse of `postproc.isa.printing.lanes`."""

from __future__ import annotations

from postproc.isa.assembling.matching import Matcher
from postproc.isa.assembling.syntax import Call, ListItem, Name, String
from postproc.isa.assembling.values import Mismatch
from postproc.isa.printing import lanes


def swizzle(matcher: Matcher, role: str) -> None:
    item = matcher.modifier("offset")
    if item is None:
        matcher.write(role, 0, matcher.end)
    elif isinstance(item, Call) and item.name == "swizzle" and item.arguments:
        matcher.write(role, _swizzle(matcher, item), item.column)
    else:
        matcher.write(role, matcher.integer(item), item.column)


def _swizzle(matcher: Matcher, item: Call) -> int:
    mode = item.arguments[0].text if isinstance(item.arguments[0], Name) else ""
    rest = item.arguments[1:]
    if mode == "BITMASK_PERM" and len(rest) == 1 and isinstance(rest[0], String):
        return _bitmask(rest[0])
    numbers = [matcher.integer(part) for part in rest]
    if mode == "QUAD_PERM" and len(numbers) == 4:
        return 0x8000 | sum(lane << 2 * place for place, lane in enumerate(numbers))
    if mode == "SWAP" and len(numbers) == 1:
        return 0x1F | numbers[0] << 10
    if mode == "REVERSE" and len(numbers) == 1:
        return 0x1F | numbers[0] - 1 << 10
    if mode == "BROADCAST" and len(numbers) == 2:
        return 0x20 - numbers[0] | numbers[1] << 5
    if mode == "ROTATE" and len(numbers) == 2:
        return 0xC000 | numbers[0] << 10 | numbers[1] << 5
    if mode == "FFT" and len(numbers) == 1:
        return 0xE000 | numbers[0]
    raise Mismatch("unknown swizzle", item.column)


def _bitmask(item: String) -> int:
    keep = force = flip = 0
    for place, letter in enumerate(item.text):
        bit = 16 >> place
        keep |= bit * (letter in "pi")
        force |= bit * (letter == "1")
        flip |= bit * (letter == "i")
    return keep | force << 5 | flip << 10


def dpp_control(matcher: Matcher, role: str) -> None:
    for code, text in lanes.DPP_SINGLE.items():
        name, _, operand = text.partition(":")
        if not operand and matcher.has_modifier(name) is not None:
            matcher.write(role, code, matcher.end)
            return
    item = matcher.modifier("quad_perm")
    if isinstance(item, ListItem) and len(item.items) == 4:
        lanes_of = [matcher.integer(part) for part in item.items]
        matcher.write(role, sum(lane << 2 * k for k, lane in enumerate(lanes_of)), item.column)
        return
    for name, (first, last, zero) in lanes.DPP_RANGES.items():
        item = matcher.modifier(name)
        if item is not None:
            code = matcher.integer(item) + zero
            if not first <= code <= last:
                raise Mismatch(f"{name} is out of range", item.column)
            matcher.write(role, code, item.column)
            return
    _broadcast_control(matcher, role)


def _broadcast_control(matcher: Matcher, role: str) -> None:
    for code, text in lanes.DPP_SINGLE.items():
        name, _, operand = text.partition(":")
        item = matcher.peek_modifier(name)
        if operand and item is not None and matcher.integer(item) == int(operand):
            matcher.modifier(name)
            matcher.write(role, code, item.column)
            return
    raise Mismatch("a DPP control is missing", matcher.end)


def dpp8(matcher: Matcher, role: str) -> None:
    item = matcher.modifier("dpp8")
    if not isinstance(item, ListItem) or len(item.items) != 8:
        raise Mismatch("dpp8:[...] of eight lanes is missing", matcher.end)
    lanes_of = [matcher.integer(part) for part in item.items]
    matcher.write(role, sum(lane << 3 * k for k, lane in enumerate(lanes_of)), item.column)


def fetch_inactive(matcher: Matcher, role: str) -> None:
    item = matcher.modifier("fi")
    on = item is not None and matcher.integer(item) != 0
    matcher.write(role, matcher.fetch_inactive_value(role, on), matcher.end)


def bound_control(matcher: Matcher, role: str) -> None:
    """`bound_ctrl:0` is an old spelling of 1."""
    item = matcher.modifier("bound_ctrl")
    matcher.write(role, int(item is not None), matcher.end)
