# SPDX-License-Identifier: Apache-2.0
"""What a scalar register may hold, as far as the program counter is concerned.

The domain of a 32-bit register is a finite set of these values, or nothing known (None):

    int                     a constant, 0 <= c < 2**32
    PcLow(p), PcHigh(p)     the halves of the address of place p, p counted from wherever the object
                            is loaded.  A low half knows p modulo 2**32 only.
    ReturnLow(f, d), ...    the halves of the address to which function f, called with the link
                            register pair d, returns: one value for all its callers, however many
    CodeLow(p), CodeHigh    the halves of an address that is p plus something unknown
    Carry(p, c)             in SCC: the carry of PcLow(p) + c;  Borrow(p, c): of PcLow(p) - c

Low and high halves are joined without relation; because a high half knows its whole place, pairs
match up again.  A low half whose own high half is missing goes with the others: code is less than
4 GiB long and does not cross a multiple of 4 GiB, which the loader sees to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Final, final

__all__ = [
    "LIMIT",
    "Borrow",
    "Carry",
    "CodeHigh",
    "CodeLow",
    "PcHigh",
    "PcLow",
    "ReturnHigh",
    "ReturnLow",
    "Value",
    "Values",
    "add",
    "add_carry",
    "as_signed",
    "carry_of",
    "joined",
    "low_of",
    "pairs",
]

LIMIT: Final = 1024
"""A register that may hold more values than this may hold anything."""

CONSTANT_LIMIT: Final = 64
"""The same for constants: counters of loops shall be given up early."""

WORD: Final = (1 << 32) - 1


@final
@dataclass(frozen=True, slots=True)
class PcLow:
    place: int


@final
@dataclass(frozen=True, slots=True)
class PcHigh:
    place: int


@final
@dataclass(frozen=True, slots=True)
class ReturnLow:
    entry: int
    link: int


@final
@dataclass(frozen=True, slots=True)
class ReturnHigh:
    entry: int
    link: int


@final
@dataclass(frozen=True, slots=True)
class CodeLow:
    place: int


@final
@dataclass(frozen=True, slots=True)
class CodeHigh:
    place: int


@final
@dataclass(frozen=True, slots=True)
class Carry:
    place: int
    addend: int


@final
@dataclass(frozen=True, slots=True)
class Borrow:
    place: int
    addend: int


Value = int | PcLow | PcHigh | ReturnLow | ReturnHigh | CodeLow | CodeHigh | Carry | Borrow
Values = frozenset[Value]


def as_signed(word: int, bits: int = 32) -> int:
    """The two's complement value of a word."""
    return (word & (1 << bits) - 1 ^ 1 << bits - 1) - (1 << bits - 1)


def low_of(place: int) -> PcLow:
    """The low half of a place."""
    return PcLow(place & WORD)


def joined(left: Values | None, right: Values | None) -> Values | None:
    """Everything that either may be."""
    if left is None or right is None:
        return None
    both = left | right
    if len(both) <= CONSTANT_LIMIT:
        return both
    constants = sum(isinstance(value, int) for value in both)
    return both if constants <= CONSTANT_LIMIT and len(both) <= LIMIT else None


def each(
    function: Callable[[Value, Value], Value | None], left: Values | None, right: Values | None
) -> Values | None:
    """`function` of all pairs; nothing known if it answers None for one of them."""
    if left is None or right is None or len(left) * len(right) > LIMIT:
        return None
    found = set()
    for a in left:
        for b in right:
            value = function(a, b)
            if value is None:
                return None
            found.add(value)
    return frozenset(found)


def add(left: Values | None, right: Values | None, *, sign: int = 1) -> Values | None:
    """Low halves: the sum (`sign` 1) or the difference (-1)."""
    unknown = _plus_unknown(left, right, sign)
    return unknown if unknown is not None else each(lambda a, b: _add(a, b, sign), left, right)


def _plus_unknown(left: Values | None, right: Values | None, sign: int) -> Values | None:
    """A place plus something unknown is somewhere near that place."""
    orders = ((left, right), (right, left)) if sign > 0 else ((left, right),)
    for known, other in orders:
        if known is None:
            continue
        lows = [v.place for v in known if isinstance(v, (PcLow, CodeLow))]
        if len(lows) != len(known) or not lows:
            continue
        if other is None or any(isinstance(v, CodeLow) for v in known):
            return frozenset(CodeLow(place) for place in lows)
    return None


