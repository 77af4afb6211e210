# SPDX-License-Identifier: Apache-2.0
"""What every step of the exploration of one target reads: LLVM, its tables and its names."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from .build import Native
from .decoder_tables import Leaf, read_leaves
from .llvm import Description, InstructionDescription, Llvm
from .numbering import ROLES, Numbering
from .registers import register_table

_VARIANT = re.compile(r"_V\d+(_V\d+)?(?=_|$)|_f[468]_f[468](?=_|$)")
_HAS_VARIANTS = re.compile(r"IMAGE_|V_(MFMA|WMMA)")


def family(name: str) -> str:
    """What is common to the opcodes that LLVM folds into one encoding.

    For images LLVM's decoder replaces the table's opcode by one with as many address and data
    registers as the encoding asks for, for matrix products by one for their formats.
    """
    return _VARIANT.sub("", name) if _HAS_VARIANTS.match(name) else name


@dataclass(frozen=True)
class Target:
    """One processor with one wavefront size.

    `packed_registers`: int64 by LLVM's register id, see `registers`.  `variants`: family -> its
    opcodes, of families with more than one.
    """

    processor: str
    wavefront_size: int
    llvm: Llvm
    description: Description
    numbering: Numbering
    leaves: tuple[Leaf, ...]
    packed_registers: np.ndarray
    variants: dict[str, frozenset[int]]

    @property
    def name(self) -> str:
        """As in file names: `gfx1100`, `gfx1100_w64`."""
        wave64_of_two = self.wavefront_size == 64 and not self.processor.startswith("gfx9")
        return f"{self.processor}_w64" if wave64_of_two else self.processor

    def instruction(self, opcode: int) -> InstructionDescription:
        return self.description.instructions[opcode]

    def role_indices(self, opcode: int) -> dict[str, int]:
        """Operand index by role; operands without a role are not in it."""
        return {ROLES[role]: index for index, role in self.instruction(opcode).roles.items()}

    def roles(self, opcode: int) -> dict[int, str]:
        """Role by operand index."""
        return {index: ROLES[role] for index, role in self.instruction(opcode).roles.items()}

    def opcodes(self, leaf: Leaf) -> frozenset[int]:
        """What LLVM may call an encoding of the leaf."""
        return self.variants.get(family(self.instruction(leaf.opcode).name), frozenset()) | {
            leaf.opcode
        }


def open_target(native: Native, processor: str, features: str, wavefront_size: int) -> Target:
    llvm = Llvm(native, processor, features)
    description = llvm.describe()
    leaves = tuple(read_leaves(native.disassembler))
    families: dict[str, set[int]] = {}
    for opcode, instruction in description.instructions.items():
        if _HAS_VARIANTS.match(instruction.name):
            families.setdefault(family(instruction.name), set()).add(opcode)
    return Target(
        processor,
        wavefront_size,
        llvm,
        description,
        Numbering(native.headers),
        leaves,
        register_table(description.registers),
        {name: frozenset(opcodes) for name, opcodes in families.items()},
    )
