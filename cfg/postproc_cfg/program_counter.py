# SPDX-License-Identifier: Apache-2.0
"""Where computed transfers go: a forward value-set analysis over the whole object.

The state before an instruction maps scalar registers to what they may hold (`postproc_cfg.values`);
the state before a block is the join over all arrivals that are possible so far:

    1. an entry of the object arrives with nothing known; a function, by the convention, with its
       return address in s[30:31],
    2. a block passes its state on along its direct edges, except to where a condition that is known
       does not let control go,
    3. a set-PC whose pair holds addresses of code passes its state on to them,
    4. a call passes its state to its callees, with "the return address of calls of f through d" in
       the link pair d: one value, so that a callee is analysed once, however often it is called,
    5. a set-PC whose pair holds that value returns; once it does, every call of f goes on behind
       itself, with what it knew of registers that f, and all that f calls, leave alone.

This is a least fixed point: states only grow, and edges are only added.  Whatever cannot be
followed is *refused*, with a reason.  Control may leave a refused transfer for any place whose
address the object makes anywhere; those are then entered with nothing known, and the analysis is
run again.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import Final, final

from postproc_cfg.arrivals import (
    Arrival,
    Callee,
    Functions,
    Outcome,
    Proven,
    join,
    linked,
    possible,
)
from postproc_cfg.convention import LINK, preserved
from postproc_cfg.definitions import ALL_SCALARS, SCC, Definitions
from postproc_cfg.relevance import Relevance
from postproc_cfg.scalar_machine import Machine, State, pair_value
from postproc_cfg.scalar_operations import Operation
from postproc_cfg.text import NOWHERE, Text
from postproc_cfg.values import CodeHigh, PcHigh, ReturnHigh, Values, low_of
from postproc_cfg.vocabulary import Transfer

__all__ = ["ProgramCounter"]

_FALLS: Final = (Transfer.NONE, Transfer.CONDITIONAL, Transfer.UNKNOWN)


@final
class ProgramCounter:
    """The analysis of one text from given entries.

    `entries` are instructions.
    """

    def __init__(
        self,
        text: Text,
        definitions: Definitions,
        relevance: Relevance,
        machine: Machine,
        entries: Iterable[int],
        functions: Functions,
        proven: Proven,
    ) -> None:
        self._text = text
        self._definitions = definitions
        self._relevance = relevance
        self._machine = machine
        self._functions = functions
        self._proven = proven
        self._preserved = preserved(definitions.slots)
        self._everything = ALL_SCALARS | definitions.slots.all
        self.arrivals: dict[int, Arrival] = {}
        self.callees: dict[int, Callee] = {}
        self.addresses: set[int] = set()
        """Places whose address was made, or where a call comes back."""
        self.loaded: set[int] = set()
        """Those that came from memory."""
        self.dead_arms: dict[int, int] = {}
        """Successors that a known condition excludes, with the branch, whether or not something
        else leads to them."""
        self._by_bit: list[Callee] = []
        self._queue: list[int] = []
        self._queued: set[int] = set()
        self._changed: dict[int, None] = {}
        for entry in entries:
            self._enter(entry)
        self._run()

    # ------------------------------------------------------------ arrivals
    def _enter(self, entry: int) -> None:
        callee = self.callee(entry)
        state: State = {}
        if entry in self._functions.declared:
            state = linked({}, entry, LINK)
        self._arrive(entry, state, 1 << callee.bit)

    def callee(self, entry: int) -> Callee:
        """The function that begins at an instruction."""
        found = self.callees.get(entry)
        if found is None:
            found = Callee(entry, len(self._by_bit), self._functions.keeps_to_convention(entry))
            self.callees[entry] = found
            self._by_bit.append(found)
        return found

    def owners(self, mask: int) -> Iterator[Callee]:
        """The functions of a set of owners."""
        while mask:
            yield self._by_bit[(mask & -mask).bit_length() - 1]
            mask &= mask - 1

    def _arrive(self, index: int, state: State, owners: int) -> None:
        if not self._relevance.is_active(index):
            return
        arrival = self.arrivals.get(index)
        if arrival is None:
            self.arrivals[index] = self._first_arrival(index, state, owners)
            self._own(self.arrivals[index], owners)
            self._push(index)
            return
        changed = join(arrival.state, state)
        if owners & ~arrival.owners:
            self._own(arrival, owners & ~arrival.owners)
            arrival.owners |= owners
            changed = True
        if changed:
            self._push(index)

    def _first_arrival(self, index: int, state: State, owners: int) -> Arrival:
        end = self._relevance.end_of(index)
        needed = self._relevance.needed_at(index)
        kept = {register: v for register, v in state.items() if needed >> register & 1}
        writes = self._definitions.between(index, end)
        return Arrival(index, end, kept, owners, writes, self._relevance.operations(index))

    def _own(self, arrival: Arrival, owners: int) -> None:
        for owner in self.owners(owners):
            self._writes(owner, arrival.writes)
            if arrival.outcome.refused and not self._is_call(arrival):
                self._make_opaque(owner)

    def _is_call(self, arrival: Arrival) -> bool:
        return int(self._text.kind[arrival.end - 1]) in (Transfer.CALL, Transfer.SWAP_PC)

    def _writes(self, callee: Callee, registers: int) -> None:
        if registers & ~callee.writes:
            callee.writes |= registers
            self._changed[callee.entry] = None

    def _make_opaque(self, callee: Callee) -> None:
        if not callee.is_opaque:
            callee.is_opaque = True
            self._changed[callee.entry] = None

    def _push(self, index: int) -> None:
        if index not in self._queued:
            self._queued.add(index)
            heapq.heappush(self._queue, index)

    def _run(self) -> None:
        """Callees first: calls are resumed when nothing else is left to do."""
        while self._queue or self._changed:
            if self._queue:
                index = heapq.heappop(self._queue)
                self._queued.discard(index)
                self._process(self.arrivals[index])
            else:
                changed, self._changed = self._changed, {}
                for call in sorted({c for entry in changed for c in self.callees[entry].calls}):
                    self._resume(self.arrivals[call])

    # ------------------------------------------------------------ blocks
    def _process(self, arrival: Arrival) -> None:
        state = dict(arrival.state)
        for written, operation in arrival.steps:
            if operation is None:
                for register in [r for r in state if written >> r & 1]:
                    del state[register]
            else:
                self._machine.execute(operation, state)
                self._note_addresses(operation, state)
        last = arrival.end - 1
        kind = int(self._text.kind[last])
        if kind in _FALLS:
            self._go_on(arrival, state, kind)
        elif kind in (Transfer.BRANCH, Transfer.ADD_PC):
            self._branch(arrival, state, kind)
        elif kind == Transfer.SET_PC:
            self._set_pc(arrival, state)
        elif kind in (Transfer.CALL, Transfer.SWAP_PC):
            self._call(arrival, state, kind)
        elif kind == Transfer.TRAP_RETURN:
            self._refuse(arrival, "returns from a trap to wherever it came from", external=True)
        elif kind == Transfer.FORK:
            self._refuse(arrival, "takes its target from a stack in hardware")

    def _note_addresses(self, operation: Operation, state: State) -> None:
        if operation.name not in ("addc", "subb", "add64", "sub64", "load", "vload"):
            return
        registers = operation.writes & ~(1 << SCC)
        while registers:
            register = (registers & -registers).bit_length() - 1
            registers &= registers - 1
            for value in state.get(register, ()):
                if isinstance(value, PcHigh):
                    self.addresses.add(value.place)
                    if operation.name in ("load", "vload"):
                        self.loaded.add(value.place)

    def _go_on(self, arrival: Arrival, state: State, kind: int) -> None:
        last = arrival.end - 1
        taken, falls = possible(self._text, last, kind, state.get(SCC))
        following = self._text.next_index(last)
        if kind == Transfer.CONDITIONAL:
            target = self._text.index_at(int(self._text.target[last]))
            if taken:
                self._direct(arrival, state, target)
            elif target >= 0:
                self.dead_arms[target] = last
        if not falls:
            self.dead_arms[following] = last
        elif following >= 0:
            self._arrive(following, state, arrival.owners)
        else:
            self._refuse(arrival, "control runs over the end of the section")

    def _branch(self, arrival: Arrival, state: State, kind: int) -> None:
        last = arrival.end - 1
        if kind == Transfer.BRANCH or int(self._text.target[last]) != NOWHERE:
            self._direct(arrival, state, self._text.index_at(int(self._text.target[last])))
        else:
            self._refuse(arrival, "adds a register to the program counter")

    def _direct(self, arrival: Arrival, state: State, target: int) -> None:
        last = arrival.end - 1
        place = int(self._text.target[last])
        if target >= 0:
            if int(self._text.kind[last]) == Transfer.ADD_PC:
                arrival.outcome.targets.add(target)
            self._arrive(target, state, arrival.owners)
        elif last in self._text.relocated:
            self._refuse(arrival, "a linker has yet to say where it goes")
        elif self._text.position_of_place(place) is None:
            arrival.outcome.outside.add(place)
        else:
            self._refuse(arrival, "goes into the middle of an instruction")

    def _set_pc(self, arrival: Arrival, state: State) -> None:
        outcome = self._addressed(arrival, state)
        for target in outcome.targets:
            self._arrive(target, state, arrival.owners)
        if outcome.outside:  # a tail call: what it reaches returns to the callers of this function
            for owner in self.owners(arrival.owners):
                self._make_opaque(owner)
        for entry, link in outcome.returns:
            callee = self.callees[entry]
            if link not in callee.links:
                callee.links.add(link)
                self._changed[entry] = None

    def _addressed(self, arrival: Arrival, state: State) -> Outcome:
        """Where the pair that the last instruction reads points to."""
        last, outcome = arrival.end - 1, arrival.outcome
        code = int(self._text.word[last]) & 0xFF
        values = pair_value(state, code) if code < 128 else None
        if last in self._proven and not _are_addresses(values):
            outcome.targets |= self._proven[last]
            outcome.is_given = True
            return outcome
        if values is None:
            reason = f"nothing is known of s[{code}:{code + 1}]"
            if code >= 128:
                reason = "the address is an absolute constant"
            by_convention = self._is_convention_return(arrival, code)
            if by_convention:
                reason = "the return address comes from where it cannot be followed"
            self._refuse(arrival, reason, external=by_convention)
            return outcome
        for value in values:
            if isinstance(value, PcHigh):
                self._address(arrival, value.place)
            elif isinstance(value, ReturnHigh):
                outcome.returns.add((value.entry, value.link))
            elif isinstance(value, CodeHigh):
                self._refuse(arrival, "the address is known but for something added to it")
            else:
                self._refuse(arrival, "the address is an absolute constant")
        return outcome

    def _is_convention_return(self, arrival: Arrival, code: int) -> bool:
        is_set = int(self._text.kind[arrival.end - 1]) == Transfer.SET_PC
        owners = list(self.owners(arrival.owners))
        return is_set and code == LINK and all(o.by_convention for o in owners)

    def _address(self, arrival: Arrival, place: int) -> None:
        index = self._text.index_at(place)
        if index >= 0:
            arrival.outcome.targets.add(index)
        elif self._text.position_of_place(place) is None:
            arrival.outcome.outside.add(place)
        else:
            self._refuse(arrival, "the address is in the middle of an instruction")

    # ------------------------------------------------------------ calls
    def _call(self, arrival: Arrival, state: State, kind: int) -> None:
        last, outcome = arrival.end - 1, arrival.outcome
        if kind == Transfer.CALL:
            target = self._text.index_at(int(self._text.target[last]))
            if target < 0:
                self._refuse(arrival, "the callee is no instruction of the object")
            else:
                outcome.targets.add(target)
        else:
            self._addressed(arrival, state)
        if outcome.returns:
            self._refuse(arrival, "a coroutine: it calls an address to return to")
        if outcome.refused and self.link_of(last) == LINK:
            outcome.is_external = True
        link = self.link_of(last)
        arrival.at_call = state
        for target in outcome.targets:
            callee = self.callee(target)
            callee.calls.add(arrival.first)
            self._arrive(target, linked(state, target, link), 1 << callee.bit)
        self._resume(arrival)

    def link_of(self, call: int) -> int:
        """The first register of the pair in which a call leaves its return address."""
        return int(self._text.word[call]) >> 16 & 0x7F

    def _resume(self, arrival: Arrival) -> None:
        """Go on behind a call, if a callee is known to come back."""
        last, state = arrival.end - 1, arrival.at_call
        following = self._text.next_index(last)
        written, returns = self._effect(arrival)
        if not returns or state is None or following < 0:
            return
        for owner in self.owners(arrival.owners):
            self._writes(owner, written)
        link = self.link_of(last)
        kept = {r: v for r, v in state.items() if not written >> r & 1}
        kept.pop(link, None)
        kept.pop(link + 1, None)
        if not written >> link & 3:
            after = int(self._text.place[following])
            kept[link] = frozenset({low_of(after)})
            kept[link + 1] = frozenset({PcHigh(after)})
        self.addresses.add(int(self._text.place[following]))
        self._arrive(following, kept, arrival.owners)

    def _effect(self, arrival: Arrival) -> tuple[int, bool]:
        """What the callees may change, and whether one of them comes back."""
        link = self.link_of(arrival.end - 1)
        written, returns = 0, False
        for target in arrival.outcome.targets:
            callee = self.callees[target]
            if callee.is_opaque or link in callee.links:
                returns = True
                change = self._everything if callee.is_opaque else callee.writes
                by_convention = callee.by_convention and link == LINK
                written |= change & ~self._preserved if by_convention else change
        if arrival.outcome.refused or arrival.outcome.outside:
            kept = self._preserved if link == LINK else 0
            return written | self._everything & ~kept, True
        return written, returns

    def _refuse(self, arrival: Arrival, reason: str, *, external: bool = False) -> None:
        if arrival.outcome.refused:
            return
        arrival.outcome.refused = reason
        arrival.outcome.is_external = external
        if not self._is_call(arrival):
            for owner in self.owners(arrival.owners):
                self._make_opaque(owner)

    def call_sites(self, entry: int, link: int) -> list[int]:
        """The calls of a function through a link pair, ascending."""
        ends = {self.arrivals[first].end - 1 for first in self.callees[entry].calls}
        return sorted(call for call in ends if self.link_of(call) == link)


def _are_addresses(values: Values | None) -> bool:
    return values is not None and all(isinstance(v, (PcHigh, ReturnHigh)) for v in values)
