# SPDX-License-Identifier: Apache-2.0
"""Holds operands against LLVM: what the facts say of pseudo-random encodings, and LLVM's MCInst."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from .classes import IMMEDIATE, LITERAL, REGISTER
from .facts import EntryFacts, OperandFacts, TargetFacts
from .interpret import Interpreter
from .llvm import WINDOW, Decodes
from .registers import unpack
from .seeds import SEED
from .target import Target
from .windows import force

PER_PATTERN = 24
MCINST_REGISTER = 1


@dataclass
class OperandReport:
    """How many operands were compared, and what differed: (entry, role, what) -> count.

    `outside_class`: operands whose register LLVM decodes though the operand's register class does
    not have it; its printer then adds `/*Invalid register ...*/`.  `unseen`: entries that none of
    the encodings reached.
    """

    compared: int = 0
    different: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str, str], str] = field(default_factory=dict)
    outside_class: Counter[str] = field(default_factory=Counter)
    unseen: list[str] = field(default_factory=list)


def check_operands(target: Target, facts: TargetFacts, seed: int = SEED) -> OperandReport:
    """PER_PATTERN pseudo-random encodings of every pattern."""
    rng = np.random.default_rng([seed, 7])
    report = OperandReport()
    interpreter = Interpreter(facts)
    members = [frozenset(c.members) for c in target.description.classes]
    windows, owners = _windows(facts, rng)
    ours, _ = interpreter.decode(windows)
    decodes = target.llvm.decode(windows)
    starts = np.searchsorted(owners, np.arange(len(facts.entries) + 1))
    for number, entry in enumerate(facts.entries):
        rows = np.arange(starts[number], starts[number + 1])
        rows = rows[decodes.accepted[rows] & (ours[rows] == number)]
        rows = rows[np.isin(decodes.opcode[rows], list(entry.opcodes))]
        if not rows.size:
            report.unseen.append(entry.llvm)
        for opcode in np.unique(decodes.opcode[rows]).tolist():
            mine = rows[decodes.opcode[rows] == opcode]
            _compare(target, interpreter, entry, opcode, windows, decodes, mine, report)
            _note_outside_class(target, members, opcode, decodes, mine, report)
    return report


def _windows(facts: TargetFacts, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """PER_PATTERN encodings of every pattern, and the entry of each."""
    patterns = [p for entry in facts.entries for p in entry.patterns]
    owners = [n for n, entry in enumerate(facts.entries) for _ in entry.patterns]
    count = len(patterns) * PER_PATTERN
    windows = rng.integers(0, 256, (count, WINDOW), dtype=np.uint8)
    windows[::3] &= rng.integers(0, 256, windows[::3].shape, dtype=np.uint8)
    for place, (mask, value) in enumerate(patterns):
        force(windows[place * PER_PATTERN : (place + 1) * PER_PATTERN], mask, value)
    return windows, np.repeat(owners, PER_PATTERN)


def _places(target: Target, entry: EntryFacts, opcode: int) -> list[tuple[OperandFacts, int]]:
    """Our operands with the index of the same operand in an MCInst of the opcode.

    Variants of an entry have fewer operands, told by their roles.
    """
    if target.instruction(opcode).name == entry.llvm:
        return [(operand, index) for index, operand in enumerate(entry.operands)]
    indices = target.role_indices(opcode)
    return [(o, indices[o.role]) for o in entry.operands if o.role in indices]


def _compare(
    target: Target,
    interpreter: Interpreter,
    entry: EntryFacts,
    opcode: int,
    windows: np.ndarray,
    decodes: Decodes,
    rows: np.ndarray,
    report: OperandReport,
) -> None:
    for operand, index in _places(target, entry, opcode):
        kind, value = interpreter.operand(entry, operand, windows[rows])
        theirs_kind, theirs = decodes.kind[rows, index], decodes.value[rows, index].copy()
        registers = theirs_kind == MCINST_REGISTER
        theirs[registers] = target.packed_registers[theirs[registers]]
        wrong = (kind == REGISTER) != registers
        wrong |= (kind != LITERAL) & (value != theirs)
        report.compared += len(rows)
        for row in np.nonzero(wrong)[0].tolist():
            ours = _show(int(kind[row]), int(value[row]))
            their_kind = REGISTER if registers[row] else IMMEDIATE
            key = (entry.llvm, operand.role, _nature(int(kind[row]), their_kind))
            report.different[key] += 1
            report.examples.setdefault(
                key,
                f"{windows[rows[row]].tobytes().hex()}: {ours} / "
                f"{_show(their_kind, int(theirs[row]))}",
            )


def _nature(ours: int, theirs: int) -> str:
    names = {REGISTER: "register", IMMEDIATE: "immediate", LITERAL: "literal"}
    return f"{names.get(ours, 'rejected')} / {names[theirs]}"


def _show(kind: int, value: int) -> str:
    if kind != REGISTER:
        return hex(value)
    register = unpack(value)
    return f"{register.file}[{register.index}:+{register.width}].{register.half}"


def _note_outside_class(
    target: Target,
    members: list[frozenset[int]],
    opcode: int,
    decodes: Decodes,
    rows: np.ndarray,
    report: OperandReport,
) -> None:
    instruction = target.instruction(opcode)
    for index, described in enumerate(instruction.operands):
        if described.register_class < 0:
            continue
        registers = decodes.value[rows, index][decodes.kind[rows, index] == MCINST_REGISTER]
        known = members[described.register_class]
        outside = sum(1 for register in registers.tolist() if register and register not in known)
        if outside:
            report.outside_class[target.description.classes[described.register_class].name] += (
                outside
            )
