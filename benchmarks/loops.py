# SPDX-License-Identifier: Apache-2.0
"""What the loop service saves against walking the whole graph on each call.

    python benchmarks/loops.py [--blocks 1000 10000] [--calls 131]

A kernel of many loops is asked for its tags again and again, as passes do, with no edit, an edit
that keeps blocks, a local change of edges, or one that moves the depth-first search in between.
The peer does what compilers do that keep nothing: it analyzes from scratch on each call.  Times are
CPU times of one process; every answer is compared with the peer's.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable

from postproc_cfg.graph import Graph
from postproc_cfg.graph.loop_service import LoopService
from postproc_cfg.graph.tags import LoopTags

Edit = Callable[[LoopService, random.Random], None]


def kernel(blocks: int) -> Graph:
    """Short loops in a row, branches around blocks, every ninth loop nested into the one before."""
    edges = [(i, i + 1) for i in range(blocks - 1)]
    edges += [(i + 6, i) for i in range(1, blocks - 6, 10)]
    edges += [(i + 8, i + 1) for i in range(0, blocks - 8, 90)]
    edges += [(i, i + 2) for i in range(0, blocks - 2, 7)]
    return Graph.from_edges(blocks, edges)


def nothing(service: LoopService, chance: random.Random) -> None:
    pass


def same_blocks(service: LoopService, chance: random.Random) -> None:
    service.keep_blocks()


def back_edge(service: LoopService, chance: random.Random) -> None:
    at = chance.randrange(10, service.block_count)
    service.insert_edge(at, at - chance.randrange(8))


def far_jump(service: LoopService, chance: random.Random) -> None:
    at = chance.randrange(service.block_count - 40)
    service.insert_edge(at, at + 40)


EDITS: dict[str, Edit] = {
    "no edit": nothing,
    "same blocks": same_blocks,
    "a back edge": back_edge,
    "a jump forward": far_jump,
}


def agree(one: LoopTags, other: LoopTags) -> bool:
    fields = ("rpo", "latch_pred_rpo", "loop_exit_rpo", "flags", "secondary")
    return all(bool((getattr(one, f) == getattr(other, f)).all()) for f in fields)


def measure(blocks: int, calls: int, edit: Edit) -> tuple[float, float, dict[str, int]]:
    """Seconds of the service and of the peer for `calls` calls, and the routes taken."""
    service, chance = LoopService(kernel(blocks)), random.Random(1)
    service.analyze()
    ours = peers = 0.0
    for _ in range(calls):
        started = time.process_time()
        edit(service, chance)
        tags = service.analyze()
        ours += time.process_time() - started
        graph = service.graph
        started = time.process_time()
        expected = LoopService(graph).analyze()
        peers += time.process_time() - started
        if not agree(tags, expected):
            raise SystemExit(f"the service and a rebuild from scratch differ: {edit.__name__}")
    return ours, peers, dict(service.routes)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--blocks", type=int, nargs="+", default=[1000, 10000])
    parser.add_argument("--calls", type=int, default=131)
    options = parser.parse_args()
    print(
        f"{'blocks':>7}  {'before each call':<16} {'service':>10} {'re-walk':>10} {'ratio':>8}"
        "  routes"
    )
    for blocks in options.blocks:
        for name, edit in EDITS.items():
            ours, peers, routes = measure(blocks, options.calls, edit)
            per_call, per_walk = 1e3 * ours / options.calls, 1e3 * peers / options.calls
            print(
                f"{blocks:>7}  {name:<16} {per_call:>7.3f} ms {per_walk:>7.3f} ms "
                f"{peers / max(ours, 1e-9):>7.1f}x  {routes}"
            )


if __name__ == "__main__":
    main()
