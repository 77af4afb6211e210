# SPDX-License-Identifier: Apache-2.0
"""Register operands of an entry, read from many encodings at once.

What `postproc.isa.operands` does for one instruction, with a table lookup for each operand in
place of a Python call for each instruction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, final

import numpy as np

from postproc.isa.model import (
    BitRun,
    CodedField,
    ConstantOperand,
    Entry,
    OperandClass,
    OperandSpec,
    RegisterCode,
    WidthVariant,
)
from postproc.isa.printing.banks import bank_slot
from postproc_cfg.dataflow.partial_writes import MERGED_ROLES
from postproc_cfg.dataflow.registers import VECTOR, RegisterNumbers, register_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc.isa import Decoded, Isa

__all__ = ["CodeTable", "Encodings", "Layouts", "RegisterField", "code_table", "layouts"]


@final
class Encodings:
    """The bits of some instructions.  Bit positions count from the first dword's lowest bit."""

    def __init__(self, decoded: Decoded) -> None:
        whole = len(decoded.code) // 4
        words = np.frombuffer(decoded.code[: whole * 4], "<u4")
        self._words = np.concatenate([words, np.zeros(6, np.uint32)]).astype(np.uint64)
        self._at = decoded.offset.astype(np.intp) // 4

    def bits(self, instructions: NDArray[np.intp], low: int, length: int) -> NDArray[np.uint64]:
        """Up to 32 bits from `low` upwards of each instruction."""
        at = self._at[instructions] + (low >> 5)
        pair = self._words[at] | self._words[at + 1] << np.uint64(32)
        return pair >> np.uint64(low & 31) & np.uint64((1 << length) - 1)

    def field(self, instructions: NDArray[np.intp], runs: tuple[BitRun, ...]) -> NDArray[np.intp]:
        """The runs, joined from the lowest."""
        joined, shift = np.zeros(instructions.size, np.uint64), 0
        for run in runs:
            joined |= self.bits(instructions, run.low, run.length) << np.uint64(shift)
            shift += run.length
        return joined.astype(np.intp)


@final
@dataclass(frozen=True, eq=False)
class CodeTable:
    """What each code of an operand class names; arrays have one item a code.

    start   int32, register number; -1: no register
    end     int32, the number behind the last one of its file
    width   int16, dwords where the code decides that, else -1
    vector  bool, a vector register, to which banks apply
    whole   bool, all 32 bits of the register, not a half
    """

    start: NDArray[np.int32]
    end: NDArray[np.int32]
    width: NDArray[np.int16]
    vector: NDArray[np.bool_]
    whole: NDArray[np.bool_]


def code_table(codes: OperandClass, numbers: RegisterNumbers) -> CodeTable:
    ends = {"s": VECTOR, "v": numbers.accumulator, "a": numbers.count, "-": 0}
    starts, widths, vectors, wholes, file_ends = [], [], [], [], []
    for code in codes:
        register = code if isinstance(code, RegisterCode) else None
        starts.append(-1 if register is None else _start(register, numbers))
        file_ends.append(0 if register is None else ends[register.file])
        widths.append(-1 if register is None or register.width is None else register.width)
        vectors.append(register is not None and register.file == "v")
        wholes.append(register is not None and register.half == 0)
    return CodeTable(
        np.array(starts, np.int32),
        np.array(file_ends, np.int32),
        np.array(widths, np.int16),
        np.array(vectors, np.bool_),
        np.array(wholes, np.bool_),
    )


def _start(register: RegisterCode, numbers: RegisterNumbers) -> int:
    if register.file == "-" or (register.file == "s" and register.index == numbers.null):
        return -1
    base = {"s": 0, "v": VECTOR, "a": numbers.accumulator}[register.file]
    return base + register.index


@final
@dataclass(frozen=True, eq=False)
class RegisterField:
    """An operand of an entry that may name a register.

    `slot` is the bank slot of `postproc.isa.printing.banks`, None: always bank 0.
    """

    role: str
    is_def: bool
    is_merged: bool
    """A def of which some bits or lanes stay as they were."""
    runs: tuple[BitRun, ...]
    table: CodeTable
    width: int
    variants: tuple[WidthVariant, ...]
    slot: int | None

    def read(
        self, encodings: Encodings, instructions: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Code and width in dwords (0: no register) in each instruction."""
        code = encodings.field(instructions, self.runs)
        width = self.table.width[code].astype(np.intp)
        width[width < 0] = max(self.width, 1)
        for variant in self.variants:
            width = _varied(variant, encodings, instructions, width)
        width[self.table.start[code] < 0] = 0
        return code, width


def _varied(
    variant: WidthVariant,
    encodings: Encodings,
    instructions: NDArray[np.intp],
    width: NDArray[np.intp],
) -> NDArray[np.intp]:
    runs = tuple(BitRun(bit, 1) for bit in variant.bits)
    widths = np.array([-1 if w is None else w for w in variant.widths], np.intp)
    chosen = widths[encodings.field(instructions, runs)]
    return np.where(chosen < 0, width, chosen)


_CONSTANT: tuple[BitRun, ...] = ()
"""No bits: the field is always 0."""


@final
class Layouts:
    """The register operands of the entries of an instruction set; get it with `layouts`."""

    def __init__(self, isa: Isa) -> None:
        self._isa = isa
        self._numbers = register_numbers(isa)
        self._tables: dict[int, CodeTable] = {}
        self._fields: dict[int, tuple[RegisterField, ...]] = {}

    def __getitem__(self, number: int) -> tuple[RegisterField, ...]:
        """The register operands of an entry."""
        found = self._fields.get(number)
        if found is None:
            found = self._fields[number] = tuple(self._made(self._isa.entry(number)))
        return found

    def _made(self, entry: Entry) -> Iterator[RegisterField]:
        merged = {spec.tied for spec in entry.operands if spec.role in MERGED_ROLES}
        for index, spec in enumerate(entry.operands):
            coding = self._coding(spec)
            if coding is None or (coding[1].start < 0).all():
                continue
            yield RegisterField(
                spec.role,
                spec.is_def,
                spec.is_def and index in merged,
                *coding,
                tuple(v for v in entry.width_variants if v.role == spec.role),
                bank_slot(entry, spec.role) if self._numbers.banks > 1 else None,
            )

    def _coding(self, spec: OperandSpec) -> tuple[tuple[BitRun, ...], CodeTable, int] | None:
        source = spec.source
        if isinstance(source, ConstantOperand) and isinstance(source.code, RegisterCode):
            return _CONSTANT, code_table((source.code,), self._numbers), source.code.width or 0
        if not isinstance(source, CodedField):
            return None
        table = self._tables.get(source.class_id)
        if table is None:
            table = code_table(self._isa.operand_class(source.class_id), self._numbers)
            self._tables[source.class_id] = table
        return source.runs, table, source.width


@lru_cache(maxsize=64)
def layouts(isa: Isa) -> Layouts:
    return Layouts(isa)
