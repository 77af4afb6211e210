# SPDX-License-Identifier: Apache-2.0
"""The generator's facts of one target and wavefront size, as packing reads them."""

from __future__ import annotations

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


def read_facts(path: str) -> Facts:
    head: dict[str, Any] = {}
    classes: list[dict[str, Any]] = []
    entries: list[dict[str, Any]] = []
    with open(path, "rb") as lines:
        for line in lines:
            item = msgspec.json.decode(line)
            if item["t"] == "head":
                head = item
            elif item["t"] == "class":
                classes.append(item)
            else:
                entries.append(item)
    return Facts(head, classes, entries)
