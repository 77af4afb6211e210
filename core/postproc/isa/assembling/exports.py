# SPDX-License-Identifier: Apache-2.0
"""Exports and interpolation."""

from __future__ import annotations

from postproc.isa.assembling.matching import Matcher
from postproc.isa.assembling.symbols import Parser, inverted, symbol
from postproc.isa.assembling.syntax import Name
from postproc.isa.assembling.values import Mismatch
from postproc.isa.printing import trailing
from postproc.isa.printing.names import export_targets


def export_target(matcher: Matcher, role: str) -> None:
    item = matcher.take()
    matcher.write(
        role, symbol(item, inverted(export_targets(matcher.target)), matcher), item.column
    )


def export_source(place: int) -> Parser:
    def parse(matcher: Matcher, role: str) -> None:
        item = matcher.take()
        if not (isinstance(item, Name) and item.text == "off"):
            matcher.export_sources[place] = item

    return parse


def interpolation_slot(matcher: Matcher, role: str) -> None:
    item = matcher.take()
    matcher.write(role, symbol(item, inverted(trailing.INTERPOLATION_SLOTS), matcher), item.column)


def attribute(matcher: Matcher, role: str) -> None:
    item = matcher.take()
    text = item.text if isinstance(item, Name) else ""
    name, _, channel = text.partition(".")
    if not name.startswith("attr") or not name[4:].isdigit():
        raise Mismatch("expected attr<number>.<channel>", item.column)
    matcher.write(role, int(name[4:]), item.column)
    if matcher.has("attrchan"):
        if channel not in ("x", "y", "z", "w"):
            raise Mismatch("expected a channel .x, .y, .z or .w", item.column)
        matcher.write("attrchan", "xyzw".index(channel), item.column)


def compressed(matcher: Matcher, role: str) -> None:
    matcher.compressed = matcher.has_modifier(role) is not None
    matcher.write(role, int(matcher.compressed), matcher.end)
