# SPDX-License-Identifier: Apache-2.0
"""Makes the instruction tables that ship, from LLVM.

    python tools/isagen --target gfx1250          one processor, all its wavefront sizes
    python tools/isagen --all

For each wavefront size the facts are generated, checked against LLVM and written, with a report,
into `build/isagen`.  If all checks hold, the table goes to `core/postproc/isa/data`, or to the
folder of `--tables`.  Needs Debian's llvm-22-dev and g++.  A wavefront size takes one to two
minutes of one core.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from .build import OUTPUT, BuildError, Native, build
from .checks import check
from .generate import generate
from .overlay import apply_overlay
from .shipping import DATA, Finished, ShippingError, ship
from .target import open_target
from .targets import PROCESSORS

QUICK_SAMPLES = 1_000_000


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    names = list(PROCESSORS) if options.all else options.target
    try:
        native = build()
    except BuildError as error:
        print(f"isagen: {error}", file=sys.stderr)
        return 2
    wrong = [name for name in names if not write_processor(native, name, options)]
    return 1 if wrong else 0


def write_processor(native: Native, name: str, options: argparse.Namespace) -> bool:
    """All wavefront sizes and the table; whether all checks held."""
    finished = {}
    held = True
    for size in PROCESSORS[name].wavefront_sizes:
        one, right = write_target(native, name, size, options.output, options.samples)
        finished[size] = one
        held &= right
    if held:
        try:
            print(f"{name}: wrote {ship(finished, options.tables)}", file=sys.stderr)
        except ShippingError as error:
            print(f"{name}: {error}", file=sys.stderr)
            held = False
    return held


def write_target(
    native: Native, name: str, size: int, folder: Path, samples: int
) -> tuple[Finished, bool]:
    """Generates, checks, writes the facts; and whether all checks held."""
    started = time.monotonic()
    label = f"{name}, wavefront of {size}"

    def progress(message: str) -> None:
        print(f"{label}: {time.monotonic() - started:6.1f} s  {message}", file=sys.stderr)

    target = open_target(native, name, PROCESSORS[name].features_of(size), size)
    facts = generate(target, progress)
    report = check(target, facts, samples)
    report.notes += [f"overlay: {line}" for line in apply_overlay(facts)]
    progress(f"wrote {facts.write(folder)}")
    progress(f"{len(report.problems)} problems, see {report.write(folder, facts.name)}")
    return Finished(target, facts), not report.problems


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="isagen", description=__doc__)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--target", action="append", choices=list(PROCESSORS), default=[])
    which.add_argument("--all", action="store_true", help="all processors")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="default: build/isagen")
    parser.add_argument("--tables", type=Path, default=DATA, help="where the tables go")
    parser.add_argument(
        "--samples",
        type=int,
        default=QUICK_SAMPLES,
        help="pseudo-random encodings to compare with LLVM (default: one million)",
    )
    return parser
