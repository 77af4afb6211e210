# SPDX-License-Identifier: Apache-2.0
"""Recovery: what every computed branch, call and return of an object does.

The analysis of `postproc_cfg.program_counter` is run until the entries that refused transfers may
use are all among its own.  Transfers that no entry reaches are looked at in a run of their own,
which has no influence on the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, final

import numpy as np

from postproc.codeobject import TextPosition
from postproc_cfg.arrivals import Functions, Outcome, Proven
from postproc_cfg.blocks import Blocks
from postproc_cfg.constant_memory import ConstantMemory
from postproc_cfg.definitions import Definitions
from postproc_cfg.idioms import name_idiom, signed_sibling
from postproc_cfg.program_counter import ProgramCounter
from postproc_cfg.relevance import Relevance
from postproc_cfg.scalar_machine import Machine
from postproc_cfg.scalar_operations import Operations
from postproc_cfg.text import Text
from postproc_cfg.vocabulary import Transfer

__all__ = ["ComputedTransfer", "Recovery", "recover"]

Kind = Literal["branch", "call", "return"]


@final
@dataclass(frozen=True, slots=True)
class ComputedTransfer:
    """A branch, call or return whose target is in a register, or relative by a 64-bit constant.

    index     the instruction
    targets   instructions where control may go, ascending: for a call its callees, for a return
              the places behind the calls; empty if it is refused
    outside   places outside the object's code that it may go to
    idiom     how its address is made; empty if it is refused
    evidence  from what the targets follow
    reason    why it is refused; empty if it is not
    """

    index: int
    kind: Kind
    targets: tuple[int, ...]
    outside: tuple[int, ...]
    idiom: str
    evidence: tuple[str, ...]
    reason: str


@final
@dataclass(frozen=True, eq=False)
class Recovery:
    """All computed transfers of a text, in order.

    entries    instructions where control may enter the object
    callees    entries of functions that calls go to, with the calls, both ascending
    dead_arms  successors that a known condition excludes, with the branch
    """

    transfers: tuple[ComputedTransfer, ...]
    entries: frozenset[int]
    callees: dict[int, tuple[int, ...]]
    dead_arms: dict[int, int]

    @property
    def refused(self) -> tuple[ComputedTransfer, ...]:
        """Those of which nothing is proven."""
        return tuple(t for t in self.transfers if t.reason)


_COMPUTED: Final = (
    Transfer.SET_PC,
    Transfer.ADD_PC,
    Transfer.SWAP_PC,
    Transfer.TRAP_RETURN,
    Transfer.FORK,
)


def recover(text: Text, proven: Proven | None = None) -> Recovery:
    """Find out where the computed transfers of a text go.

    `proven` are targets that others proved, of transfers that cannot be followed here.
    """
    computed = np.flatnonzero(np.isin(text.kind, _COMPUTED)).tolist()
    if not computed and not (text.kind == Transfer.CALL).any():
        return Recovery((), frozenset(_entries(text)[0]), {}, {})
    return _Recoverer(text, computed, proven or {}).result()


@final
class _Recoverer:
    def __init__(self, text: Text, computed: list[int], proven: Proven) -> None:
        self._text = text
        self._proven = proven
        self._computed = computed
        entries, functions = _entries(text)
        self._functions = functions
        self._entries = frozenset(entries)
        self._definitions = Definitions(text, whole_vectors=functions.all_compiled)
        operations = Operations(text, self._definitions.masks, self._definitions.slots)
        self._blocks = Blocks(text, entries)
        self._machine = Machine(text, ConstantMemory(text.code_object))
        self._relevance = Relevance(text, self._definitions, operations, self._blocks)
        self._first_refused: dict[int, tuple[str, bool]] = {}
        """Why transfers were refused first, and whether that was before refused ones had any
        influence."""
        self._run = self._settled(entries)
        self._shadow = self._of_unreached(entries)

    def _analysed(self, entries: Iterable[int]) -> ProgramCounter:
        return ProgramCounter(
            self._text,
            self._definitions,
            self._relevance,
            self._machine,
            sorted(entries),
            self._functions,
            self._proven,
        )

    def _settled(self, entries: set[int]) -> ProgramCounter:
        """Run until everything that a refused transfer may enter is an entry."""
        known = set(entries)
        while True:
            run = self._analysed(known)
            for index, outcome in _by_transfer(run).items():
                if outcome.refused:
                    self._first_refused.setdefault(index, (outcome.refused, known == entries))
            if not any(a.outcome.refused and not a.outcome.is_external
                       for a in run.arrivals.values()):  # fmt: skip
                return run
            places = np.fromiter(run.addresses, np.int64)
            found = set(self._text.indices_at(places).tolist()) - {-1}
            if found <= known:
                return run
            known |= found

    def _of_unreached(self, entries: set[int]) -> ProgramCounter | None:
        """A run from the beginnings of what the first did not reach."""
        ends = {arrival.end - 1 for arrival in self._run.arrivals.values()}
        missed = [index for index in self._computed if index not in ends]
        if not missed:
            return None
        numbers = self._blocks.number_at(np.array(missed, np.intp))
        leading = np.flatnonzero(self._blocks.reaching(numbers))
        seen = set(self._run.arrivals)
        heads = [i for i in self._blocks.starts[leading].tolist() if i not in seen]
        inner = _fallen_into(self._blocks, heads)
        return self._analysed(entries | (set(heads) - inner))

    # ------------------------------------------------------------ results
    def result(self) -> Recovery:
        outcomes = _by_transfer(self._run)
        others = _by_transfer(self._shadow) if self._shadow is not None else {}
        found = []
        for index in self._computed:
            if index in outcomes:
                found.append(self._described(index, self._run, outcomes[index], ()))
            else:
                found.append(self._unreached(index, outcomes, others))
        callees = {
            entry: tuple(sorted({self._run.arrivals[first].end - 1 for first in callee.calls}))
            for entry, callee in sorted(self._run.callees.items())
            if callee.calls
        }
        return Recovery(tuple(found), self._entries, callees, self._run.dead_arms)

    def _unreached(
        self, index: int, outcomes: dict[int, Outcome], others: dict[int, Outcome]
    ) -> ComputedTransfer:
        sibling = signed_sibling(self._text, index, self._run.dead_arms, self._blocks)
        if sibling is not None and sibling in outcomes and not outcomes[sibling].refused:
            evidence = (
                f"the other arm, at {self._where(sibling)}, goes there",
                "this arm is never taken: the sign of the distance is known",
            )
            return self._described(index, self._run, outcomes[sibling], evidence)
        if index in others and self._shadow is not None:
            return self._described(
                index, self._shadow, others[index], ("no entry of the object reaches it",)
            )
        return ComputedTransfer(
            index, _kind(self._text, index, None), (), (), "", (), "nothing is known to reach it"
        )

    def _described(
        self, index: int, run: ProgramCounter, outcome: Outcome, evidence: tuple[str, ...]
    ) -> ComputedTransfer:
        kind = _kind(self._text, index, outcome)
        targets = set(outcome.targets)
        for entry, link in sorted(outcome.returns):
            calls = run.call_sites(entry, link)
            targets |= {call + 1 for call in calls}
            if self._functions.keeps_to_convention(entry):
                targets |= self._unknown_callers(run, link)
        reason = self._reason(index, outcome)
        if not reason and not targets and not outcome.outside:
            reason = "it returns, and nothing is known to call it"
        if reason:
            return ComputedTransfer(index, kind, (), (), "", (), reason)
        idiom, why = name_idiom(self._text, index, kind, run, outcome)
        return ComputedTransfer(
            index,
            kind,
            tuple(sorted(targets)),
            tuple(sorted(outcome.outside)),
            idiom,
            evidence + why,
            "",
        )

    def _reason(self, index: int, outcome: Outcome) -> str:
        """Why a transfer is refused, as it was first seen; "" if it is not."""
        first = self._first_refused.get(index)
        if not outcome.refused or first is None or first[1]:
            return first[0] if outcome.refused and first else outcome.refused
        culprit = min(i for i, (_, alone) in self._first_refused.items() if alone)
        return f"{first[0]}, if the refused transfer at {self._where(culprit)} comes here"

    def _unknown_callers(self, run: ProgramCounter, link: int) -> set[int]:
        """Behind calls of functions that are not known."""
        calls = {
            a.end - 1
            for a in run.arrivals.values()
            if a.outcome.refused and int(self._text.kind[a.end - 1]) == Transfer.SWAP_PC
        }
        return {call + 1 for call in calls if run.link_of(call) == link}

    def _where(self, index: int) -> str:
        return f"0x{self._text.position(index).offset:x}"


def _entries(text: Text) -> tuple[set[int], Functions]:
    """Where control may enter, and which of these are functions of the calling convention."""
    code_object = text.code_object
    kernels = {text.index_at(text.place_of(kernel.position)) for kernel in code_object.kernels}
    entries = kernels - {-1}
    functions: set[int] = set()
    for entry in code_object.entries:
        index = text.index_at(text.place_of(TextPosition(entry.section_index, entry.offset)))
        entries |= {index} - {-1}
        if entry.kind in ("function", "relocation"):
            functions |= {index} - {-1} - kernels
    return entries, Functions(frozenset(functions), frozenset(kernels), _is_compiled(text))


def _is_compiled(text: Text) -> bool:
    """Whether a compiler made the object: it gives sizes to all kernels, people rarely do."""
    kernels = [f for f in text.code_object.functions if f.is_kernel]
    return bool(kernels) and all(kernel.sized for kernel in kernels)


def _by_transfer(run: ProgramCounter) -> dict[int, Outcome]:
    """What all arrivals at each transfer say together."""
    found: dict[int, Outcome] = {}
    for arrival in run.arrivals.values():
        index, outcome = arrival.end - 1, arrival.outcome
        merged = found.setdefault(index, Outcome())
        merged.targets |= outcome.targets
        merged.outside |= outcome.outside
        merged.returns |= outcome.returns
        merged.refused = merged.refused or outcome.refused
        merged.is_external |= outcome.is_external
        merged.is_given |= outcome.is_given
    return found


def _kind(text: Text, index: int, outcome: Outcome | None) -> Kind:
    if int(text.kind[index]) == Transfer.SWAP_PC:
        return "call"
    if int(text.kind[index]) == Transfer.TRAP_RETURN:
        return "return"
    if outcome is None or not outcome.returns:
        return "branch"
    return "return" if not outcome.targets and not outcome.outside else "branch"


def _fallen_into(blocks: Blocks, heads: list[int]) -> set[int]:
    """Those of some blocks that others of them lead to directly."""
    numbers = np.zeros(len(blocks), bool)
    numbers[blocks.number_at(np.array(heads, np.intp))] = True
    sources, targets = blocks.direct_edges
    inner = targets[numbers[sources] & (targets != sources)]
    return set(blocks.starts[inner].tolist())
