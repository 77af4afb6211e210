# SPDX-License-Identifier: Apache-2.0
"""One shared service that knows orders, dominators and loops of a function's blocks.

    service = LoopService(graph)
    tags = service.analyze()            # computed once
    service.insert_edge(3, 7)           # queued
    service.analyze()                   # applied; what the edge cannot have changed is kept

The answer is always that of a rebuild from scratch.  It is kept until an edge changes; edits that
keep blocks and edges keep everything.  What a change of edges touches is computed anew, and no
more if the change is small and the depth-first search stays (`postproc_cfg.graph.updates`).

The pipeline phase may be switched off by the configuration; `analyze` never is.  The service is
not re-entrant: to call it from a listener that it is calling raises `ReentryError`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar, final

import numpy as np

from postproc.errors import PostprocError
from postproc_cfg.graph.csr import Graph
from postproc_cfg.graph.cycles import CycleForest
from postproc_cfg.graph.dominators import DominatorTree, dominators, postdominators
from postproc_cfg.graph.edges import EdgeSet, edge_keys
from postproc_cfg.graph.nesting import nest
from postproc_cfg.graph.order import DepthFirst, depth_first
from postproc_cfg.graph.tags import (
    ANALYSIS_BITS,
    SECONDARY_BITS,
    BlockFlag,
    GraphFlag,
    LoopTags,
    tag_blocks,
)
from postproc_cfg.graph.updates import (
    reached_pairs,
    search_stays,
    updated_dominators,
    updated_nesting,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc_cfg.graph.edges import Pairs
    from postproc_cfg.graph.nesting import Nesting

__all__ = ["LoopService", "ReentryError"]

_Word = TypeVar("_Word", np.uint32, np.uint8)
_PESSIMISTIC: Final = np.uint32(BlockFlag.LOOP_HEADER | BlockFlag.HAS_PRED)
_MANY_CHANGES: Final = 32
"""Batches greater than this, and than a fortieth of the blocks, are not worth looking at."""


class ReentryError(PostprocError):
    """The service was called while it was at work."""


@final
class LoopService:
    """Tags, orders, dominators and cycles of a graph of blocks that changes.

    Successors and entries are taken in ascending order.  `unresolved` are blocks whose successors
    are not all known, with the reasons.  `listeners` are called with the tags whenever they were
    computed anew.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        unresolved: Mapping[int, str] | None = None,
        phase_enabled: bool = True,
        listeners: Iterable[Callable[[LoopTags], None]] = (),
    ) -> None:
        self.phase_enabled = phase_enabled
        self.revision = 0
        """Counts edits of any kind."""
        self.routes: Counter[str] = Counter()
        """How often analyses were `reused`, `updated` and `rebuilt`."""
        self._listeners = tuple(listeners)
        self._busy = False
        self._words = np.zeros(graph.node_count, np.uint32)
        self._secondary = np.zeros(graph.node_count, np.uint8)
        self._unresolved = dict(unresolved or {})
        self._replace(graph)

    def _replace(self, graph: Graph) -> None:
        self._blocks = graph.node_count
        self._entries = np.unique(graph.entries)
        self._edges = EdgeSet.of(graph)
        self._graph = self._edges.graph(self._blocks, self._entries)
        self._forget()

    def _forget(self) -> None:
        self._search: DepthFirst | None = None
        self._nesting: Nesting | None = None
        self._cycles: CycleForest | None = None
        self._dominators: DominatorTree | None = None
        self._postdominators: DominatorTree | None = None
        self._tags: LoopTags | None = None

    # ------------------------------------------------------------ edits
    @property
    def block_count(self) -> int:
        return self._blocks

    def keep_blocks(self) -> None:
        """Say that instructions were edited, but neither blocks nor edges."""
        with self._at_work():
            self.revision += 1

    def insert_edge(self, source: int, target: int) -> None:
        """Queue one more edge.  Raises IndexError if there is no such block."""
        self._change(source, target, 1)

    def delete_edge(self, source: int, target: int) -> None:
        """Queue one edge less.  Raises KeyError if there is no such edge."""
        self._change(source, target, -1)

    def _change(self, source: int, target: int, by: int) -> None:
        with self._at_work():
            self._check(source)
            self._check(target)
            self._edges.change(source, target, by)
            self.revision += 1

    def add_block(self) -> int:
        """A new block without edges; returns its number, which is the greatest."""
        with self._at_work():
            self._blocks += 1
            self._words = np.append(self._words, np.uint32(0))
            self._secondary = np.append(self._secondary, np.uint8(0))
            self.revision += 1
            return self._blocks - 1

    def set_unresolved(self, block: int, reason: str | None) -> None:
        """Say why not all successors of a block are known, or (None) that they are."""
        with self._at_work():
            self._check(block)
            self.revision += 1
            if self._unresolved.get(block) == reason:
                return
            if reason is None:
                del self._unresolved[block]
            else:
                self._unresolved[block] = reason
            self._tags = None

    def update(self, graph: Graph, unresolved: Mapping[int, str] | None = None) -> None:
        """Take over the edges of a new graph of the same or more blocks, as a queue of changes.

        With fewer blocks or other entries nothing is kept but foreign flags.
        """
        with self._at_work():
            self.revision += 1
            if self._unresolved != dict(unresolved or {}):
                self._unresolved, self._tags = dict(unresolved or {}), None
            self._resize_words(graph.node_count)
            same_entries = np.array_equal(np.unique(graph.entries), self._entries)
            if graph.node_count < self._blocks or not same_entries:
                self._replace(graph)
                return
            self._blocks = graph.node_count
            self._queue_differences(graph)

    def _queue_differences(self, graph: Graph) -> None:
        keys, counts = edge_keys(graph)
        known = self._edges
        both = np.union1d(keys, known.keys)
        change = np.zeros(both.size, np.int64)
        change[np.searchsorted(both, keys)] += counts
        change[np.searchsorted(both, known.keys)] -= known.counts
        differ = change != 0
        known.waiting = dict(zip(both[differ].tolist(), change[differ].tolist(), strict=True))

    def _resize_words(self, count: int) -> None:
        more = max(count - self._words.size, 0)
        self._words = np.pad(self._words[:count], (0, more))
        self._secondary = np.pad(self._secondary[:count], (0, more))

    def _check(self, block: int) -> None:
        if not 0 <= block < self._blocks:
            raise IndexError(f"there is no block {block}")

    # ------------------------------------------------------------ flags
    def mark(self, block: int, bits: int) -> None:
        """Set foreign bits in a block's word.  ValueError for bits that the analysis owns."""
        self._words[block] |= np.uint32(_foreign(bits))

    def unmark(self, block: int, bits: int) -> None:
        """Clear foreign bits in a block's word.  ValueError for bits that the analysis owns."""
        self._words[block] &= np.uint32(~_foreign(bits) & 0xFFFFFFFF)

    @property
    def words(self) -> NDArray[np.uint32]:
        """The words of all blocks, foreign bits included, as they are now.  Read-only view."""
        return _read_only(self._words)

    @property
    def secondary(self) -> NDArray[np.uint8]:
        return _read_only(self._secondary)

    @property
    def graph_flags(self) -> GraphFlag:
        """Flags of the whole graph; analyzes if need be."""
        tags = self.analyze()
        flags = GraphFlag.RPO_VIOLATION if tags.rpo_violation else GraphFlag(0)
        early = self._words & np.uint32(BlockFlag.EARLY_EXIT) != 0
        return flags | GraphFlag.EARLY_EXIT if (early & (tags.rpo > 0)).any() else flags

    # ------------------------------------------------------------ answers
    def run_phase(self) -> LoopTags | None:
        """The pipeline phase: analyze, unless the configuration switches the phase off."""
        return self.analyze() if self.phase_enabled else None

    def analyze(self, *, force_full_rebuild: bool = False) -> LoopTags:
        """The tags of the graph as it is now.

        `force_full_rebuild` drops everything that was kept, for callers who restructure loops and
        want nothing to rest on earlier work; the answer is the same.
        """
        with self._at_work():
            if force_full_rebuild:
                self._edges.apply()
                self._graph = self._edges.graph(self._blocks, self._entries)
                self._forget()
            else:
                self._refresh()
            return self._current_tags()

    @property
    def graph(self) -> Graph:
        """The graph as it is now, each edge once."""
        with self._at_work():
            self._refresh()
            return self._graph

    @property
    def search(self) -> DepthFirst:
        with self._at_work():
            self._refresh()
            return self._current_search()

    @property
    def cycles(self) -> CycleForest:
        with self._at_work():
            self._refresh()
            return self._current_cycles()

    @property
    def dominators(self) -> DominatorTree:
        with self._at_work():
            self._refresh()
            if self._dominators is None:
                self._dominators = dominators(self._graph, self._current_search())
            return self._dominators

    @property
    def postdominators(self) -> DominatorTree:
        with self._at_work():
            self._refresh()
            if self._postdominators is None:
                self._postdominators = postdominators(self._graph)
            return self._postdominators

    # ------------------------------------------------------------ inside
    @contextmanager
    def _at_work(self) -> Iterator[None]:
        if self._busy:
            raise ReentryError(
                "the loop service was called while it was at work",
                why="a listener may read the tags it is given, but neither ask nor edit",
            )
        self._busy = True
        try:
            yield
        finally:
            self._busy = False

    def _current_tags(self) -> LoopTags:
        if self._tags is not None:
            self.routes["reused"] += 1
            return self._tags
        self.routes["rebuilt" if self._cycles is None else "updated"] += 1
        self._words &= np.uint32(~ANALYSIS_BITS & 0xFFFFFFFF)
        self._secondary &= np.uint8(~SECONDARY_BITS & 0xFF)
        self._words |= _PESSIMISTIC  # what readers see should the analysis not come to its end
        tags = tag_blocks(
            self._graph, self._current_search(), self._current_cycles(), self._unresolved
        )
        self._words ^= _PESSIMISTIC
        self._words |= tags.flags
        self._secondary |= tags.secondary
        for listener in self._listeners:
            listener(tags)
        self._tags = tags
        return tags

    def _current_search(self) -> DepthFirst:
        if self._search is None:
            self._search = depth_first(self._graph)
        return self._search

    def _current_cycles(self) -> CycleForest:
        if self._cycles is None:
            search = self._current_search()
            self._nesting = nest(self._graph, search)
            self._cycles = CycleForest(self._graph, search, self._nesting)
        return self._cycles

    def _refresh(self) -> None:
        """Apply what waits; keep what it cannot have changed."""
        if not self._edges.waiting and self._blocks == self._graph.node_count:
            return
        come, gone = self._edges.apply()
        before = self._graph
        if not come and not gone and self._blocks == before.node_count:
            return
        self._graph = self._edges.graph(self._blocks, self._entries)
        small = len(come) + len(gone) <= max(_MANY_CHANGES, self._blocks // 40)
        if self._search is None or self._blocks != before.node_count or not small:
            self._forget()
            return
        come, gone = reached_pairs(self._search, come), reached_pairs(self._search, gone)
        if search_stays(before, self._search, come, gone):
            self._update(self._search, come, gone)
        else:
            self._forget()

    def _update(self, search: DepthFirst, come: Pairs, gone: Pairs) -> None:
        self._tags = self._postdominators = None
        if self._dominators is not None:
            self._dominators = updated_dominators(self._graph, search, self._dominators, come, gone)
        if self._cycles is not None and self._nesting is not None:
            self._nesting = updated_nesting(
                self._graph, search, (self._cycles, self._nesting), come, gone
            )
            self._cycles = CycleForest(self._graph, search, self._nesting)


def _foreign(bits: int) -> int:
    if bits & ANALYSIS_BITS or not 0 <= bits <= 0xFFFFFFFF:
        raise ValueError(f"bits 0x{bits & ANALYSIS_BITS:x} of a block belong to the analysis")
    return bits


def _read_only(array: NDArray[_Word]) -> NDArray[_Word]:
    view = array.view()
    view.flags.writeable = False
    return view