def _add(a: Value, b: Value, sign: int) -> Value | None:
    if isinstance(a, int) and isinstance(b, int):
        return (a + sign * b) & WORD
    if isinstance(a, PcLow) and isinstance(b, int):
        return low_of(a.place + sign * b)
    if isinstance(a, int) and isinstance(b, PcLow) and sign > 0:
        return low_of(b.place + a)
    if isinstance(a, PcLow) and isinstance(b, PcLow) and sign < 0:
        return (a.place - b.place) & WORD
    return None


def carry_of(left: Values | None, right: Values | None, *, sign: int = 1) -> Values | None:
    """SCC after the addition (`sign` 1) or subtraction (-1) of low halves."""

    def carry(a: Value, b: Value) -> Value | None:
        if isinstance(a, int) and isinstance(b, int):
            return int(a + b > WORD) if sign > 0 else int(b > a)
        if isinstance(a, PcLow) and isinstance(b, int):
            return Carry(a.place, b) if sign > 0 else Borrow(a.place, b)
        if isinstance(a, int) and isinstance(b, PcLow) and sign > 0:
            return Carry(b.place, a)
        return None

    return each(carry, left, right)


def add_carry(
    left: Values | None, right: Values | None, scc: Values | None, *, sign: int = 1
) -> tuple[Values | None, Values | None]:
    """The sum or difference of high halves with the carry or borrow in SCC, and SCC after it."""
    if left is not None and all(isinstance(v, (PcHigh, CodeHigh)) for v in left):
        return _high(left, right, scc, sign), None
    if sign > 0 and right is not None and all(isinstance(v, (PcHigh, CodeHigh)) for v in right):
        return _high(right, left, scc, sign), None
    if left is None or right is None or scc is None:
        return None, None
    if len(left) * len(right) * len(scc) > LIMIT:
        return None, None
    sums: set[Value] = set()
    carries: set[Value] = set()
    for a, b, c in product(left, right, scc):
        if not (isinstance(a, int) and isinstance(b, int) and isinstance(c, int)):
            return None, None
        total = a + sign * (b + c)
        sums.add(total & WORD)
        carries.add(int(not 0 <= total <= WORD))
    return frozenset(sums), frozenset(carries)


def _high(base: Values, other: Values | None, scc: Values | None, sign: int) -> Values | None:
    """PcHigh(p) + h + Carry(p, c) is PcHigh(p + (h:c)); so with a borrow."""
    places = [v.place for v in base if isinstance(v, PcHigh)]
    if other is None or scc is None or len(places) != len(base):
        return frozenset(CodeHigh(v.place) for v in base if isinstance(v, (PcHigh, CodeHigh)))
    found: set[Value] = set()
    for carry in scc:
        for h in other:
            if not isinstance(h, int):
                return None
            if isinstance(carry, int):
                found |= {PcHigh(p + sign * ((h + carry) << 32)) for p in places}
                continue
            if not isinstance(carry, Carry if sign > 0 else Borrow):
                return None
            step = sign * (h << 32 | carry.addend)
            found |= {PcHigh(_wrapped(p + step)) for p in matching(places, carry.place)}
    return frozenset(found)


def _wrapped(place: int) -> int:
    """Addresses are 64 bits wide: adding 2**64 - n goes back by n."""
    return as_signed(place, 64)


def matching(places: Iterable[int], low: int) -> list[int]:
    """The places that have this low half; if none has, those next to them that do."""
    places = list(places)
    exact = [p for p in places if p & WORD == low]
    return exact or [p + as_signed(low - p) for p in places]


def pairs(low: Values | None, high: Values | None) -> Values | None:
    """The addresses in a pair of registers, each as its PcHigh, CodeHigh or ReturnHigh; a pair of
    constants gives that number as an int.  None: nothing is known."""
    if low is None or high is None:
        return None
    found: set[Value] = set()
    places = [v.place for v in high if isinstance(v, PcHigh)]
    for half in low:
        if isinstance(half, PcLow) and places:
            found |= {PcHigh(p) for p in matching(places, half.place)}
        elif isinstance(half, ReturnLow) and ReturnHigh(half.entry, half.link) in high:
            found.add(ReturnHigh(half.entry, half.link))
        elif isinstance(half, CodeLow) and any(isinstance(v, (CodeHigh, PcHigh)) for v in high):
            found.add(CodeHigh(half.place))
        elif isinstance(half, int) and any(isinstance(v, int) for v in high):
            found |= {v << 32 | half for v in high if isinstance(v, int)}
        else:
            return None
    return frozenset(found) if found else None
