# SPDX-License-Identifier: Apache-2.0
"""What the analysis of the program counter knows of blocks, functions and transfers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from postproc_cfg.scalar_machine import State
from postproc_cfg.scalar_operations import Operation
from postproc_cfg.text import Text
from postproc_cfg.values import ReturnHigh, ReturnLow, Values, joined
from postproc_cfg.vocabulary import Transfer

__all__ = ["Arrival", "Callee", "Functions", "Outcome", "Proven", "join", "linked", "possible"]

Proven = Mapping[int, frozenset[int]]
"""Targets of transfers, as instructions, that somebody else proved."""


@final
@dataclass(frozen=True, slots=True)
class Functions:
    """What keeps to the calling convention: functions that symbols or relocations name, and if
    `all_compiled` everything but kernels."""

    declared: frozenset[int]
    kernels: frozenset[int]
    all_compiled: bool

    def keeps_to_convention(self, entry: int) -> bool:
        """Whether the function that begins at an instruction does."""
        return entry in self.declared or (self.all_compiled and entry not in self.kernels)


@final
@dataclass(slots=True)
class Outcome:
    """What one transfer does, as seen so far from one arrival.

    targets   instructions to which it goes (callees, if it is a call)
    outside   places outside the object's code
    returns   (function, link) pairs to whose callers it returns
    refused   why something about it is not known, or ""
    """

    targets: set[int] = field(default_factory=set)
    outside: set[int] = field(default_factory=set)
    returns: set[tuple[int, int]] = field(default_factory=set)
    refused: str = ""
    is_external: bool = False
    """Refused, but certain to leave the object or to go to a function by the convention."""
    is_given: bool = False
    """The targets were proven by somebody else."""


@final
@dataclass(slots=True)
class Callee:
    """A function: the region of code that its entry reaches without calls and returns.

    `links` are the link pairs through which it returns; `writes` is what it may change.
    """

    entry: int
    bit: int
    by_convention: bool
    writes: int = 0
    links: set[int] = field(default_factory=set)
    is_opaque: bool = False
    """Something in it is refused: it may change anything, and may return."""
    calls: set[int] = field(default_factory=set)
    """Arrivals (their first instruction) that end in a call of it."""


@final
@dataclass(slots=True)
class Arrival:
    """A block, or the rest of one behind an address that control arrives at."""

    first: int
    end: int
    state: State
    owners: int
    writes: int
    steps: list[tuple[int, Operation | None]]
    at_call: State | None = None
    outcome: Outcome = field(default_factory=Outcome)


def linked(state: State, entry: int, link: int) -> State:
    """A state at the entry of a function that was called through a link pair."""
    linked = dict(state)
    linked[link] = frozenset({ReturnLow(entry, link)})
    linked[link + 1] = frozenset({ReturnHigh(entry, link)})
    return linked


def join(into: State, other: State) -> bool:
    """Join a state into another one; whether that changed it."""
    changed = False
    for register, values in list(into.items()):
        theirs = other.get(register)
        if theirs is values or (theirs is not None and theirs <= values):
            continue
        both = joined(values, theirs)
        if both is None:
            del into[register]
        else:
            into[register] = both
        changed = True
    return changed


def possible(text: Text, index: int, kind: int, scc: Values | None) -> tuple[bool, bool]:
    """Whether a branch on SCC may be taken, and whether it may not be."""
    if kind != Transfer.CONDITIONAL or scc not in (frozenset({0}), frozenset({1})):
        return True, True
    mnemonic = text.instruction(index).mnemonic
    if mnemonic not in ("s_cbranch_scc0", "s_cbranch_scc1"):
        return True, True
    taken = scc == frozenset({int(mnemonic.endswith("1"))})
    return taken, not taken
