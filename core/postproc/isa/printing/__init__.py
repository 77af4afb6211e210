# SPDX-License-Identifier: Apache-2.0
"""Instructions as text, exactly as LLVM's AMDGPU instruction printer writes them.

An entry's *template* (`Entry.template`) lists what stands behind the mnemonic.  Its tokens:

    role              the operand of that role; the printer is the one named like the role, or a
                      plain register, constant or literal
    role:printer      the operand by a named printer, such as `src0:fp` or `simm16:hwreg`
    'text'            fixed text, such as `'off'` or `'vcc_lo'`
    ' text'           fixed text without a comma before it, such as `' offen'`
    ~                 no comma before the next operand, only a space
    ::                the second half of a VOPD instruction begins

Operands are joined by commas.  A printer of a modifier (`TRAILING`) brings its own leading space
and may print nothing.  Templates are learned from LLVM's output by `tools/isagen/templates.py`.
"""

from __future__ import annotations

from functools import lru_cache

from postproc.isa.model import Entry, OperandValue
from postproc.isa.printing import lanes, memory, scalars, sources, trailing
from postproc.isa.printing.context import PrintContext, TargetFacts
from postproc.isa.printing.fields import Fields, OperandPrinter

__all__ = [
    "POSITIONAL",
    "TRAILING",
    "PrintContext",
    "TargetFacts",
    "print_instruction",
    "print_operand",
    "print_token",
]

POSITIONAL: dict[str, OperandPrinter] = {
    "plain": Fields.plain,
    **sources.POSITIONAL,
    **memory.POSITIONAL,
    **scalars.POSITIONAL,
    **trailing.POSITIONAL,
}
"""Printers of operands that commas separate."""

TRAILING: dict[str, OperandPrinter] = {
    **sources.TRAILING,
    **lanes.TRAILING,
    **memory.TRAILING,
    **scalars.TRAILING,
    **trailing.TRAILING,
}
"""Printers of modifiers, which bring their own leading space."""

_Step = tuple[str, "OperandPrinter | None", str]
"""(kind, printer, role or text); kind: operand, modifier, fixed, suffix, space, half."""


def print_instruction(
    entry: Entry, operands: tuple[OperandValue, ...], context: PrintContext
) -> str:
    """The instruction in LLVM's syntax, with one space behind the mnemonic.

    `operands` are those of `postproc.isa.operands.decode_operands`.  A branch target is the signed
    or unsigned number of the encoding, as LLVM prints it without symbols.
    """
    mnemonic, _, second = entry.mnemonic.partition(" :: ")
    fields = Fields(entry, operands, context)
    text = mnemonic
    separator = " "
    for kind, printer, subject in _steps(entry.template):
        if kind == "operand" and printer is not None:
            text += separator + printer(fields, subject)
            separator = ", "
        elif kind == "modifier" and printer is not None:
            piece = printer(fields, subject)
            text += piece if text != mnemonic or not piece else f" {piece.lstrip()}"
        elif kind == "fixed":
            text += separator + subject
            separator = ", "
        elif kind == "suffix":
            text += subject
        elif kind == "space":
            separator = " "
        else:
            text += f" :: {second}"
            separator = " "
    return text


def print_operand(value: OperandValue, entry: Entry, context: PrintContext) -> str:
    """One operand alone, without its modifiers."""
    return Fields(entry, (value,), context).plain(value.spec.role)


def print_token(token: str, fields: Fields) -> str:
    """What one token of a template prints, without separators."""
    (_, printer, subject) = _step(token)
    return subject if printer is None else printer(fields, subject)


@lru_cache(maxsize=4096)
def _steps(template: tuple[str, ...]) -> tuple[_Step, ...]:
    return tuple(_step(token) for token in template)


def _step(token: str) -> _Step:
    if token == "~":
        return "space", None, ""
    if token == "::":
        return "half", None, ""
    if token.startswith("'"):
        fixed = token[1:-1]
        return ("suffix" if fixed.startswith(" ") else "fixed"), None, fixed
    role, _, name = token.partition(":")
    if name in TRAILING or (not name and role in TRAILING):
        return "modifier", TRAILING[name or role], role
    if not name and role not in POSITIONAL:
        name = "plain"
    return "operand", POSITIONAL[name or role], role
