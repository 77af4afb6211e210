# SPDX-License-Identifier: Apache-2.0
"""Straight lines: an approximation of dominance that needs no graph.

A *straight line* is a longest run of instructions such that control enters it only at the first
one.  It may be left anywhere (a conditional branch does not end it).  So, for instructions p before
q of one straight line,

    every path that executes q has executed p since it last entered the line,

which is dominance restricted to one line: what dominates q from an earlier block is not seen.  A
proof that uses lines therefore finds too little, never too much.

A line begins at
  1. an entry of the code object (kernel, function, global label, address stored by a relocation),
  2. the target of a direct branch or call, and of a computed one that a fact resolves,
  3. the instruction after a call (the callee ran in between), after an instruction that does not
     fall through, and after an undecodable word; such a word is a line of its own.

All of this rests on the targets being known.  `TextFlow.unresolved` lists the computed transfers
whose targets nobody proved; while there is one, control may arrive anywhere and no line proves
anything.  By the calling convention (AMDGPUUsage, "Non-Kernel Functions") a call that links in
s[30:31] goes to an entry of the object, and a jump to s[30:31] returns behind a call; the latter
is not believed of an object that computes an address from the program counter in s[30:31].
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, final

import numpy as np

from postproc.codeobject import TextPosition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc.codeobject import Section
    from postproc.isa import Decoded, Instruction
    from postproc.passes import ObjectView

__all__ = ["StraightLines", "TextFlow", "constant_jump", "text_flow"]

_JUMPS: Final = ("s_branch",)
_DIRECT: Final = ("s_branch", "s_cbranch_*", "s_call_b64", "s_call_i64", "s_subvector_loop_*")
"""The target is simm16 (bits [15:0] of the encoding) dwords from the next instruction."""

_CALLS: Final = ("s_call_b64", "s_call_i64", "s_swappc_b64", "s_swap_pc_i64")
_COMPUTED_CALLS: Final = ("s_swappc_b64", "s_swap_pc_i64")
_RETURNS: Final = ("s_setpc_b64", "s_set_pc_i64")
"""Return from a function if their source is the link register."""

_COMPUTED_JUMPS: Final = (*_RETURNS, "s_rfe_b64", "s_rfe_i64")
_PROGRAM_COUNTER: Final = ("s_getpc_b64", "s_get_pc_i64")
_RELATIVE_JUMPS: Final = ("s_add_pc_i64",)
_ENDS: Final = ("s_endpgm*", "s_code_end")

_LINK_REGISTER: Final = 30
"""s[30:31]: the return address of a function."""


@final
@dataclass(frozen=True, eq=False)
class StraightLines:
    """The straight lines of one section.  Arrays have one item an instruction.

    first    intp, number of the instruction that begins the line
    enters   bool, control may arrive here from elsewhere than the instruction before (1., 2.)
    falls    bool, control goes on from here to the next instruction
    """

    first: NDArray[np.intp]
    enters: NDArray[np.bool_]
    falls: NDArray[np.bool_]

    def latest(self, marked: NDArray[np.bool_]) -> NDArray[np.intp]:
        """For each instruction, the number of the last marked one before it in its line, else -1.

        `marked` has one item an instruction.
        """
        count = len(marked)
        last = np.full(count, -1, np.intp)
        seen = np.maximum.accumulate(np.where(marked, np.arange(count), -1))
        last[1:] = seen[:-1]
        last[last < self.first] = -1
        return last

    @cached_property
    def stretch(self) -> NDArray[np.intp]:
        """For each instruction, the first of those that fall through to it, one after another."""
        begins = np.ones(len(self.falls), bool)
        begins[1:] = np.logical_not(self.falls[:-1])
        return np.maximum.accumulate(np.where(begins, np.arange(len(begins)), 0))

    @cached_property
    def reached(self) -> NDArray[np.bool_]:
        """For each instruction, whether control enters at it or earlier in its stretch.

        What is not reached is data, padding, dead, or the target of an unresolved transfer.  Where
        nothing at all enters a section, its beginning does.
        """
        enters = self.enters.copy()
        enters[:1] |= not enters.any()
        last = np.maximum.accumulate(np.where(enters, np.arange(len(enters)), -1))
        found: NDArray[np.bool_] = last >= self.stretch
        return found


@final
@dataclass(frozen=True, eq=False)
class TextFlow:
    """Straight lines of all executable sections by section index, and what is not known.

    `unresolved` are computed transfers of unknown target; `torn` are places inside an instruction
    of the decoded text where control arrives nevertheless.  Both are in order.
    """

    lines: dict[int, StraightLines]
    unresolved: tuple[TextPosition, ...]
    torn: tuple[TextPosition, ...]


def text_flow(view: ObjectView) -> TextFlow:
    """The flow of a code object; ask for it by `view.analysis(text_flow)`."""
    arrivals: dict[int, list[int]] = {s.index: [] for s in view.code_object.executable_sections}
    for entry in view.code_object.entries:
        arrivals.setdefault(entry.section_index, []).append(entry.offset)
    for fact in view.facts:
        for target in fact.targets:
            arrivals.setdefault(target.section, []).append(target.offset)
    resolved = {fact.position for fact in view.facts}
    unresolved: list[TextPosition] = []
    sections = view.code_object.executable_sections
    link_is_computed = any(_computes_link(view.decoded(section)) for section in sections)
    for section in sections:
        decoded = view.decoded(section)
        for target in _direct_targets(view, section):
            arrivals[target.section].append(target.offset)
        for offset, goal in _computed(decoded, link_is_computed):
            position = TextPosition(section.index, offset)
            if goal is not None and 0 <= goal < section.size:
                arrivals[section.index].append(goal)
            elif position not in resolved:
                unresolved.append(position)
    lines, torn = {}, []
    for section in sections:
        at = np.unique(np.array(arrivals[section.index], np.int64))
        lines[section.index], inside = _lines(view.decoded(section), at)
        torn += [TextPosition(section.index, offset) for offset in inside]
    return TextFlow(lines, tuple(unresolved), tuple(torn))


def constant_jump(instruction: Instruction) -> int | None:
    """Bytes from the next instruction to the target of an `s_add_pc_i64` by a constant.

    None if it adds a register.  A 32-bit literal of an i64 operand is sign-extended (LLVM,
    SIInstrInfo, OPERAND_REG_IMM_INT64).
    """
    source = next(v for v in instruction.values if not v.spec.is_def)
    if source.kind == "reg":
        return None
    bits = 8 * source.literal_bytes if source.kind == "literal" else 64
    return (source.value & ((1 << bits) - 1) ^ 1 << bits - 1) - (1 << bits - 1)


def _words(decoded: Decoded, indices: NDArray[np.intp]) -> NDArray[np.uint32]:
    """The first dword of the instructions `indices`."""
    whole = len(decoded.code) // 4 * 4
    text = np.frombuffer(decoded.code[:whole], np.dtype("<u4"))
    return text[decoded.offset[indices] // 4]


def _direct_targets(view: ObjectView, section: Section) -> Iterable[TextPosition]:
    """Where direct branches and calls of `section` go, also in other executable sections."""
    decoded = view.decoded(section)
    indices = decoded.where(decoded.isa.match(*_DIRECT))
    distance = (_words(decoded, indices) & np.uint32(0xFFFF)).astype(np.uint16).view(np.int16)
    targets = decoded.offset[indices].astype(np.int64) + 4 + 4 * distance.astype(np.int64)
    inside = (targets >= 0) & (targets < len(decoded.code))
    for offset in np.unique(targets[inside]).tolist():
        yield TextPosition(section.index, offset)
    for offset in np.unique(targets[np.logical_not(inside)]).tolist():
        elsewhere = view.code_object.position_of(section.address + offset)
        if elsewhere is not None:
            yield elsewhere


def _computes_link(decoded: Decoded) -> bool:
    """Whether the program counter is read into the link register."""
    reads = decoded.where(decoded.isa.match(*_PROGRAM_COUNTER))
    return bool((_destination(decoded, reads) == _LINK_REGISTER).any())


def _destination(decoded: Decoded, indices: NDArray[np.intp]) -> NDArray[np.uint32]:
    """The field SDST of instructions of the format SOP1."""
    return _words(decoded, indices) >> np.uint32(16) & np.uint32(0x7F)


def _computed(decoded: Decoded, link_is_computed: bool) -> Iterable[tuple[int, int | None]]:
    """(offset, target) of the computed transfers that neither call by the convention nor return;
    the target is None where the encoding does not give it."""
    isa = decoded.isa
    calls = decoded.where(isa.match(*_COMPUTED_CALLS))
    jumps = decoded.where(isa.match(*_COMPUTED_JUMPS))
    returns = _marked(decoded, _RETURNS)[jumps] & np.logical_not(link_is_computed)
    returns &= _words(decoded, jumps) & np.uint32(0xFF) == _LINK_REGISTER
    unknown = calls[_destination(decoded, calls) != _LINK_REGISTER], jumps[np.logical_not(returns)]
    for index in np.concatenate(unknown).tolist():
        yield int(decoded.offset[index]), None
    for index in decoded.where(isa.match(*_RELATIVE_JUMPS)).tolist():
        instruction = decoded[index]
        distance = constant_jump(instruction)
        end = instruction.offset + instruction.size
        yield instruction.offset, None if distance is None else end + distance


def _lines(decoded: Decoded, arrivals: NDArray[np.int64]) -> tuple[StraightLines, list[int]]:
    """The lines of a section, and the arrivals that lie inside an instruction."""
    count = len(decoded)
    at = np.searchsorted(decoded.offset, arrivals)
    exact = at < count
    exact[exact] = decoded.offset[at[exact]] == arrivals[exact]
    enters = np.zeros(count, bool)
    enters[at[exact]] = True
    falls = np.logical_not(_marked(decoded, _ENDS, _JUMPS, _COMPUTED_JUMPS))
    falls &= np.logical_not(_marked(decoded, _RELATIVE_JUMPS))
    unknown = decoded.opcode == decoded.isa.UNKNOWN
    begins = enters | unknown
    if count:
        behind = np.logical_not(falls) | unknown | _marked(decoded, _CALLS)
        begins[0] = True
        begins[1:] |= behind[:-1]
    first = np.maximum.accumulate(np.where(begins, np.arange(count), 0))
    return StraightLines(first, enters, falls), arrivals[np.logical_not(exact)].tolist()


def _marked(decoded: Decoded, *groups: tuple[str, ...]) -> NDArray[np.bool_]:
    """Which instructions have one of the mnemonics."""
    marked = np.zeros(len(decoded), bool)
    names = [name for group in groups for name in group]
    marked[decoded.where(decoded.isa.match(*names))] = True
    return marked
