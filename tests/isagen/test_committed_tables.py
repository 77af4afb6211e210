# SPDX-License-Identifier: Apache-2.0
"""The tables in the package are those that the generator makes."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from tools.isagen.build import build
from tools.isagen.generate import generate
from tools.isagen.overlay import apply_overlay
from tools.isagen.shipping import DATA, Finished, ship
from tools.isagen.target import open_target
from tools.isagen.targets import PROCESSORS, SERVES, UNKNOWN_TO_LLVM

from postproc.isa.processors import SAME_AS, TABLES
from postproc.isa.tables import TableFile

MOST_BYTES = 2_000_000
"""All tables together, as they lie in the wheel."""

SMALL = "gfx942"
"""The target that every run makes anew; the slow suite makes the others."""


def made_again(name: str, folder: Path) -> bytes:
    """The table as the generator makes it now."""
    processor, native, finished = PROCESSORS[name], build(), {}
    for size in processor.wavefront_sizes:
        target = open_target(native, name, processor.features_of(size), size)
        facts = generate(target, lambda message: None)
        apply_overlay(facts)
        finished[size] = Finished(target, facts)
    return ship(finished, folder).read_bytes()


@pytest.mark.needs_llvm_dev
def test_the_generator_gives_the_committed_bytes(tmp_path: Path) -> None:
    assert made_again(SMALL, tmp_path) == (DATA / f"{SMALL}.isa").read_bytes()


@pytest.mark.slow
@pytest.mark.needs_llvm_dev
@pytest.mark.parametrize("name", [name for name in PROCESSORS if name != SMALL])
def test_the_generator_gives_the_committed_bytes_of_every_target(name: str, tmp_path: Path) -> None:
    assert made_again(name, tmp_path) == (DATA / f"{name}.isa").read_bytes()


def test_every_processor_has_a_table_and_no_table_is_left_over() -> None:
    assert {path.stem for path in DATA.glob("*.isa")} == set(TABLES) == set(PROCESSORS)


def test_tables_serve_the_processors_that_the_generator_has_compared() -> None:
    assert SAME_AS == SERVES | UNKNOWN_TO_LLVM


def test_tables_are_small() -> None:
    assert sum(path.stat().st_size for path in DATA.glob("*.isa")) < MOST_BYTES


@pytest.mark.parametrize("name", TABLES)
def test_tables_carry_the_version_of_llvm_and_their_digest(name: str) -> None:
    file = TableFile((DATA / f"{name}.isa").read_bytes())
    assert file.llvm_version == "22.1.8"
    digest = hashlib.sha256()
    for size in file.wavefront_sizes:
        digest.update(file.frame(size, 1))
        digest.update(file.frame(size, 2))
    assert file.digest == digest.hexdigest()
