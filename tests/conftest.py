# SPDX-License-Identifier: Apache-2.0
"""What all tests share: real code objects, and LLVM as the oracle.

Fixtures
    corpus           the folder `tests/corpus`
    corpus_object    one object of it; a test that asks for this runs once for each
    corpus_objects   all of them
    all_objects      these, and those of `../shared/corpus/open` beside the repository if it exists
    llvm             `llvm("llvm-readelf", "-h", path)`: the output of a tool of LLVM 22

A test that needs LLVM is marked `needs_llvm`.  It is skipped where LLVM is missing; in CI it fails.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

pytest_plugins = ["postproc.testing"]

CORPUS = Path(__file__).resolve().parent / "corpus"
WIDER_CORPUS = CORPUS.parents[2] / "shared" / "corpus" / "open"
SUFFIXES = (".co", ".hsaco", ".o")
LLVM_TOOLS = ("llvm-mc", "llvm-objdump", "llvm-readelf", "ld.lld", "clang")

hypothesis.settings.register_profile("default", deadline=None, print_blob=True)
hypothesis.settings.load_profile("default")


def objects_below(folder: Path) -> tuple[Path, ...]:
    """All code objects below a folder, sorted; none if it does not exist."""
    return tuple(sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip or fail tests that need LLVM where it is missing."""
    from postproc.testing import find_tool

    fixtures = getattr(item, "fixturenames", ())
    needs_llvm = {"assembled", "llvm"} & set(fixtures) or item.get_closest_marker("needs_llvm")
    missing = [tool for tool in LLVM_TOOLS if find_tool(tool) is None] if needs_llvm else []
    if not missing:
        return
    reason = f"needs LLVM 22, without {', '.join(missing)}: apt-get install llvm-22 lld-22 clang-22"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests that ask for `corpus_object` once for each."""
    if "corpus_object" in metafunc.fixturenames:
        paths = objects_below(CORPUS)
        names = [path.relative_to(CORPUS).as_posix() for path in paths]
        metafunc.parametrize("corpus_object", paths, ids=names)


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of the repository's own code objects."""
    return CORPUS


@pytest.fixture(scope="session")
def corpus_objects() -> tuple[Path, ...]:
    """The repository's own code objects."""
    return objects_below(CORPUS)


@pytest.fixture(scope="session")
def all_objects() -> tuple[Path, ...]:
    """Every code object at hand."""
    return objects_below(CORPUS) + objects_below(WIDER_CORPUS)


@pytest.fixture(scope="session")
def llvm() -> Callable[..., str]:
    """`llvm(tool, *arguments)` runs a tool of LLVM 22 and returns its output."""
    from postproc.testing import find_tool

    def run(tool: str, *arguments: str | Path) -> str:
        path = find_tool(tool)
        assert path is not None, tool
        command = [path, *map(str, arguments)]
        return subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=300
        ).stdout

    return run
