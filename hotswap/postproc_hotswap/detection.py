# SPDX-License-Identifier: Apache-2.0
"""Which instructions of a decoded section belong to which row of the table.

Everything is asked of the arrays of `Decoded`; no instruction object is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np

from postproc_hotswap.defects import DEFECTS, Defect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from postproc.isa import Decoded
    from postproc_hotswap.config import Config

__all__ = ["Matches", "detect"]


NO_ROW: Final = len(DEFECTS)
"""The row of instructions that are no site."""


@final
@dataclass(frozen=True, eq=False)
class Matches:
    """Sites of one section: `row` (uint8) is the row of `DEFECTS` of each instruction."""

    row: NDArray[np.uint8]

    def __iter__(self) -> Iterator[tuple[int, Defect]]:
        """(number of the instruction, its row), in ascending order."""
        found = np.flatnonzero(self.row != NO_ROW)
        for index, row in zip(found.tolist(), self.row[found].tolist(), strict=True):
            yield index, DEFECTS[row]

    def __len__(self) -> int:
        return int(np.count_nonzero(self.row != NO_ROW))

    def first_between(self, start: int, stop: int) -> Defect | None:
        """The row of the first site among the instructions `start` to `stop - 1`."""
        found = np.flatnonzero(self.row[start:stop] != NO_ROW)
        return DEFECTS[int(self.row[start + int(found[0])])] if found.size else None


def detect(decoded: Decoded, config: Config) -> Matches:
    """All sites under `config`, each with the first row of the table that holds for it."""
    whole = len(decoded.code) // 4 * 4
    words = np.frombuffer(decoded.code[:whole], np.dtype("<u4"))
    owner = np.full(len(decoded), NO_ROW, np.uint8)
    for row, defect in enumerate(DEFECTS):
        if getattr(config, defect.policy) in defect.inactive:
            continue
        found = decoded.where(decoded.isa.match(*defect.mnemonics))
        for test in defect.when:
            found = found[test.holds(words, (decoded.offset[found] // 4).astype(np.intp))]
        owner[found[owner[found] == NO_ROW]] = row
    return Matches(owner)
