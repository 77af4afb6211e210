# SPDX-License-Identifier: Apache-2.0
"""What has been found out so far about one leaf of LLVM's decoder tables.

A study starts with encodings that reach the leaf (`seeds`) and is filled step by step: operand
fields (`fields`), the meaning of their codes (`classes`), structural variants (`variants`).  When
all is known it becomes an `EntryFacts` (`facts`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .decoder_tables import Leaf
from .llvm import Decodes, InstructionDescription

if TYPE_CHECKING:
    from .variants import Variants


@dataclass
class OperandStudy:
    """One MCInst operand.

    `bits`: the bits that drive it, lowest first.  `weights`: what setting each bit adds to the
    register number or immediate (None where that is not constant).  Then exactly one of:
    `constant` (kind as in `Decodes`, packed register or immediate), `linear` (bit -> weight, with
    `base`), `operand_class` with `width` in dwords, or `problem`.
    """

    index: int
    is_immediate: bool
    bits: list[int]
    weights: dict[int, int | None]
    constant: tuple[int, int] | None = None
    linear: dict[int, int] | None = None
    base: int = 0
    operand_class: int | None = None
    width: int = 0
    rejected_codes: int = 0
    misread: bool = False
    problem: str = ""


@dataclass
class Study:
    """See the module.  `seeds` and `bases`: uint8 [n, WINDOW]."""

    leaf: Leaf
    opcodes: frozenset[int]
    seeds: np.ndarray
    explored_size: int = 0
    """Bytes whose bits are explored: the leaf's, and for images the address dwords behind."""
    base_size: int = 0
    """Bytes without a literal."""
    bases: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.uint8))
    """Encodings that the exploration starts from: all of one opcode, without literals."""
    instruction: InstructionDescription | None = None
    """LLVM's description of the bases' opcode."""
    operands: list[OperandStudy] = field(default_factory=list)
    must: dict[int, int] = field(default_factory=dict)
    """Bits that no accepted encoding has otherwise, though LLVM's table does not fix them."""
    ignored: list[int] = field(default_factory=list)
    structural: list[int] = field(default_factory=list)
    """Bits that change the opcode or the number of operands."""
    structural_immediates: dict[str, dict[int, int]] = field(default_factory=dict)
    """Role -> bit -> weight, of structural bits that an immediate operand shows, too."""
    variants: Variants | None = None

    def __post_init__(self) -> None:
        self.explored_size = self.explored_size or self.leaf.size

    @property
    def described(self) -> InstructionDescription:
        assert self.instruction is not None, "the study has no bases yet"
        return self.instruction

    @property
    def free_bits(self) -> list[int]:
        return [b for b in range(self.explored_size * 8) if not self.leaf.mask >> b & 1]

    @property
    def opcode_array(self) -> np.ndarray:
        return np.array(sorted(self.opcodes), np.uint16)

    def accepts(self, decodes: Decodes) -> np.ndarray:
        """bool [n]: which windows LLVM took for this leaf."""
        taken: np.ndarray = decodes.accepted & np.isin(decodes.opcode, self.opcode_array)
        return taken
