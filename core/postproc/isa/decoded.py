# SPDX-License-Identifier: Apache-2.0
"""A decoded section: arrays for questions about the whole text, views for single instructions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from postproc.isa.instruction import Instruction

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc.isa.isa import Isa


@final
class Decoded:
    """Instructions of one section, in order, without gaps.

    `offset` (uint32) and `size` (uint8) are in bytes, `offset` from the start of the section;
    `opcode` (uint16) is the entry number, `Isa.UNKNOWN` for a dword that is no instruction.  All
    three have one item an instruction.
    """

    def __init__(
        self,
        isa: Isa,
        code: memoryview,
        arrays: tuple[NDArray[np.uint32], NDArray[np.uint8], NDArray[np.uint16]],
        restarts: NDArray[np.intp],
        labels: Mapping[int, str],
    ) -> None:
        self.isa = isa
        self.code = code
        self.offset, self.size, self.opcode = arrays
        self.labels = labels
        """Names of offsets, printed as targets of branches."""
        self._restarts = restarts

    def __len__(self) -> int:
        return int(self.offset.size)

    def __getitem__(self, index: int) -> Instruction:
        return self.instruction(index)

    def __iter__(self) -> Iterator[Instruction]:
        return (self.instruction(i) for i in range(len(self)))

    def instruction(self, index: int) -> Instruction:
        """The instruction number `index` (not offset)."""
        start, size = int(self.offset[index]), int(self.size[index])
        context = self.isa.print_context
        if self.isa.has_vgpr_banks:
            context = context.with_vgpr_msb(int(self.printed_vgpr_msb[index]))
        data = bytes(self.code[start : start + size])
        return Instruction(self.isa, int(self.opcode[index]), start, data, context, self.labels)

    def index_at(self, offset: int) -> int:
        """Number of the instruction that starts at byte `offset`; ValueError if none does."""
        index = int(np.searchsorted(self.offset, offset))
        if index == len(self) or int(self.offset[index]) != offset:
            raise ValueError(f"no instruction starts at offset 0x{offset:x}")
        return index

    def where(self, entries: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Numbers of the instructions whose entry is set in `entries` (see `Isa.match`)."""
        return np.flatnonzero(np.append(entries, False).take(self._row))

    @cached_property
    def _row(self) -> NDArray[np.intp]:
        """Entry numbers, with `UNKNOWN` as the row behind the last entry."""
        return np.minimum(self.opcode, self.isa.entries).astype(np.intp)

    @cached_property
    def flags(self) -> NDArray[np.uint32]:
        """`postproc.isa.Flag` bits of each instruction; 0 for `unknown`."""
        return np.append(self.isa.flags, np.uint32(0)).take(self._row)

    @property
    def unknown(self) -> NDArray[np.intp]:
        """Numbers of the dwords that are no instruction."""
        return np.flatnonzero(self.opcode == self.isa.UNKNOWN)

    @cached_property
    def printed_vgpr_msb(self) -> NDArray[np.uint8]:
        """The bank mode in which llvm-objdump prints each instruction.

        It follows `s_set_vgpr_msb` in order of address and starts anew at each symbol, behind
        each terminator and behind each `unknown`.  That is how the text looks, and no proof of the
        mode at run time.
        """
        mode = np.zeros(len(self), np.uint8)
        setters = self.where(self.isa.match("s_set_vgpr_msb"))
        if not setters.size:
            return mode
        symbols = np.searchsorted(self.offset, self._restarts * 4)
        ends = np.append(self.where(self.isa.terminators), self.unknown) + 1
        at = np.concatenate([setters + 1, ends, symbols])
        new = np.zeros(at.size, np.uint8)
        new[: setters.size] = np.frombuffer(self.code, np.uint8)[self.offset[setters]]
        order = np.argsort(at, kind="stable")
        at, new = at[order], new[order]
        last = np.searchsorted(at, np.arange(len(self)), side="right") - 1
        mode[last >= 0] = new[last[last >= 0]]
        return mode
