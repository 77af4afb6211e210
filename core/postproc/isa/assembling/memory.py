# SPDX-License-Identifier: Apache-2.0
"""Cache policies, offsets, dimensions, formats: the inverse of `printing.memory`."""

from __future__ import annotations

from postproc.isa.assembling.matching import Matcher
from postproc.isa.assembling.symbols import inverted, symbol
from postproc.isa.assembling.syntax import Item, ListItem, Name
from postproc.isa.assembling.values import Mismatch
from postproc.isa.printing import memory
from postproc.isa.printing.names import buffer_formats


def cache_policy(matcher: Matcher, role: str) -> None:
    if matcher.target.major >= 12:
        _cache_policy_gfx12(matcher, role)
        return
    scalar = "SMRD" in matcher.entry.ts_flags
    is_gfx940 = matcher.target.is_gfx940
    words = {
        "sc0" if is_gfx940 and not scalar else "glc": memory.GLC,
        "nt" if is_gfx940 else "slc": memory.SLC,
    }
    if matcher.target.major >= 10:
        words["dlc"] = memory.DLC
    if matcher.target.is_gfx90a:
        words["sc1" if is_gfx940 else "scc"] = memory.SCC
    policy = sum(bit for word, bit in words.items() if matcher.has_modifier(word) is not None)
    matcher.write(role, policy, matcher.end)


def _cache_policy_gfx12(matcher: Matcher, role: str) -> None:
    policy = 0
    scope = matcher.modifier("scope")
    if scope is not None:
        policy |= symbol(scope, inverted(memory.SCOPES), matcher) << 3
    hint = matcher.modifier("th")
    if hint is not None:
        policy |= _temporal_hint(matcher, hint)
    if matcher.has_modifier("scale_offset") is not None:
        policy |= memory.SCALE_OFFSET
    if matcher.has_modifier("nv") is not None:
        policy |= memory.NON_VOLATILE
    matcher.write(role, policy, matcher.end)


_ATOMIC_HINTS = {
    "RT": 0,
    "RETURN": 1,
    "RT_RETURN": 1,
    "NT": 2,
    "NT_RETURN": 3,
    "CASCADE_RT": 4,
    "CASCADE_NT": 6,
}


def _temporal_hint(matcher: Matcher, item: Item) -> int:
    if not isinstance(item, Name):
        return matcher.integer(item)
    _, kind, name = ([*item.text.split("_", 2), "", ""])[:3]
    expected = memory.hint_kind(matcher.entry)
    if kind != expected or not name:
        raise Mismatch(f"expected TH_{expected}_...", item.column)
    if kind == "ATOMIC":
        if name.startswith("0x"):
            return int(name, 16)
        return symbol(Name(name, item.column), _ATOMIC_HINTS, matcher)
    names = inverted(memory.TEMPORAL_HINTS[kind]) | {"BYPASS": 3}
    return symbol(Name(name, item.column), names, matcher)


def scalar_offset_modifier(matcher: Matcher, role: str) -> None:
    item = matcher.modifier("offset")
    if item is None:
        raise Mismatch("an offset is missing", matcher.end)
    matcher.write(role, matcher.integer(item), item.column)


def dimension(matcher: Matcher, role: str) -> None:
    item = matcher.modifier("dim")
    if item is None:
        raise Mismatch("dim:... is missing", matcher.end)
    names = inverted(memory.DIMENSIONS)
    if isinstance(item, Name):
        short = item.text.removeprefix("SQ_RSRC_IMG_")
        matcher.write(role, symbol(Name(short, item.column), names, matcher), item.column)
    else:
        matcher.write(role, matcher.integer(item), item.column)


def buffer_format(matcher: Matcher, role: str) -> None:
    names = buffer_formats(matcher.target)
    item = matcher.modifier("format")
    if item is None:
        default = next((code for code, name in names.items() if not name), 0)
        matcher.write(role, default, matcher.end)
    elif isinstance(item, ListItem):
        words = [part.text for part in item.items if isinstance(part, Name)]
        found = inverted(names).get(",".join(words))
        if found is None:
            raise Mismatch("unknown format", item.column)
        matcher.write(role, found, item.column)
    else:
        matcher.write(role, matcher.integer(item), item.column)
