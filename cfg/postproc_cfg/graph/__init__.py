# SPDX-License-Identifier: Apache-2.0
"""Algorithms over plain graphs: orders, dominators, cycles, and the loop service.

graph = Graph.of(offsets, targets, entries=[0])
dominators(graph).dominates(a, b)
for cycle in find_cycles(graph): ...
"""

from __future__ import annotations

from postproc_cfg.graph.csr import Graph
from postproc_cfg.graph.cycles import Cycle, CycleForest, find_cycles
from postproc_cfg.graph.dominators import (
    ROOT,
    UNREACHABLE,
    DominatorTree,
    dominators,
    postdominators,
)
from postproc_cfg.graph.loop_service import LoopService, ReentryError
from postproc_cfg.graph.order import DepthFirst, depth_first, reverse_postorder
from postproc_cfg.graph.tags import BlockFlag, GraphFlag, LoopTags, SecondaryFlag

__all__ = [
    "ROOT",
    "UNREACHABLE",
    "BlockFlag",
    "Cycle",
    "CycleForest",
    "DepthFirst",
    "DominatorTree",
    "Graph",
    "GraphFlag",
    "LoopService",
    "LoopTags",
    "ReentryError",
    "SecondaryFlag",
    "depth_first",
    "dominators",
    "find_cycles",
    "postdominators",
    "reverse_postorder",
]
