# SPDX-License-Identifier: Apache-2.0
"""Single registers, as data flow counts them.

A vector or scalar tuple is expanded to its dwords.  VCC and EXEC are pairs of which wave32 has
only the low half; FLAT_SCRATCH and XNACK_MASK are pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from postproc.isa.model import Entry, OperandValue, RegisterCode
from postproc.isa.printing.context import TargetFacts
from postproc.isa.printing.registers import register_name

__all__ = ["IMPLICIT", "all_registers", "implicit_registers", "listed_registers", "registers_of"]

PAIRS = ("vcc", "exec", "flat_scratch", "xnack_mask")

IMPLICIT: dict[str, tuple[str, ...]] = {
    "EXEC": ("exec_lo", "exec_hi"),
    "VCC": ("vcc_lo", "vcc_hi"),
    "FLAT_SCR": ("flat_scratch_lo", "flat_scratch_hi"),
    "VCC_LO": ("vcc_lo",),
    "VCC_HI": ("vcc_hi",),
    "EXEC_LO": ("exec_lo",),
    "EXEC_HI": ("exec_hi",),
    "SCC": ("scc",),
    "M0": ("m0",),
    "MODE": ("mode",),
}
"""Registers behind the names of LLVM's implicit operands; others are counters, not registers."""

_READ_ONLY = frozenset({"null"})


def implicit_registers(names: Iterable[str], wavefront_size: int) -> Iterator[str]:
    for name in names:
        registers = IMPLICIT.get(name, ())
        if wavefront_size == 32 and name in ("EXEC", "VCC"):
            registers = registers[:1]
        yield from registers


def registers_of(value: OperandValue, target: TargetFacts) -> Iterator[str]:
    """The single registers that an operand names; none for `null` and for constants."""
    code = value.register
    if value.kind != "reg" or code is None or code.file == "-":
        return
    for place in range(max(value.width, 1)):
        part = RegisterCode(code.file, 0, code.index + place)
        name = register_name(part, 1, target)
        if name not in _READ_ONLY:
            yield {"src_scc": "scc"}.get(name, name)


def explicit_registers(
    operands: Iterable[OperandValue], target: TargetFacts, *, defs: bool
) -> Iterator[str]:
    for value in operands:
        if value.spec.is_def == defs:
            yield from registers_of(value, target)


def all_registers(
    entry: Entry, operands: tuple[OperandValue, ...], target: TargetFacts, *, defs: bool
) -> tuple[str, ...]:
    """Registers written (`defs`) or read, explicit ones first, each once."""
    names = entry.implicit_defs if defs else entry.implicit_uses
    found = dict.fromkeys(explicit_registers(operands, target, defs=defs))
    found |= dict.fromkeys(implicit_registers(names, target.wavefront_size))
    return tuple(found)


def listed_registers(
    entry: Entry, operands: tuple[OperandValue, ...], target: TargetFacts, *, defs: bool
) -> tuple[str, ...]:
    """Registers as listings name them: `vcc` and `exec` stand for the whole mask of the wave.

    They stand so where an instruction names both halves, and where LLVM's description has them as
    implicit operands, whatever the wavefront size.
    """
    names = entry.implicit_defs if defs else entry.implicit_uses
    implicit = [name for name in names if name in IMPLICIT]
    found = dict.fromkeys(_joined_pairs(explicit_registers(operands, target, defs=defs)))
    found |= dict.fromkeys(_LISTED.get(name, name.lower()) for name in implicit)
    return tuple(found)


_LISTED = {"FLAT_SCR": "flat_scratch"}


def _joined_pairs(registers: Iterable[str]) -> tuple[str, ...]:
    """`vcc_lo` and `vcc_hi` together become `vcc`; the same for the other pairs."""
    found = dict.fromkeys(registers)
    for pair in PAIRS:
        halves = (f"{pair}_lo", f"{pair}_hi")
        if all(half in found for half in halves):
            found = {
                (pair if name == halves[0] else name): None for name in found if name != halves[1]
            }
    return tuple(found)
