# SPDX-License-Identifier: Apache-2.0
"""The generator's facts of one target and wavefront size, as packing reads them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

Pattern = tuple[int, int, int]
"""mask, value (128 bits each), entry."""

Run = tuple[int, int]
"""(lowest bit, length)."""


@dataclass
class Facts:
    """The generator's lines of one target and wavefront size."""

    head: dict[str, Any]
    classes: list[dict[str, Any]]
    entries: list[dict[str, Any]]
    _expanded: dict[int, list[Any]] = field(default_factory=dict)

    def expanded_class(self, number: int) -> list[Any]:
        """Per code: ("r", file, half, index, width), ("i", value), ("L", bytes) or None."""
        if number not in self._expanded:
            self._expanded[number] = self._expand(number)
        return self._expanded[number]

    def _expand(self, number: int) -> list[Any]:
        out: list[Any] = [None] * self.classes[number]["n"]
        for run in self.classes[number]["runs"]:
            start, count, kind = run[:3]
            for k in range(count):
                if kind == "r":
                    out[start + k] = ("r", run[3], run[4], run[5] + run[7] * k, run[6])
                elif kind == "i":
                    out[start + k] = ("i", run[3] + run[4] * k)
                elif kind == "L":
                    out[start + k] = ("L", run[3])
        return out

    @classmethod
    def of_lines(cls, lines: Iterable[dict[str, Any]]) -> Facts:
        """From the lines that `isagen.facts.TargetFacts` writes, in order of precedence."""
        head: dict[str, Any] = {}
        classes: list[dict[str, Any]] = []
        entries: list[dict[str, Any]] = []
        for line in lines:
            if line["t"] == "head":
                head = line
            else:
                (classes if line["t"] == "class" else entries).append(line)
        entries.sort(key=lambda entry: int(entry["rank"]))
        return cls(head, classes, entries)


def read_facts(path: str) -> Facts:
    """From a file of such lines."""
    with open(path, "rb") as lines:
        return Facts.of_lines(msgspec.json.decode(line) for line in lines)
