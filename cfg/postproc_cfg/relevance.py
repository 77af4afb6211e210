# SPDX-License-Identifier: Apache-2.0
"""Which registers matter, where: those from which a computed transfer takes its target.

Strongly live registers, backwards over the blocks of direct control flow:

    1. a computed transfer needs the pair that it reads,
    2. need(before i) = need(after i), less what i writes, and with what i reads if it is modelled
       and writes something needed,
    3. a computed transfer may go anywhere: behind one, everything is needed that any block needs.

3. makes the result independent of where computed transfers go, so that it need not be computed
anew whenever one is resolved.  Most blocks of most kernels need nothing; nobody looks at their
instructions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

import numpy as np

from postproc_cfg.blocks import STOPS
from postproc_cfg.definitions import SCC
from postproc_cfg.vocabulary import Transfer

if TYPE_CHECKING:
    from postproc_cfg.blocks import Blocks
    from postproc_cfg.definitions import Definitions
    from postproc_cfg.scalar_operations import Operation, Operations
    from postproc_cfg.text import Text

__all__ = ["COMPUTED", "Relevance"]

COMPUTED: Final = (
    Transfer.SET_PC,
    Transfer.ADD_PC,
    Transfer.SWAP_PC,
    Transfer.CALL,
    Transfer.TRAP_RETURN,
    Transfer.FORK,
)
"""Transfers behind which control may be anywhere, or comes back from elsewhere."""


@final
class Relevance:
    """What is needed where, in some blocks of direct control flow."""

    def __init__(
        self,
        text: Text,
        definitions: Definitions,
        operations: Operations,
        blocks: Blocks,
    ) -> None:
        self._text = text
        self._definitions = definitions
        self._operations = operations
        self._starts = blocks.starts
        computed = np.flatnonzero(np.isin(blocks.kinds, COMPUTED))
        self._active = blocks.reaching(computed)
        self._needed: dict[int, int] = {}
        self.anywhere = 0
        """What any block needs."""
        self._solve()

    def is_active(self, index: int) -> bool:
        """Whether direct control flow leads from an instruction to a computed transfer."""
        return bool(self._active[self._block_of(index)])

    def _block_of(self, index: int) -> int:
        return int(np.searchsorted(self._starts, index, side="right")) - 1

    def end_of(self, index: int) -> int:
        """Where the block around an instruction ends."""
        after = int(np.searchsorted(self._starts, index, side="right"))
        return int(self._starts[after]) if after < len(self._starts) else len(self._text)

    def needed_at(self, index: int) -> int:
        """What is needed where control arrives at an instruction."""
        if index in self._needed:
            return self._needed[index]
        block = int(self._starts[self._block_of(index)])
        if block not in self._needed:
            return 0
        return self._backwards(index, self.end_of(index), None)

    def operations(self, index: int) -> list[tuple[int, Operation | None]]:
        """What happens to needed registers from an instruction to the end of its block: the sets
        written, and the operations that write them (None: nothing is known afterwards)."""
        found: list[tuple[int, Operation | None]] = []
        if self.needed_at(index) or self._reads(self.end_of(index) - 1) or self.anywhere:
            self._backwards(index, self.end_of(index), found)
        found.reverse()
        return found

    def _after(self, last: int) -> int:
        """What is needed behind the last instruction of a block."""
        kind = int(self._text.kind[last])
        needed = self.anywhere if kind in COMPUTED else 0
        if kind not in STOPS:
            following = self._text.next_index(last)
            needed |= self._needed.get(following, 0)
        if kind in (Transfer.BRANCH, Transfer.CONDITIONAL):
            target = self._text.index_at(int(self._text.target[last]))
            needed |= self._needed.get(target, 0)
        return needed

    def _reads(self, index: int) -> int:
        """The registers from which a computed transfer takes its target."""
        if int(self._text.kind[index]) not in (Transfer.SET_PC, Transfer.SWAP_PC, Transfer.ADD_PC):
            return 0
        code = int(self._text.word[index]) & 0xFF
        return 3 << code if code < 128 else 0

    def _backwards(
        self, first: int, end: int, found: list[tuple[int, Operation | None]] | None
    ) -> int:
        """What is needed before `first`, given what is behind the block; the writes of needed
        registers on the way go to `found`, last first."""
        last = end - 1
        needed = self._after(last)
        needed |= self._condition(first, last, needed)
        masks = self._definitions.masks
        if self._reads(last):
            needed = (needed & ~masks.get(last, 0)) | self._reads(last)
        for index in reversed(self._definitions.writers_between(first, end)):
            mask = masks[index]
            if not mask & needed or (index == last and self._reads(last)):
                continue
            operation = self._operations(index)
            if found is not None:
                found.append((mask, operation))
            if operation is None:
                needed &= ~mask
            else:
                needed = (needed & ~operation.writes) | operation.reads
        return needed

    def _condition(self, first: int, last: int, needed: int) -> int:
        """SCC, if the branch at the end tests something that addresses are made of."""
        if int(self._text.kind[last]) != Transfer.CONDITIONAL or not needed:
            return 0
        for index in reversed(self._definitions.writers_between(first, last)):
            if self._definitions.masks[index] >> SCC & 1:
                operation = self._operations(index)
                compares = operation is not None and operation.name.startswith("s_cmp")
                return 1 << SCC if compares and operation and operation.reads & needed else 0
        return 0

    def _solve(self) -> None:
        blocks = set(self._starts[self._active].tolist())
        before = self._predecessors(blocks)
        computed = [b for b in blocks if int(self._text.kind[self.end_of(b) - 1]) in COMPUTED]
        pending = set(computed)
        while pending:
            block = pending.pop()
            needed = self._backwards(block, self.end_of(block), None)
            if needed | self._needed.get(block, 0) == self._needed.get(block, 0):
                continue
            self._needed[block] = needed | self._needed.get(block, 0)
            pending.update(before.get(block, ()))
            if needed & ~self.anywhere:
                self.anywhere |= needed
                pending.update(computed)

    def _predecessors(self, blocks: set[int]) -> dict[int, list[int]]:
        """For each block those that fall through or branch directly to it."""
        text = self._text
        found: dict[int, list[int]] = {}
        for block in blocks:
            last = self.end_of(block) - 1
            kind = int(text.kind[last])
            if kind not in STOPS:
                found.setdefault(text.next_index(last), []).append(block)
            if kind in (Transfer.BRANCH, Transfer.CONDITIONAL):
                found.setdefault(text.index_at(int(text.target[last])), []).append(block)
        return found
