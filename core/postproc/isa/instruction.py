# SPDX-License-Identifier: Apache-2.0
"""One decoded instruction, made on demand from the arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, final

from postproc.isa.flags import Flag
from postproc.isa.model import Entry, OperandValue
from postproc.isa.registers import all_registers, listed_registers

if TYPE_CHECKING:
    from postproc.isa.isa import Isa
    from postproc.isa.printing import PrintContext


@final
@dataclass(frozen=True, slots=True)
class Operand:
    """An operand as rules see it.

    `role` is LLVM's operand name.  `value` is the register number in its file (kind "reg"), the
    value as LLVM's MCInst holds it ("imm"), or the raw literal ("literal").
    """

    role: str
    kind: Literal["reg", "imm", "literal"]
    value: int
    text: str
    file: str = ""
    """Register file `s`, `v` or `a`; empty for constants."""
    width: int = 0
    """Dwords of the register."""
    is_def: bool = False


@final
class Instruction:
    """A thin view; `offset` is in bytes from the start of the section, `data` the bytes."""

    def __init__(
        self,
        isa: Isa,
        number: int,
        offset: int,
        data: bytes,
        context: PrintContext,
        labels: Mapping[int, str] = MappingProxyType({}),
    ) -> None:
        self.isa = isa
        self.opcode = number
        self.offset = offset
        self.data = data
        self._context = context
        self._labels = labels

    @property
    def size(self) -> int:
        """Bytes, literal included."""
        return len(self.data)

    @property
    def is_unknown(self) -> bool:
        return self.opcode == self.isa.UNKNOWN

    @property
    def entry(self) -> Entry:
        """Raises ValueError for an `unknown`."""
        if self.is_unknown:
            raise ValueError(f"the dword at 0x{self.offset:x} is no instruction")
        return self.isa.entry(self.opcode)

    @cached_property
    def values(self) -> tuple[OperandValue, ...]:
        """Operands as the tables have them, in LLVM's order, modifiers included."""
        if self.is_unknown:
            return ()
        return self.isa.operand_decoder(self.entry, int.from_bytes(self.data, "little"))

    @cached_property
    def operands(self) -> tuple[Operand, ...]:
        return tuple(self._operand(value) for value in self.values)

    def _operand(self, value: OperandValue) -> Operand:
        from postproc.isa.printing import print_operand

        text = print_operand(value, self.entry, self._context)
        number, file = value.value, ""
        if value.register is not None:
            number, file = value.register.index, value.register.file
        return Operand(
            value.spec.role, value.kind, number, text, file, value.width, value.spec.is_def
        )

    def operand(self, role: str) -> Operand | None:
        """The first operand of that role."""
        return next((o for o in self.operands if o.role == role), None)

    @property
    def mnemonic(self) -> str:
        """The first word of `text`; `.long` for an `unknown`."""
        if self.is_unknown:
            return ".long"
        return self.entry.mnemonic.partition(" ")[0]

    @cached_property
    def text(self) -> str:
        """LLVM's assembly, as `llvm-objdump -d` prints it.

        Where the section was decoded with labels, a branch to one of them names it.
        """
        if self.is_unknown:
            return unknown_text(self.data)
        from postproc.isa.printing import print_instruction

        text = print_instruction(self.entry, self.values, self._context)
        target = self.branch_offset if self._labels else None
        if target is None or target not in self._labels:
            return text
        return f"{text.rpartition(' ')[0]} {self._labels[target]}"

    @cached_property
    def defs(self) -> tuple[str, ...]:
        """Single registers written, in whole or in part."""
        return self._registers(defs=True)

    @cached_property
    def uses(self) -> tuple[str, ...]:
        """Single registers read."""
        return self._registers(defs=False)

    @property
    def listed_defs(self) -> tuple[str, ...]:
        """`defs` with masks named as a whole, for listings."""
        return self._registers(defs=True, listed=True)

    @property
    def listed_uses(self) -> tuple[str, ...]:
        """`uses` with masks named as a whole, for listings."""
        return self._registers(defs=False, listed=True)

    def _registers(self, *, defs: bool, listed: bool = False) -> tuple[str, ...]:
        if self.is_unknown:
            return ()
        registers = listed_registers if listed else all_registers
        return registers(self.entry, self.values, self._context.target, defs=defs)

    @property
    def flags(self) -> Flag:
        return Flag(0) if self.is_unknown else self.isa.flags_of(self.opcode)

    @cached_property
    def branch_offset(self) -> int | None:
        """Offset that a direct branch or call goes to; None for everything else."""
        for value in self.values:
            if value.spec.operand_type == "pcrel" or value.spec.is_branch_target:
                distance = ((value.value & 0xFFFF) ^ 0x8000) - 0x8000
                return self.offset + 4 + 4 * distance
        return None

    def __repr__(self) -> str:
        return f"<Instruction 0x{self.offset:x}: {self.text}>"


def unknown_text(data: bytes) -> str:
    """What LLVM prints for bytes that are no instruction."""
    if len(data) == 4:
        return f".long 0x{int.from_bytes(data, 'little'):08x}"
    return ".byte " + ", ".join(f"0x{byte:02x}" for byte in data)
