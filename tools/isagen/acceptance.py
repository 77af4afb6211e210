# SPDX-License-Identifier: Apache-2.0
"""Holds the facts against LLVM on pseudo-random encodings: accept or reject, opcode and size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from .facts import TargetFacts
from .interpret import NONE, Interpreter
from .llvm import WINDOW, Decodes
from .target import Target
from .windows import LONGEST, from_int

BATCH = 1 << 19


@dataclass
class Disagreements:
    """`asked` encodings, and how many of each kind of disagreement, with an example (hex)."""

    asked: int = 0
    accepted: int = 0
    found: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """(what, our entry, LLVM's opcode) -> count."""
    examples: dict[tuple[str, str, str], str] = field(default_factory=dict)

    def note(self, what: str, ours: str, theirs: str, window: np.ndarray) -> None:
        key = what, ours, theirs
        self.found[key] += 1
        self.examples.setdefault(key, window.tobytes().hex())

    def lines(self) -> Iterator[str]:
        for key, count in sorted(self.found.items(), key=lambda item: (-item[1], item[0])):
            what, ours, theirs = key
            yield f"{count:8} {what}: {ours or '-'} / {theirs or '-'} e.g. {self.examples[key]}"


def compare(
    target: Target, facts: TargetFacts, uniform: int, structured: int, seed: int
) -> Disagreements:
    """`uniform` windows of random bytes, and `structured` ones that match a random pattern each."""
    interpreter = Interpreter(facts)
    rng = np.random.default_rng([seed, uniform, structured])
    result = Disagreements()
    for count, fill in ((uniform, False), (structured, True)):
        for start in range(0, count, BATCH):
            windows = rng.integers(0, 256, (min(BATCH, count - start), WINDOW), dtype=np.uint8)
            if fill:
                _structure(windows, facts, rng)
            compare_windows(target, facts, interpreter, windows, result)
    return result


def _structure(windows: np.ndarray, facts: TargetFacts, rng: np.random.Generator) -> None:
    """Makes each window match a pattern; half of them have fewer ones elsewhere."""
    half = len(windows) // 2
    windows[:half] &= rng.integers(0, 256, windows[:half].shape, dtype=np.uint8)
    patterns = [pattern for entry in facts.entries for pattern in entry.patterns]
    masks = np.stack([from_int(mask) for mask, _ in patterns])
    values = np.stack([from_int(value) for _, value in patterns])
    chosen = rng.integers(0, len(patterns), len(windows))
    windows[:, :LONGEST] = windows[:, :LONGEST] & ~masks[chosen] | values[chosen]


def compare_windows(
    target: Target,
    facts: TargetFacts,
    interpreter: Interpreter,
    windows: np.ndarray,
    result: Disagreements,
) -> None:
    entry, size = interpreter.decode(windows)
    decodes = target.llvm.decode(windows, operands=False)
    result.asked += len(windows)
    result.accepted += int(decodes.accepted.sum())
    suspects = (entry != NONE) != decodes.accepted
    suspects |= decodes.accepted & (size != decodes.size)
    suspects |= decodes.accepted & ~_same_opcode(facts, entry, decodes)
    for row in np.nonzero(suspects)[0].tolist():
        ours = facts.entries[entry[row]].llvm if entry[row] != NONE else ""
        theirs = ""
        if decodes.crashed[row]:
            theirs = "<crash>"
        elif decodes.accepted[row]:
            theirs = target.instruction(int(decodes.opcode[row])).name
        what = _kind(ours, theirs, int(size[row]), int(decodes.size[row]))
        result.note(what, ours, theirs, windows[row])


def _same_opcode(facts: TargetFacts, entry: np.ndarray, decodes: Decodes) -> np.ndarray:
    """bool [n]: where the entry is one that LLVM may call by the opcode."""
    known = {(number, o) for number, e in enumerate(facts.entries) for o in e.opcodes}
    pairs = np.array(sorted(number << 16 | opcode for number, opcode in known))
    same: np.ndarray = np.isin(entry.astype(np.int64) << 16 | decodes.opcode, pairs)
    return same


def _kind(ours: str, theirs: str, our_size: int, their_size: int) -> str:
    if theirs == "<crash>":
        return "LLVM crashes"
    if not ours:
        return "LLVM accepts"
    if not theirs:
        return "LLVM rejects"
    return "opcode" if our_size == their_size else f"size {our_size} against {their_size}"
