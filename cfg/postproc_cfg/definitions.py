# SPDX-License-Identifier: Apache-2.0
"""Which scalar registers each instruction may write, for a whole text at once.

A set of registers is an integer: bit `n` for the scalar register with hardware code `n` (SGPRs,
VCC, TTMP, M0, EXEC), bit `SCC` for SCC, and above it one bit for each *lane slot*, a lane of a
vector register in which some `v_writelane_b32` of the text keeps a scalar, or a whole vector
register from which `v_readfirstlane_b32` takes an address (lane `WHOLE`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, final

import numpy as np

from postproc.isa import Isa
from postproc.isa.model import CodedField, ConstantOperand, OperandSpec, RegisterCode
from postproc_cfg.vocabulary import Transfer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc_cfg.text import Stretch, Text

__all__ = ["ALL_SCALARS", "SCC", "WHOLE", "Definitions", "LaneSlots"]

SCC: Final = 128
FIRST_LANE_SLOT: Final = 129
WHOLE: Final = -1
"""The lane of a slot that stands for any lane of its register."""
ALL_SCALARS: Final = (1 << FIRST_LANE_SLOT) - 1

_IMPLICIT: Final = {
    "SCC": (SCC, 1),
    "VCC": (106, 2),
    "VCC_LO": (106, 1),
    "VCC_HI": (107, 1),
    "M0": (124, 2),
    "EXEC": (126, 2),
    "EXEC_LO": (126, 1),
    "EXEC_HI": (127, 1),
}
"""First register and number of registers of what an instruction writes without naming it.  M0 has
code 124 or 125, by target."""

_ANY_SCALAR: Final = ("s_movreld_*", "s_movrelsd_*", "s_set_gpr_idx_*")
"""These write a scalar register, or make others write one, that M0 or a mode selects."""

_ANY_VECTOR: Final = (
    "v_movreld_*",
    "v_movrelsd_*",
    "v_swaprel_*",
    "s_set_gpr_idx_*",
    "s_set_vgpr_msb",
)
"""Where one of these is, the number in an encoding does not tell which vector register is
written; no lane slot is followed then."""


@final
@dataclass(frozen=True, slots=True)
class LaneSlots:
    """The lane slots of a text: the bit of each (vector register, lane)."""

    bits: dict[tuple[int, int], int]

    def of_register(self, register: int) -> int:
        """The set of all slots in a vector register."""
        found = 0
        for (holder, _), bit in self.bits.items():
            if holder == register:
                found |= 1 << bit
        return found

    @property
    def all(self) -> int:
        """The set of all slots."""
        return sum(1 << bit for bit in self.bits.values())

    @property
    def registers(self) -> frozenset[int]:
        """The vector registers that hold slots."""
        return frozenset(register for register, _ in self.bits)


@final
class Definitions:
    """What each instruction of a text writes.

    `writers` are the instructions that write anything, ascending; `masks` the sets they write.
    """

    def __init__(self, text: Text, *, whole_vectors: bool = False) -> None:
        """`whole_vectors`: follow addresses through vector registers, too.  That is sound where the
        lanes that read one are among those that wrote it, as in what compilers make."""
        self.slots = _lane_slots(text, whole_vectors=whole_vectors)
        rows: list[NDArray[np.intp]] = []
        registers: list[NDArray[np.int64]] = []
        widths: list[NDArray[np.int64]] = []
        found: dict[int, int] = {}
        for stretch in text.stretches:
            for at, register, width in _scalar_writes(stretch):
                rows.append(at)
                registers.append(register)
                widths.append(width)
            _mark_any_scalar(stretch, found)
            if self.slots.bits:
                _mark_lane_slots(stretch, self.slots, found)
        if rows:
            _gather(np.concatenate(rows), np.concatenate(registers), np.concatenate(widths), found)
        for index in np.flatnonzero(text.kind == Transfer.UNKNOWN).tolist():
            found[index] = ALL_SCALARS | self.slots.all
        self.masks = found
        self.writers = np.array(sorted(found), np.intp)

    def between(self, first: int, end: int) -> int:
        """Everything that the instructions `first` up to, not including, `end` write."""
        low, high = np.searchsorted(self.writers, (first, end))
        total = 0
        for index in self.writers[low:high].tolist():
            total |= self.masks[index]
        return total

    def writers_between(self, first: int, end: int) -> list[int]:
        """The instructions from `first` on and before `end` that write anything, ascending."""
        low, high = np.searchsorted(self.writers, (first, end))
        found: list[int] = self.writers[low:high].tolist()
        return found


def _gather(
    rows: NDArray[np.intp],
    registers: NDArray[np.int64],
    widths: NDArray[np.int64],
    found: dict[int, int],
) -> None:
    get = found.get
    for row, register, width in zip(
        rows.tolist(), registers.tolist(), widths.tolist(), strict=True
    ):
        found[row] = get(row, 0) | ((1 << width) - 1) << register


def _mark_any_scalar(stretch: Stretch, found: dict[int, int]) -> None:
    decoded = stretch.decoded
    for index in decoded.where(decoded.isa.match(*_ANY_SCALAR)).tolist():
        found[stretch.first + index] = ALL_SCALARS


def _scalar_writes(
    stretch: Stretch,
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.int64]]]:
    """Instructions, first registers, and numbers of registers, an operand after the other."""
    for opcode, rows in _by_opcode(stretch):
        columns, implicit = _written_scalars(stretch.decoded.isa, opcode)
        for spec, lookup, width in columns:
            registers = lookup[_field(stretch, rows, spec)]
            real = registers >= 0
            at = rows[real]
            yield stretch.first + at, registers[real], np.full(len(at), width, np.int64)
        for register, width in implicit:
            count = len(rows)
            yield (
                stretch.first + rows,
                np.full(count, register, np.int64),
                np.full(count, width, np.int64),
            )


def _by_opcode(stretch: Stretch) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """The instructions of each entry that occurs, `unknown` apart."""
    opcode = stretch.decoded.opcode
    order = np.argsort(opcode, kind="stable")
    ordered = opcode[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(order)], strict=True):
        number = int(ordered[start])
        if number != Isa.UNKNOWN:
            yield number, order[start:end]


_Column = tuple[CodedField, "NDArray[np.int64]", int]


@cache
def _written_scalars(
    isa: Isa, opcode: int
) -> tuple[tuple[_Column, ...], tuple[tuple[int, int], ...]]:
    """Fields with the scalar register of each value (-1: none) and widths; and what is written
    without a field."""
    entry = isa.entry(opcode)
    fixed = [_IMPLICIT[name] for name in entry.implicit_defs if name in _IMPLICIT]
    columns: list[_Column] = []
    for spec in _definitions(entry.operands):
        source = spec.source
        if isinstance(source, CodedField):
            lookup = _lookup(isa, source.class_id, "s")
            if (lookup >= 0).any():
                columns.append((source, lookup, max(source.width, 1)))
        elif isinstance(source, ConstantOperand) and isinstance(source.code, RegisterCode):
            code = source.code
            if code.file == "s":
                fixed.append((code.index, code.width or 2))
    return tuple(columns), tuple(fixed)


def _definitions(operands: Iterable[OperandSpec]) -> Iterator[OperandSpec]:
    return (spec for spec in operands if spec.is_def)


@cache
def _lookup(isa: Isa, class_id: int, file: str) -> NDArray[np.int64]:
    """The register of file `file` that each value of a field names; -1 for none."""
    return np.array(
        [
            code.index if isinstance(code, RegisterCode) and code.file == file else -1
            for code in isa.operand_class(class_id)
        ],
        np.int64,
    )


def _field(stretch: Stretch, rows: NDArray[np.intp], source: CodedField) -> NDArray[np.int64]:
    """The value of a field in some instructions of a section."""
    decoded = stretch.decoded
    count = len(decoded.code) // 4
    dwords = np.frombuffer(decoded.code[: 4 * count], np.dtype("<u4"))
    start = decoded.offset[rows].astype(np.int64) // 4
    value = np.zeros(len(rows), np.int64)
    shift = 0
    for run in source.runs:
        for bit, length in _within_dwords(run.low, run.length):
            part = dwords[start + bit // 32].astype(np.int64) >> bit % 32 & (1 << length) - 1
            value |= part << shift
            shift += length
    return value


def _within_dwords(low: int, length: int) -> Iterator[tuple[int, int]]:
    """A run of bits, cut at the boundaries of dwords."""
    while length:
        part = min(length, 32 - low % 32)
        yield low, part
        low, length = low + part, length - part


# ---------------------------------------------------------------- lane slots
def _lane_slots(text: Text, *, whole_vectors: bool) -> LaneSlots:
    """The lanes that `v_writelane_b32` of the text writes by a constant number, and the registers
    from which transfers take addresses by `v_readfirstlane_b32`."""
    bits: dict[tuple[int, int], int] = {}
    for stretch in text.stretches:
        decoded = stretch.decoded
        if len(decoded.where(decoded.isa.match(*_ANY_VECTOR))):
            return LaneSlots({})
        for index in decoded.where(decoded.isa.match("v_writelane_b32")).tolist():
            slot = written_slot(text, stretch.first + index)
            if slot is not None:
                bits.setdefault(slot, FIRST_LANE_SLOT + len(bits))
    for register in sorted(_address_vectors(text)) if whole_vectors else ():
        bits[register, WHOLE] = FIRST_LANE_SLOT + len(bits)
    return LaneSlots(bits)


def _address_vectors(text: Text) -> set[int]:
    """Vector registers of which `v_readfirstlane_b32` moves a lane into a pair that a transfer
    reads."""
    computed = (text.kind == Transfer.SET_PC) | (text.kind == Transfer.SWAP_PC)
    low = set((text.word[computed] & np.uint32(0xFF)).tolist())
    pairs = low | {register + 1 for register in low}
    found: set[int] = set()
    for stretch in text.stretches:
        decoded = stretch.decoded
        for index in decoded.where(decoded.isa.match("v_readfirstlane_b32")).tolist():
            target, source = (value.register for value in decoded[index].values[:2])
            if target is not None and source is not None and target.index in pairs:
                found |= {source.index} if source.file == "v" else set()
    return found


def written_slot(text: Text, index: int) -> tuple[int, int] | None:
    """The (vector register, lane) of a `v_writelane_b32`; None if the lane is in a register."""
    values = text.instruction(index).values
    holder, lane = values[0], values[2]
    if holder.register is None or lane.kind != "imm":
        return None
    return holder.register.index, lane.value & 63


def _mark_lane_slots(stretch: Stretch, slots: LaneSlots, found: dict[int, int]) -> None:
    """What is written over in vector registers that hold slots."""
    sets = {register: slots.of_register(register) for register in slots.registers}
    for opcode, rows in _by_opcode(stretch):
        for spec, lookup, width in _written_vectors(stretch.decoded.isa, opcode):
            first = lookup[_field(stretch, rows, spec)]
            for register, members in sets.items():
                hit = (first >= 0) & (first <= register) & (register < first + width)
                for index in (stretch.first + rows[hit]).tolist():
                    found[index] = found.get(index, 0) | members


@cache
def _written_vectors(isa: Isa, opcode: int) -> tuple[_Column, ...]:
    entry = isa.entry(opcode)
    found: list[_Column] = []
    for spec in _definitions(entry.operands):
        source = spec.source
        if isinstance(source, CodedField):
            lookup = _lookup(isa, source.class_id, "v")
            variants = [w or 0 for v in entry.width_variants if v.role == spec.role
                        for w in v.widths]  # fmt: skip
            if (lookup >= 0).any():
                found.append((source, lookup, max([source.width, 1, *variants])))
    return tuple(found)
