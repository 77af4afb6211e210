# SPDX-License-Identifier: Apache-2.0
"""The control-flow graph of an object: blocks, edges, functions, calls, and what is odd about it.

A *block* is a longest run of instructions that control enters at the first and leaves at the last
one only.  It ends before targets of branches and calls, before entries, and behind every control
transfer.

An *edge* leads to where control goes within the function.  A call goes to the place behind it;
callees are functions of their own and never successors.  A return has no successor; neither has a
set-PC of which nothing is proven.

A *function* is what its entry reaches by edges other than tail calls.  Entries are those of the
object (kernels, functions, global labels, addresses that relocations store) and callees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, final

import numpy as np

from postproc.codeobject import TextPosition, TextRange
from postproc_cfg.blocks import Blocks, compressed, reached
from postproc_cfg.graph import Graph
from postproc_cfg.recovery import ComputedTransfer, Recovery, recover
from postproc_cfg.text import NOWHERE, Text
from postproc_cfg.vocabulary import Transfer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc.codeobject import CodeObject, Section
    from postproc.isa import Decoded

__all__ = [
    "BasicBlock",
    "Call",
    "ControlFlowGraph",
    "Edge",
    "EdgeKind",
    "Function",
    "control_flow_graph",
    "control_flow_of",
]


@final
class EdgeKind(IntEnum):
    """How control passes from a block to a successor."""

    BRANCH = 0
    """An unconditional direct branch."""
    TAKEN = 1
    """A conditional branch, taken."""
    COMPUTED = 2
    """A branch to an address in a register, or by a 64-bit constant."""
    TAIL_CALL = 3
    """A branch to the entry of another function."""
    FALL_THROUGH = 4
    AFTER_CALL = 5
    """From a call to the place behind it, once the callee came back."""

    @property
    def label(self) -> str:
        """The name in JSON and on the terminal."""
        return self.name.lower().replace("_", "-")


@final
@dataclass(frozen=True, slots=True)
class BasicBlock:
    """`number` counts blocks in order of place; `first` to `end` are numbers of instructions.

    `function` is the number of a function that the block belongs to, the first one that reaches it;
    -1 if nothing is known to reach the block.
    """

    number: int
    range: TextRange
    first: int
    end: int
    function: int


@final
@dataclass(frozen=True, slots=True)
class Edge:
    """`source` and `target` are numbers of blocks."""

    source: int
    target: int
    kind: EdgeKind


@final
@dataclass(frozen=True, slots=True)
class Call:
    """A call: the number of its instruction, the block that it ends, and the functions it may go
    to; none if it is refused, or leaves the object."""

    instruction: int
    block: int
    callees: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class Function:
    """A function: `entry` is the number of its first block.

    kind    why control may enter: "kernel", "function", "symbol", "relocation", or "callee" if only
            calls go there
    """

    number: int
    name: str
    kind: Literal["kernel", "function", "symbol", "relocation", "callee"]
    entry: int
    position: TextPosition


@final
@dataclass(frozen=True, eq=False)
class ControlFlowGraph:
    """Control flow of one object.

    Successors are in compressed sparse rows: those of block b are
    `targets[offsets[b] : offsets[b + 1]]`, branch targets before the fall-through.

    offsets  int32[blocks + 1]    targets  int32[edges]    kinds  int8[edges], EdgeKind
    owner    int32[blocks], a function that the block belongs to, -1: not known to be reached
    """

    text: Text
    recovery: Recovery
    layout: Blocks
    offsets: NDArray[np.int32]
    targets: NDArray[np.int32]
    kinds: NDArray[np.int8]
    functions: tuple[Function, ...]
    owner: NDArray[np.int32]
    calls: tuple[Call, ...]

    # ------------------------------------------------------------ blocks and edges
    def __len__(self) -> int:
        return len(self.layout)

    def block(self, number: int) -> BasicBlock:
        """One block."""
        first, end = int(self.layout.starts[number]), int(self.layout.ends[number])
        start = self.text.position(first)
        size = int(self.text.place[end - 1] + self.text.size[end - 1] - self.text.place[first])
        where = TextRange(start.section, start.offset, start.offset + size)
        return BasicBlock(number, where, first, end, int(self.owner[number]))

    @property
    def blocks(self) -> Iterator[BasicBlock]:
        """All blocks, in order of place."""
        return (self.block(number) for number in range(len(self)))

    def block_at(self, position: TextPosition) -> int:
        """The number of the block that holds a byte; -1 if it is no code."""
        place = self.text.place_of(position)
        index = int(np.searchsorted(self.text.place, place, side="right")) - 1
        return int(self.layout.number_at(np.array([index]))[0]) if index >= 0 else -1

    def successors(self, block: int) -> NDArray[np.int32]:
        """Where control goes from a block."""
        return self.targets[self.offsets[block] : self.offsets[block + 1]]

    def predecessors(self, block: int) -> NDArray[np.int32]:
        """From where control comes to a block."""
        offsets, sources = self.reversed
        return sources[offsets[block] : offsets[block + 1]]

    @cached_property
    def graph(self) -> Graph:
        """The blocks as a plain graph that all functions enter, for dominators and the like."""
        return Graph.of(self.offsets, self.targets, self.entry_blocks)

    @cached_property
    def sources(self) -> NDArray[np.int32]:
        """The source of each edge, int32[edges]."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.offsets))

    @cached_property
    def reversed(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Predecessors in compressed sparse rows: offsets and sources."""
        offsets, sources = compressed(self.targets, self.sources, len(self))
        return offsets.astype(np.int32), sources.astype(np.int32)

    def edges(self) -> Iterator[Edge]:
        """All edges, by source."""
        for source, target, kind in zip(
            self.sources.tolist(), self.targets.tolist(), self.kinds.tolist(), strict=True
        ):
            yield Edge(source, target, EdgeKind(kind))

    # ------------------------------------------------------------ functions
    @cached_property
    def entry_blocks(self) -> NDArray[np.int32]:
        """The first block of each function, int32[functions]."""
        return np.array([f.entry for f in self.functions], np.int32)

    def blocks_of(self, function: int) -> NDArray[np.intp]:
        """All blocks of a function, ascending; some may belong to others as well."""
        offsets, targets = self._within
        entry = np.array([self.functions[function].entry])
        return np.flatnonzero(reached(offsets, targets, entry))

    @cached_property
    def _within(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Edges that stay in the function."""
        inside = self.kinds != EdgeKind.TAIL_CALL
        return compressed(self.sources[inside], self.targets[inside], len(self))

    def callees_of(self, function: int) -> tuple[int, ...]:
        """The functions that a function calls or tail-calls, ascending."""
        mine = set(self.blocks_of(function).tolist())
        found = {callee for call in self.calls if call.block in mine for callee in call.callees}
        entries = {f.entry: f.number for f in self.functions}
        for edge in np.flatnonzero(self.kinds == EdgeKind.TAIL_CALL).tolist():
            if int(self.sources[edge]) in mine:
                found.add(entries[int(self.targets[edge])])
        return tuple(sorted(found))

    # ------------------------------------------------------------ what is odd
    @property
    def refused(self) -> tuple[ComputedTransfer, ...]:
        """Computed transfers of which nothing is proven."""
        return self.recovery.refused

    @cached_property
    def unreached(self) -> tuple[TextRange, ...]:
        """Code and data that nothing is known to reach, in order, neighbours joined."""
        found: list[TextRange] = []
        for number in np.flatnonzero(self.owner < 0).tolist():
            here = self.block(number).range
            if found and (found[-1].section, found[-1].end) == (here.section, here.start):
                here = TextRange(here.section, found.pop().start, here.end)
            found.append(here)
        return tuple(found)

    @cached_property
    def undecoded(self) -> tuple[TextRange, ...]:
        """Words that are no instruction though control reaches them: data in the text, or
        instructions that are not known."""
        odd = np.flatnonzero((self.layout.kinds == Transfer.UNKNOWN) & (self.owner >= 0))
        return tuple(self.block(number).range for number in odd.tolist())

    @cached_property
    def overlapping(self) -> tuple[tuple[TextPosition, TextPosition], ...]:
        """Direct transfers into the middle of an instruction: the transfer and where it goes.  The
        bytes there are read as two streams of instructions."""
        text = self.text
        odd = np.flatnonzero((text.target != NOWHERE) & (text.indices_at(text.target) < 0))
        found = []
        for index in odd.tolist():
            goal = text.position_of_place(int(text.target[index]))
            if goal is not None:
                found.append((text.position(index), goal))
        return tuple(found)


_CALLS: Final = (Transfer.CALL, Transfer.SWAP_PC)


def control_flow_graph(
    code_object: CodeObject, decode: Callable[[Section], Decoded]
) -> ControlFlowGraph:
    """The control-flow graph of an object.  `decode` gives the instructions of a section."""
    text = Text(code_object, decode)
    return control_flow_of(text, recover(text))


def control_flow_of(text: Text, recovery: Recovery) -> ControlFlowGraph:
    """The control-flow graph of a text whose computed transfers were looked at."""
    targets = {target for t in recovery.transfers for target in t.targets}
    direct = text.indices_at(text.target[text.kind == Transfer.CALL])
    heads = recovery.entries | targets | set(recovery.callees) | set(direct[direct >= 0].tolist())
    layout = Blocks(text, heads)
    named = _named_entries(text)
    functions = _functions(text, layout, recovery, named, direct[direct >= 0].tolist())
    sources, goals, kinds = _edges(layout, recovery, {f.entry for f in functions if f.name})
    offsets, order = compressed(sources, np.arange(len(sources)), len(layout))
    goals, kinds, sources = goals[order], kinds[order], sources[order]
    calls = _calls(text, layout, recovery, functions)
    owner = _owners(len(layout), sources, goals, kinds, functions, calls)
    return ControlFlowGraph(
        text,
        recovery,
        layout,
        offsets.astype(np.int32),
        goals.astype(np.int32),
        kinds.astype(np.int8),
        functions,
        owner,
        calls,
    )


_Named = dict[int, tuple[str, Literal["kernel", "function", "symbol", "relocation", "callee"]]]


def _named_entries(text: Text) -> _Named:
    """Name and kind of the object's entries, by instruction."""
    found: _Named = {}
    for entry in text.code_object.entries:
        index = text.index_at(text.place_of(TextPosition(entry.section_index, entry.offset)))
        if index >= 0:
            found.setdefault(index, (entry.name, entry.kind))
    for kernel in text.code_object.kernels:
        index = text.index_at(text.place_of(kernel.position))
        if index >= 0:
            found[index] = (kernel.name, "kernel")
    return found


def _functions(
    text: Text, layout: Blocks, recovery: Recovery, named: _Named, called: list[int]
) -> tuple[Function, ...]:
    heads = sorted(recovery.entries | set(named) | set(recovery.callees) | set(called))
    entries = layout.number_at(np.array(heads, np.intp)).tolist()
    found = []
    for number, (head, entry) in enumerate(zip(heads, entries, strict=True)):
        name, kind = named.get(head, ("", "callee"))
        found.append(Function(number, name, kind, entry, text.position(head)))
    return tuple(found)


def _edges(
    layout: Blocks, recovery: Recovery, entries: set[int]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Sources, targets and kinds of all edges: branches first, then what falls through."""
    numbers = np.arange(len(layout))
    goes, falls = layout.goes >= 0, layout.falls >= 0
    conditional = layout.kinds == Transfer.CONDITIONAL
    go_kinds = np.where(conditional, EdgeKind.TAKEN, EdgeKind.BRANCH)[goes]
    fall_kinds = np.where(
        np.isin(layout.kinds, _CALLS), EdgeKind.AFTER_CALL, EdgeKind.FALL_THROUGH
    )[falls]
    pairs = [
        (transfer.index, target)
        for transfer in recovery.transfers
        if transfer.kind == "branch"
        for target in transfer.targets
    ]
    computed = layout.number_at(np.array(pairs, np.intp).reshape(-1, 2))
    added = layout.kinds[computed[:, 0]] != Transfer.ADD_PC  # those are direct edges already
    computed = computed[added]
    sources = np.concatenate([numbers[goes], computed[:, 0], numbers[falls]])
    targets = np.concatenate([layout.goes[goes], computed[:, 1], layout.falls[falls]])
    kinds = np.concatenate([go_kinds, np.full(len(computed), EdgeKind.COMPUTED), fall_kinds])
    kinds[(kinds == EdgeKind.BRANCH) & (layout.kinds[sources] == Transfer.ADD_PC)] = (
        EdgeKind.COMPUTED
    )
    return sources, targets, _with_tail_calls(sources, targets, kinds, entries)


def _with_tail_calls(
    sources: NDArray[np.intp],
    targets: NDArray[np.intp],
    kinds: NDArray[np.intp],
    entries: set[int],
) -> NDArray[np.intp]:
    """A jump to a named entry from behind another one, or from before it, is a tail call."""
    ordered = np.array(sorted(entries), np.intp)
    if not len(ordered):
        return kinds
    jumps = kinds < EdgeKind.TAIL_CALL
    region = np.searchsorted(ordered, sources, side="right")
    other = np.searchsorted(ordered, targets, side="right") != region
    return np.where(jumps & other & np.isin(targets, ordered), EdgeKind.TAIL_CALL, kinds)


def _calls(
    text: Text, layout: Blocks, recovery: Recovery, functions: tuple[Function, ...]
) -> tuple[Call, ...]:
    number_of = {int(layout.starts[f.entry]): f.number for f in functions}
    goals = {t.index: t.targets for t in recovery.transfers if t.kind == "call"}
    found = []
    for block in np.flatnonzero(np.isin(layout.kinds, _CALLS)).tolist():
        call = int(layout.ends[block]) - 1
        targets = goals.get(call)
        if targets is None:
            target = text.index_at(int(text.target[call]))
            targets = (target,) if target >= 0 else ()
        found.append(Call(call, block, tuple(number_of[target] for target in targets)))
    return tuple(found)


def _owners(
    count: int,
    sources: NDArray[np.intp],
    targets: NDArray[np.intp],
    kinds: NDArray[np.intp],
    functions: tuple[Function, ...],
    calls: tuple[Call, ...],
) -> NDArray[np.int32]:
    """A function for each block that one reaches: outward from all entries at once, where those of
    the object come before what only reached calls go to."""
    inside = kinds != EdgeKind.TAIL_CALL
    offsets, goals = compressed(sources[inside], targets[inside], count)
    owner = np.full(count, -1, np.int32)
    pending = [f.number for f in functions if f.kind != "callee"] or [f.number for f in functions]
    started = set(pending)
    while pending:
        front = np.array([functions[number].entry for number in pending], np.intp)
        owner[front] = pending
        _spread(owner, front, offsets, goals)
        called = {c for call in calls if owner[call.block] >= 0 for c in call.callees}
        tails = targets[np.logical_not(inside) & (owner[sources] >= 0)]
        entries = {functions[number].entry: number for number in range(len(functions))}
        called |= {entries[block] for block in tails.tolist()}
        pending = sorted(called - started)
        started |= called
    return owner


def _spread(
    owner: NDArray[np.int32],
    front: NDArray[np.intp],
    offsets: NDArray[np.intp],
    targets: NDArray[np.intp],
) -> None:
    """Hand owners on along edges, to blocks that have none."""
    while len(front):
        counts = offsets[front + 1] - offsets[front]
        places = np.repeat(offsets[front] - np.append(0, np.cumsum(counts)[:-1]), counts)
        following = targets[places + np.arange(len(places))]
        givers = np.repeat(owner[front], counts)
        free = owner[following] < 0
        following, givers = following[free], givers[free]
        owner[following[::-1]] = givers[::-1]
        front = np.unique(following)
