# SPDX-License-Identifier: Apache-2.0
"""From the facts of one processor to the table file that ships.

The runtime itself reads a first version of the file, so that the entries whose templates are
learned are the ones that users will get.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from postproc.isa.model import Entry
from postproc.isa.printing import PrintContext
from postproc.isa.tables import TableFile, Tables

from .facts import TargetFacts
from .packing import Facts, Part, pack, records_of, table_file
from .sampling import DecodeFunction, TextFunction
from .target import Target
from .templates import learn

DATA = Path(__file__).resolve().parents[2] / "core" / "postproc" / "isa" / "data"


class ShippingError(Exception):
    """Entries that cannot be shipped."""


@dataclass(frozen=True)
class Finished:
    """One wavefront size of a processor, explored, checked and overlaid."""

    target: Target
    facts: TargetFacts


def ship(finished: Mapping[int, Finished], folder: Path = DATA) -> Path:
    """Write the table of one processor; `finished` by wavefront size.

    Raises ShippingError if LLVM's text of an entry cannot be explained.
    """
    parts = {size: _part(one, size) for size, one in sorted(finished.items())}
    facts = next(iter(finished.values())).facts
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{facts.processor}.isa"
    path.write_bytes(table_file(facts.processor, facts.llvm_version, parts))
    return path


def _part(finished: Finished, size: int) -> Part:
    facts = Facts.of_lines(finished.facts.lines())
    part = pack(facts)
    name, version = finished.facts.processor, finished.facts.llvm_version
    tables = Tables(TableFile(table_file(name, version, {size: part})), size)
    entries = [tables.entry(number) for number in range(len(tables))]
    decode, text = _oracle(finished.target)
    learned = learn(entries, tables.operand_class, decode, text, PrintContext.of(name, size))
    _check(learned.unreachable, "LLVM decodes to none of these")
    _check([entry for entry, _ in learned.unexplained], "no template explains the text of these")
    for row, template in zip(facts.entries, learned.templates, strict=True):
        row["template"] = template
    return replace(part, records=records_of(facts))


def _check(entries: Sequence[Entry], what: str) -> None:
    if entries:
        names = ", ".join(entry.llvm_name for entry in entries[:10])
        raise ShippingError(f"{what} ({len(entries)} in all): {names}")


def _oracle(target: Target) -> tuple[DecodeFunction, TextFunction]:
    """LLVM as the template learner asks it."""

    def windows(encodings: Sequence[bytes]) -> np.ndarray:
        return np.frombuffer(b"".join(encodings), np.uint8).reshape(len(encodings), -1)

    def decode(encodings: Sequence[bytes]) -> list[tuple[str, int] | None]:
        if not encodings:
            return []
        found = target.llvm.decode(windows(encodings), operands=False)
        return [
            (target.instruction(opcode).name, size) if accepted else None
            for opcode, size, accepted in zip(
                found.opcode.tolist(), found.size.tolist(), found.accepted.tolist(), strict=True
            )
        ]

    def text(encodings: Sequence[bytes]) -> list[str]:
        return target.llvm.text(windows(encodings)) if encodings else []

    return decode, text
