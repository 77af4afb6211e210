# SPDX-License-Identifier: Apache-2.0
"""All checks of one target's facts, and the report that goes beside them.

A check fails on whatever is not listed in `known` with a reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .acceptance import Disagreements, compare
from .facts import TargetFacts
from .flag_rules import UNVERIFIED
from .known import operand_reason_for, reason_for
from .operand_check import OperandReport, check_operands
from .seeds import SEED
from .target import Target
from .verify_numbering import check_numbering

EXAMPLES = 20
"""Lines of one kind in a report."""


@dataclass
class Report:
    """`problems` fail the generator; `notes` say what was compared and which known disagreements
    there were."""

    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def write(self, folder: Path, name: str) -> Path:
        path = folder / f"{name}.report.txt"
        lines = [f"problems: {len(self.problems)}", *self.problems, "", *self.notes]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path


def check(target: Target, facts: TargetFacts, samples: int) -> Report:
    """`samples`: pseudo-random encodings for accept or reject, two thirds of them structured."""
    report = Report()
    _check_acceptance(compare(target, facts, samples // 3, samples - samples // 3, SEED), report)
    _check_operands(check_operands(target, facts), report)
    report.problems += check_numbering(target, facts)
    report.notes.append(f"flags that nothing but LLVM's source explains: {sorted(UNVERIFIED)}")
    return report


def _check_acceptance(found: Disagreements, report: Report) -> None:
    report.notes.append(f"{found.asked} encodings asked, {found.accepted} accepted by LLVM")
    known: Counter[str] = Counter()
    unknown: list[str] = []
    for (what, ours, theirs), count in found.found.items():
        reason = reason_for(what, ours, theirs)
        if reason is None:
            example = found.examples[what, ours, theirs]
            unknown.append(f"{count} x {what}: {ours or '-'} / {theirs or '-'}, e.g. {example}")
        else:
            known[reason] += count
    report.problems += _limited(unknown)
    report.notes += _counted(known)


def _check_operands(found: OperandReport, report: Report) -> None:
    report.notes.append(f"{found.compared} operands compared")
    known: Counter[str] = Counter()
    unknown: list[str] = []
    for (entry, role, what), count in found.different.items():
        example = found.examples[entry, role, what]
        reason = operand_reason_for(entry, role, what)
        if reason is None:
            unknown.append(f"{count} x {entry}: {role}: {what}, e.g. {example}")
        else:
            known[reason] += count
    report.problems += _limited(unknown)
    report.problems += _limited([f"{entry}: no encoding reaches it" for entry in found.unseen])
    report.notes += _counted(known)
    outside = found.outside_class.total()
    report.notes.append(
        f"{outside} registers outside their operand's class, which LLVM accepts and prints with"
        f" `/*Invalid register ...*/`: {dict(sorted(found.outside_class.items()))}"
    )


def _counted(known: Counter[str]) -> Iterator[str]:
    for reason, count in sorted(known.items()):
        yield f"known, {count} times: {reason}"


def _limited(lines: Iterable[str]) -> Iterator[str]:
    lines = list(lines)
    yield from lines[:EXAMPLES]
    if len(lines) > EXAMPLES:
        yield f"... and {len(lines) - EXAMPLES} more of this kind"
