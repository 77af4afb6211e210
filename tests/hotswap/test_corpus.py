# SPDX-License-Identifier: Apache-2.0
"""Every gfx1250 object at hand: rewritten or refused, and what is rewritten is sound."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from postproc.codeobject import CodeObject
from postproc.isa import load
from postproc.testing import find_tool

if TYPE_CHECKING:
    from tests.hotswap.conftest import Run

Scan = Callable[[Any], list[tuple[int, str]]]
Rewritten = Callable[..., "Run"]

MAY_STAY = {"clause"}
"""Preserved by proof."""


@pytest.fixture
def gfx1250_objects(all_objects: tuple[Path, ...]) -> tuple[Path, ...]:
    found = tuple(p for p in all_objects if any(f.startswith("gfx1250") for f in p.parts))
    assert found
    return found


def check(path: Path, rewritten: Rewritten, scan: Scan) -> Run:
    """All that holds for one object without LLVM."""
    code_object = CodeObject.parse(path.read_bytes(), path.name)
    run = rewritten(code_object)
    assert run.exit_status in (0, 4), f"{path}: {run.message}"
    if run.produced is None:
        assert any(site.status == "refused" for site in run.sites), path
        return run
    again = rewritten(CodeObject.parse(bytes(run.produced.data), path.name))
    assert again.exit_status == 0, f"{path}: {again.message}"
    assert again.produced is not None
    assert bytes(again.produced.data) == bytes(run.produced.data), path
    check_differences(code_object, run, path)
    if code_object.target.processor == "gfx1250":
        check_nothing_left(run, path, scan)
    return run


def check_differences(code_object: CodeObject, run: Run, path: Path) -> None:
    """The output differs from the input in the sites that are reported as rewritten, in each of
    them, and nowhere else."""
    assert run.produced is not None
    before = np.frombuffer(code_object.data, np.uint8)
    after = np.frombuffer(run.produced.data, np.uint8)
    assert len(before) == len(after), path
    changed = before != after
    touched = set()
    for section in code_object.executable_sections:
        starts = [f.offset for f in code_object.functions if f.section_index == section.index]
        decoded = load("gfx1250").decode(code_object.code(section), starts)
        span = slice(section.offset, section.offset + section.size)
        at = np.flatnonzero(changed[span])
        owner = np.searchsorted(decoded.offset, at, side="right") - 1
        touched |= {(section.index, int(decoded.offset[i])) for i in np.unique(owner).tolist()}
        changed[span] = False
    assert not changed.any(), path
    assert touched == run.rewritten, path


def check_nothing_left(run: Run, path: Path, scan: Scan) -> None:
    """A scan that knows only bits finds nothing but what was preserved by proof."""
    assert run.produced is not None
    preserved = {(s.offset, s.rule) for s in run.sites if s.status == "preserved"}
    assert {rule for _, rule in preserved} <= MAY_STAY | {"backward-add-pc", "integer-wmma"}
    for section in run.produced.executable_sections:
        starts = [f.offset for f in run.produced.functions if f.section_index == section.index]
        decoded = load("gfx1250").decode(run.produced.code(section), starts)
        left = [item for item in scan(decoded) if item not in preserved]
        assert left == [], path


def test_every_gfx1250_object_is_rewritten_or_refused(
    gfx1250_objects: tuple[Path, ...], rewritten: Rewritten, left_for_a0: Scan
) -> None:
    runs = [check(path, rewritten, left_for_a0) for path in gfx1250_objects]
    assert {run.exit_status for run in runs} == {0, 4}
    assert any(s.status == "rewritten" for run in runs for s in run.sites)


WORDS = (0xBF850003, 0xBF820001, 0xEE19C002, 0xCC350000, 0xBEA04B02, 0xBFA00002, 0xBE9E4914)
"""Clause, halt, cluster load, scale prefix, relative jump, branch, call."""


def test_damaged_code_is_rewritten_or_refused(corpus: Path, rewritten: Rewritten) -> None:
    """Whatever stands in the text: exit status 0 or 4, and a second run finds nothing."""
    random = Random(20)
    sources = [p.read_bytes() for p in sorted((corpus / "gfx1250").glob("[bcirt]*"))]
    for _ in range(120):
        data = bytearray(random.choice(sources))
        section = random.choice(CodeObject.parse(data, "whole.co").executable_sections)
        for _ in range(random.randint(1, 12)):
            at = section.offset + 4 * random.randrange(section.size // 4)
            word = random.choice((random.getrandbits(32), random.choice(WORDS)))
            data[at : at + 4] = word.to_bytes(4, "little")
        run = rewritten(CodeObject.parse(data, "damaged.co"))
        assert run.exit_status in (0, 4), run.message
        if run.produced is not None:
            again = rewritten(CodeObject.parse(bytes(run.produced.data), "again.co"))
            assert again.produced is not None, again.message
            assert bytes(again.produced.data) == bytes(run.produced.data)


@pytest.mark.needs_llvm
def test_llvm_reads_every_output_as_it_reads_the_input(
    gfx1250_objects: tuple[Path, ...], rewritten: Rewritten, tmp_path: Path
) -> None:
    """The same headers, symbols, notes and descriptors; and no warning that the input has not."""
    for path in gfx1250_objects:
        run = rewritten(CodeObject.parse(path.read_bytes(), path.name))
        if run.produced is None or not any(s.status == "rewritten" for s in run.sites):
            continue
        before = readelf(path.read_bytes(), tmp_path)
        after = readelf(bytes(run.produced.data), tmp_path)
        assert after == before, path


def readelf(data: bytes, folder: Path) -> str:
    """What `llvm-readelf --all` prints, warnings among it."""
    tool = find_tool("llvm-readelf")
    assert tool is not None
    (folder / "object.co").write_bytes(data)
    command = [tool, "--all", "object.co"]
    done = subprocess.run(
        command, cwd=folder, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=60,
    )  # fmt: skip
    return done.stdout
