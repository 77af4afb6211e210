# SPDX-License-Identifier: Apache-2.0
"""Distance between an integer WMMA and what depends on it.

A0 needs 8 vector slots where B0 needs 4 (9 before another WMMA that reads the result as A or B).
Nothing is inserted here: the distance is proven on every path, or the site is refused.  LLVM 22
leaves 8 slots anyway (`post-RA-hazard-rec`, measured).

Dependent are
  1. a vector instruction that reads or writes D, or writes A or B (the index of SWMMAC as well),
  2. a matrix instruction that reads D as A, B, scale or index.  As C it needs no distance,
  3. a vector instruction whose registers M0 selects (`v_movrel*`): it may be either.
A slot is a vector instruction that is no matrix instruction.  Registers are compared modulo 256:
the bank mode is not known here, and equal low bits count as the same register.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from postproc.errors import Refusal
from postproc.isa import Flag

if TYPE_CHECKING:
    from collections.abc import Iterable

    from postproc.isa import Instruction
    from postproc_hotswap.defects import Defect
    from postproc_hotswap.text import Finding, Text

__all__ = ["treat"]

_VECTOR_SLOTS: Final = 8
_MATRIX_SLOTS: Final = 9
"""LLVM 22.1.8, number of v_nop that the hazard recognizer inserts for v_wmma_i32_16x16x64_iu8."""

_BANK: Final = 256
_SELECTED_BY_M0: Final = "v_movrel"


@final
@dataclass(frozen=True, slots=True)
class _Producer:
    """Low bytes of the registers of an integer WMMA."""

    result: frozenset[int]
    inputs: frozenset[int]


def treat(text: Text, index: int, defect: Defect) -> Iterable[Finding]:
    """Preserve the site with the proof, or refuse it."""
    problem = _too_near(text, index)
    if problem is None:
        yield text.preserve(
            index, defect.rule, f"nothing depends on it within {_VECTOR_SLOTS} slots"
        )
    else:
        yield text.refuse(index, defect.rule, f"{defect.reason}; {problem}")


def _too_near(text: Text, index: int) -> Refusal | None:
    """Why the distance is not proven; None if it is."""
    instruction = text.decoded[index]
    producer = _Producer(
        _registers(instruction, ("vdst",)), _registers(instruction, ("src0", "src1", "src2"))
    )
    fewest: dict[int, int] = {}
    work = [(index + 1, 0)]
    while work:
        at, slots = work.pop()
        if slots >= _MATRIX_SLOTS or fewest.get(at, _MATRIX_SLOTS) <= slots:
            continue
        fewest[at] = slots
        after = _step(text, at, slots, producer)
        if isinstance(after, Refusal):
            return after
        work += after
    return None


def _step(text: Text, at: int, slots: int, producer: _Producer) -> list[tuple[int, int]] | Refusal:
    """Where control goes from instruction `at`, with the slots it has passed by then."""
    if at >= len(text.decoded):
        return Refusal("the text ends before the distance is kept")
    instruction = text.decoded[at]
    flags, place = instruction.flags, f"{instruction.mnemonic} at 0x{instruction.offset:x}"
    if flags & Flag.END:
        return []
    if instruction.is_unknown or flags & (Flag.CALL | Flag.INDIRECT | Flag.TRAP):
        return Refusal(f"{place} ends what can be seen after {slots} slots")
    if flags & Flag.VALU:
        matrix = bool(flags & Flag.MATRIX)
        needed = _MATRIX_SLOTS if matrix else _VECTOR_SLOTS
        if slots < needed and instruction.mnemonic.startswith(_SELECTED_BY_M0):
            return Refusal(f"{place} may depend on it after {slots} slots")
        if slots < needed and _depends(instruction, producer, matrix):
            return Refusal(f"{place} depends on it after {slots} slots")
        slots += not matrix
    successors = []
    if flags & Flag.BRANCH:
        target = instruction.branch_offset
        try:
            successors.append((text.decoded.index_at(-1 if target is None else target), slots))
        except (ValueError, OverflowError):
            return Refusal(f"{place} goes to no instruction")
    if bool(text.lines.falls[at]):
        successors.append((at + 1, slots))
    return successors


def _depends(instruction: Instruction, producer: _Producer, matrix: bool) -> bool:
    if matrix:
        return bool(_registers(instruction, _read_at_once(instruction)) & producer.result)
    written = _vector(instruction.defs)
    read = _vector(instruction.uses)
    return bool(written & (producer.result | producer.inputs) or read & producer.result)


def _read_at_once(instruction: Instruction) -> tuple[str, ...]:
    """Operands of a matrix instruction that are read before C is: src2 is C of a WMMA, and the
    index of a SWMMAC, whose C is tied to D."""
    index = ("src2",) if instruction.mnemonic.startswith("v_swmmac") else ()
    return ("src0", "src1", "scale_src0", "scale_src1", *index)


def _vector(names: tuple[str, ...]) -> frozenset[int]:
    return frozenset(
        int(name[1:]) % _BANK for name in names if name[0] == "v" and name[1:].isdigit()
    )


def _registers(instruction: Instruction, roles: tuple[str, ...]) -> frozenset[int]:
    """Low bytes of the vector registers that the operands of these roles name."""
    return frozenset(
        (value.register.index + i) % _BANK
        for value in instruction.values
        if value.spec.role in roles and value.register is not None and value.register.file == "v"
        for i in range(value.width)
    )
