# SPDX-License-Identifier: Apache-2.0
"""Which registers each instruction of a text reads and writes, as sets.

Instructions are taken entry by entry: what an entry's operands are is looked up once, and then read
from all its encodings together.  For whole 32-bit registers and known banks

    defs = Instruction.defs,  uses = Instruction.uses,  as numbers of `RegisterNumbers`.

On gfx1250 an operand names a vector register of the bank that the mode selects.  Where the mode is
not known, it counts as the registers of all banks, and none of them as wholly written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np

from postproc.isa import Flag
from postproc.isa.registers import implicit_registers
from postproc_cfg.dataflow.fields import Encodings, RegisterField, layouts
from postproc_cfg.dataflow.partial_writes import keep_part, keep_part_of_vectors
from postproc_cfg.dataflow.registers import FILE_SIZE, VECTOR, RegisterNumbers, register_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc.isa import Decoded
    from postproc_cfg.dataflow.bank_mode import BankModes

__all__ = ["RegisterSets", "register_sets"]

_RELATIVE: Final = ("s_movrel*", "v_movrel*", "v_swaprel*")
"""M0 says which register is meant."""

_INDEX_MODE: Final = ("s_set_gpr_idx_on", "s_set_gpr_idx_mode")
"""From there on M0 moves the vector operands of VALU instructions (GFX8, GFX9)."""


@final
@dataclass(frozen=True, eq=False)
class RegisterSets:
    """Sets of registers; row k is about instruction number instructions[k].

    defs       uint64[i, w], written, wholly or in part
    full_defs  uint64[i, w], those of `defs` of which nothing is kept, in lanes that EXEC selects
    uses       uint64[i, w], read
    opaque     bool[i], instructions that may touch registers they do not name: relative ones,
               tuples that run over the last register, undecodable words
    """

    numbers: RegisterNumbers
    instructions: NDArray[np.intp]
    defs: NDArray[np.uint64]
    full_defs: NDArray[np.uint64]
    uses: NDArray[np.uint64]
    opaque: NDArray[np.bool_]


def register_sets(
    decoded: Decoded,
    instructions: NDArray[np.intp] | None = None,
    modes: BankModes | None = None,
) -> RegisterSets:
    """The registers of some instructions, by default of all.

    `modes` is about the whole text, and is needed where registers have banks; without it no bank
    is known.  Effects of callees are not in the sets of calls.
    """
    chosen = np.arange(len(decoded)) if instructions is None else instructions
    numbers = register_numbers(decoded.isa)
    rows = _Rows(numbers, chosen.size)
    if chosen.size:
        _Extraction(decoded, chosen, rows, modes).run()
    opaque = rows.overrun | _opaque(decoded, chosen)
    return RegisterSets(numbers, chosen, rows.defs, rows.full_defs, rows.uses, opaque)


def _opaque(decoded: Decoded, chosen: NDArray[np.intp]) -> NDArray[np.bool_]:
    isa = decoded.isa
    opaque = np.zeros(len(decoded), np.bool_)
    opaque[decoded.unknown] = True
    opaque[decoded.where(isa.match(*_RELATIVE))] = True
    if decoded.where(isa.match(*_INDEX_MODE)).size:
        opaque |= decoded.flags & np.uint32(Flag.VALU) != 0
    return opaque[chosen]


@final
class _Rows:
    """The sets under construction."""

    def __init__(self, numbers: RegisterNumbers, count: int) -> None:
        self.numbers = numbers
        shape = (count, numbers.words)
        self.defs, self.full_defs, self.uses = (np.zeros(shape, np.uint64) for _ in range(3))
        self.overrun = np.zeros(count, np.bool_)

    def add(
        self,
        target: NDArray[np.uint64],
        rows: NDArray[np.intp],
        start: NDArray[np.intp],
        end: NDArray[np.intp],
    ) -> None:
        """Add start .. end-1, less than 64 numbers, to each row; rows are distinct."""
        count = np.maximum(end - start, 0).astype(np.uint64)
        word, shift = start >> 6, (start & 63).astype(np.uint64)
        mask = (np.uint64(1) << count) - np.uint64(1)
        target[rows, word] |= mask << shift
        over = np.flatnonzero(shift + count > 64)
        target[rows[over], word[over] + 1] |= mask[over] >> (np.uint64(64) - shift[over])


@final
@dataclass
class _Extraction:
    decoded: Decoded
    chosen: NDArray[np.intp]
    rows: _Rows
    modes: BankModes | None

    def run(self) -> None:
        encodings = Encodings(self.decoded)
        opcode = self.decoded.opcode[self.chosen]
        order = np.argsort(opcode, kind="stable")
        distinct, first = np.unique(opcode[order], return_index=True)
        for entry, rows in zip(distinct.tolist(), np.split(order, first[1:]), strict=True):
            if entry != self.decoded.isa.UNKNOWN:
                self._entry(entry, rows, encodings)

    def _entry(self, number: int, rows: NDArray[np.intp], encodings: Encodings) -> None:
        isa, numbers = self.decoded.isa, self.rows.numbers
        entry = isa.entry(number)
        defs, uses = (
            numbers.row(implicit_registers(names, isa.wavefront_size))
            for names in (entry.implicit_defs, entry.implicit_uses)
        )
        self.rows.defs[rows] |= defs
        self.rows.full_defs[rows] |= defs
        self.rows.uses[rows] |= uses
        full_below = self.rows.numbers.count  # registers from here on are written in part
        if keep_part_of_vectors(isa)[number]:
            full_below = VECTOR
        if keep_part(isa)[number]:
            full_below = 0
        for one in layouts(isa)[number]:
            self._operand(one, rows, encodings, 0 if one.is_merged else full_below)

    def _operand(
        self, one: RegisterField, rows: NDArray[np.intp], encodings: Encodings, full_below: int
    ) -> None:
        instructions = self.chosen[rows]
        code, width = one.read(encodings, instructions)
        table, banks = one.table, self._banks(one, instructions)
        certain = banks >= 0
        for bank in range(self.rows.numbers.banks):
            here = ~table.vector[code] & (bank == 0)
            here |= table.vector[code] & ((banks == bank) | ~certain)
            at = rows[here]
            start = table.start[code[here]].astype(np.intp)
            start += np.where(table.vector[code[here]], FILE_SIZE * bank, 0)
            end = np.minimum(start + width[here], table.end[code[here]])
            self.rows.overrun[at] |= end < start + width[here]
            if not one.is_def:
                self.rows.add(self.rows.uses, at, start, end)
                continue
            self.rows.add(self.rows.defs, at, start, end)
            full = table.whole[code[here]] & (certain[here] | (start < VECTOR))
            full &= start < full_below
            self.rows.add(self.rows.full_defs, at[full], start[full], end[full])

    def _banks(self, one: RegisterField, instructions: NDArray[np.intp]) -> NDArray[np.intp]:
        """The bank of a vector register in that operand, -1 where it is not known."""
        if self.rows.numbers.banks == 1 or one.slot is None:
            return np.zeros(instructions.size, np.intp)
        if self.modes is None:
            return np.full(instructions.size, -1)
        shift = 2 * one.slot
        known = self.modes.known[instructions] >> shift & 3 == 3
        return np.where(known, self.modes.value[instructions] >> shift & 3, -1).astype(np.intp)
