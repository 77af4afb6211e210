# SPDX-License-Identifier: Apache-2.0
"""What an operand printer is given: one decoded instruction with its operands by role."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from postproc.isa.model import CodedField, Entry, OperandValue
from postproc.isa.printing.banks import bank_of
from postproc.isa.printing.context import PrintContext, TargetFacts
from postproc.isa.printing.immediates import immediate, literal
from postproc.isa.printing.registers import in_class, value_register

__all__ = ["Fields", "OperandPrinter"]


@final
class Fields:
    """Operands of one instruction by role (the first one where a role occurs twice)."""

    __slots__ = ("context", "entry", "values")

    def __init__(
        self, entry: Entry, operands: tuple[OperandValue, ...], context: PrintContext
    ) -> None:
        self.entry = entry
        self.context = context
        self.values: dict[str, OperandValue] = {}
        for operand in operands:
            self.values.setdefault(operand.spec.role, operand)

    @property
    def target(self) -> TargetFacts:
        return self.context.target

    def number(self, role: str) -> int:
        """The immediate `role`, or 0 where the encoding has none."""
        found = self.values.get(role)
        return found.value if found is not None else 0

    def plain(self, role: str) -> str:
        """The operand without modifiers; LLVM remarks on what does not belong there."""
        value = self.values[role]
        coded = isinstance(value.spec.source, CodedField)
        if value.kind != "reg":
            show = literal if value.kind == "literal" else immediate
            text = show(value, self.target)
            misplaced = coded and not value.spec.operand_type and not text.startswith("lit")
            return f"{text}/*Invalid immediate*/" if misplaced else text
        msb = self.context.vgpr_msb
        text = value_register(value, self.target, bank_of(self.entry, role, msb) if msb else 0)
        expected = value.spec.register_class
        code = value.register
        if not coded or code is None or in_class(code, value.width, expected, self.target):
            return text
        return f"{text}/*Invalid register, operand has '{expected}' register class*/"


OperandPrinter = Callable[[Fields, str], str]
"""(instruction, role) -> text."""
