# SPDX-License-Identifier: Apache-2.0
"""What the parsers of tokens share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from postproc.isa.assembling.matching import Matcher
from postproc.isa.assembling.syntax import Item, ListItem, Name
from postproc.isa.assembling.values import Mismatch

__all__ = [
    "Parser",
    "bit_list",
    "inverted",
    "named_bit",
    "numbered",
    "symbol",
    "symbolic",
    "write_number",
]


Parser = Callable[[Matcher, str], None]


def symbol(item: Item, names: Mapping[str, int], matcher: Matcher) -> int:
    """The value of a name from a table, or of an integer."""
    if isinstance(item, Name):
        if item.text in names:
            return names[item.text]
        raise Mismatch(f"unknown name {item.text!r}", item.column)
    return matcher.integer(item)


def inverted(names: Mapping[int, str] | Sequence[str]) -> dict[str, int]:
    if isinstance(names, Mapping):
        return {name: number for number, name in names.items()}
    return {name: number for number, name in enumerate(names)}


def write_number(matcher: Matcher, role: str, name: str, default: int) -> None:
    """`name:5`; `default` where it is not there."""
    item = matcher.modifier(name)
    if item is None:
        matcher.write(role, default, matcher.end)
    else:
        matcher.write(role, matcher.integer(item), item.column)


def numbered(name: str | None = None, default: int = 0) -> Parser:
    return lambda matcher, role: write_number(matcher, role, name or role, default)


def named_bit(name: str | None = None) -> Parser:
    def parse(matcher: Matcher, role: str) -> None:
        word = name or role
        matcher.write(role, int(matcher.has_modifier(word) is not None), matcher.end)

    return parse


def symbolic(names: Sequence[str], prefix: str = "", default: int = 0) -> Parser:
    """`role:NAME`; names in their order, each with a prefix that may be left out."""
    table = {name: place for place, name in enumerate(names) if name}
    table |= {prefix + name: place for name, place in table.items()}

    def parse(matcher: Matcher, role: str) -> None:
        item = matcher.modifier(role)
        if item is None:
            matcher.write(role, default, matcher.end)
        else:
            matcher.write(role, symbol(item, table, matcher), item.column)

    return parse


def bit_list(matcher: Matcher, item: Item) -> list[int]:
    if not isinstance(item, ListItem):
        raise Mismatch("expected a list of bits", item.column)
    values = [matcher.integer(part) for part in item.items]
    if any(value not in (0, 1) for value in values):
        raise Mismatch("expected 0 or 1", item.column)
    return values
