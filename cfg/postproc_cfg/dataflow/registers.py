# SPDX-License-Identifier: Apache-2.0
"""Registers as numbers of sets.

    0 .. 255     the scalar operand with that hardware code: SGPRs, VCC, TTMP, M0, EXEC, read-only
                 sources, and on GFX9 FLAT_SCRATCH and XNACK_MASK; 253 is SCC
                 what has no code takes that of a constant: 255 (the literal) stands for MODE,
                 128 and 129 (inline 0 and 1) for FLAT_SCRATCH from GFX10 on
    256 ..       vector registers: 1024 where they have banks (gfx1250), else 256
    behind them  256 accumulation registers, on targets that have them

A number stands for 32 bits.  `null` is no register.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final, final

import numpy as np

from postproc.isa.model import RegisterCode
from postproc.isa.printing.registers import register_name, special_registers
from postproc_cfg.dataflow.bitsets import members, row_of, word_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc.isa import Isa
    from postproc.isa.printing.context import TargetFacts

__all__ = ["FILE_SIZE", "MODE", "SCC", "VECTOR", "RegisterNumbers", "register_numbers"]

SCC: Final = 253
MODE: Final = 255
VECTOR: Final = 256
"""The number of v0."""

FILE_SIZE: Final = 256
"""Vector registers that an operand field can name; a bank."""

_CONSTANTS: Final = 128
"""The first code of an inline constant."""

_BANKS: Final = 4
_ACCUMULATORS: Final = frozenset({"gfx908", "gfx90a", "gfx942", "gfx950", "gfx9-4-generic"})


@final
@dataclass(frozen=True)
class RegisterNumbers:
    """The numbering of one target; get it with `register_numbers`."""

    target: TargetFacts
    banks: int
    """4 or 1."""
    accumulators: int
    """256 or 0."""

    @property
    def accumulator(self) -> int:
        """The number of a0."""
        return VECTOR + FILE_SIZE * self.banks

    @property
    def count(self) -> int:
        return self.accumulator + self.accumulators

    @property
    def words(self) -> int:
        """uint64 words of a set of registers."""
        return word_count(self.count)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of each number, as `Instruction.defs` has it; empty where there is no register."""
        special = special_registers(self.target)
        scalar = [
            register_name(RegisterCode("s", 0, code), 1, self.target)
            if code < _CONSTANTS or (code, 1) in special
            else ""
            for code in range(VECTOR)
        ]
        scalar = ["" if name == "null" else name for name in scalar]
        scalar[SCC], scalar[MODE] = "scc", "mode"
        if "flat_scratch_lo" not in scalar:
            scalar[_CONSTANTS : _CONSTANTS + 2] = "flat_scratch_lo", "flat_scratch_hi"
        vector = [f"v{i}" for i in range(FILE_SIZE * self.banks)]
        return (*scalar, *vector, *(f"a{i}" for i in range(self.accumulators)))

    @cached_property
    def null(self) -> int:
        """The hardware code of `null`, which is no register; -1 if the target has none."""
        names = [register_name(RegisterCode("s", 0, code), 1, self.target) for code in (124, 125)]
        return 124 + names.index("null") if "null" in names else -1

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names) if name}

    def number(self, name: str) -> int:
        """The number of a single register (`s4`, `vcc_lo`, `scc`, `v7`).  KeyError if the target
        has no register of that name."""
        return self._numbers[name]

    def row(self, names: Iterable[str]) -> NDArray[np.uint64]:
        """The set of some registers, uint64[words]."""
        return row_of((self.number(name) for name in names), self.words)

    def named(self, row: NDArray[np.uint64]) -> tuple[str, ...]:
        """The names of the registers in a set; numbers that stand for none are left out."""
        inside = (number for number in members(row) if number < self.count)
        return tuple(name for number in inside if (name := self.names[number]))

    @cached_property
    def vector(self) -> NDArray[np.uint64]:
        """The registers that have lanes, of which EXEC says which ones are written."""
        return row_of(range(VECTOR, self.count), self.words)


@lru_cache(maxsize=64)
def register_numbers(isa: Isa) -> RegisterNumbers:
    """The numbering of registers for an instruction set."""
    return RegisterNumbers(
        isa.print_context.target,
        _BANKS if isa.has_vgpr_banks else 1,
        FILE_SIZE if isa.processor in _ACCUMULATORS else 0,
    )
