# SPDX-License-Identifier: Apache-2.0
"""Which instructions of a decoded section belong to which row of the table.

Everything is asked of the arrays of `Decoded`; no instruction object is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from postproc_hotswap.defects import DEFECTS, Defect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from postproc.isa import Decoded
    from postproc_hotswap.config import Config

__all__ = ["Matches", "detect"]


@final
@dataclass(frozen=True, eq=False)
class Matches:
    """Sites of one section: `index` (intp) are instruction numbers in ascending order, `row`
    (uint8) the rows of `DEFECTS` that they belong to."""

    index: NDArray[np.intp]
    row: NDArray[np.uint8]

    def __iter__(self) -> Iterator[tuple[int, Defect]]:
        for index, row in zip(self.index.tolist(), self.row.tolist(), strict=True):
            yield index, DEFECTS[row]

    def __len__(self) -> int:
        return len(self.index)

    def rule_of(self, index: int) -> str | None:
        """The rule that instruction `index` belongs to."""
        rank = int(np.searchsorted(self.index, index))
        if rank == len(self.index) or int(self.index[rank]) != index:
            return None
        return DEFECTS[int(self.row[rank])].rule


def detect(decoded: Decoded, config: Config) -> Matches:
    """All sites under `config`, each with the first row of the table that holds for it."""
    whole = len(decoded.code) // 4 * 4
    words = np.frombuffer(decoded.code[:whole], np.dtype("<u4"))
    none = len(DEFECTS)
    owner = np.full(len(decoded), none, np.uint8)
    for row, defect in enumerate(DEFECTS):
        if getattr(config, defect.policy) in defect.inactive:
            continue
        found = decoded.where(decoded.isa.match(*defect.mnemonics))
        for test in defect.when:
            found = found[test.holds(words, (decoded.offset[found] // 4).astype(np.intp))]
        found = found[owner[found] == none]
        owner[found] = row
    index = np.flatnonzero(owner != none)
    return Matches(index, owner[index])
