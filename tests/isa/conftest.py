# SPDX-License-Identifier: Apache-2.0
"""LLVM's listing of a code object, and the hand-written kernels of AITER."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

Listing = dict[tuple[str, int], tuple[str, int]]
"""(section, address) -> (text, size in bytes)."""

_LINE = re.compile(r"^\t(\S.*?)\s*// ([0-9A-F]{12}): ((?:[0-9A-F]{8} ?)+)")
_SECTION = "Disassembly of section "
AITER = "amd-aiter==0.1.7.post2.dev18"


@pytest.fixture(scope="session")
def listing(llvm: Callable[..., str]) -> Callable[[Path], Listing]:
    """`listing(path)`: what llvm-objdump prints of each instruction, spaces folded.

    Runs of zeros that it skips, and what it cannot read at all, are not in it.
    """

    def read(path: Path) -> Listing:
        found: Listing = {}
        section = ""
        for line in llvm("llvm-objdump", "-d", "--mattr=+real-true16", path).splitlines():
            if line.startswith(_SECTION):
                section = line[len(_SECTION) : -1]
            match = _LINE.match(line)
            if match:
                text = " ".join(match[1].split(None, 1))
                found[section, int(match[2], 16)] = text, 4 * len(match[3].split())
        return found

    return read


@pytest.fixture(scope="session")
def aiter_objects() -> list[Path]:
    """The code objects of AITER, from PyPI, kept in the user's cache."""
    base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    folder = base / "postproc-tests" / AITER.replace("==", "-")
    if not (folder / "complete").exists():
        _fetch(folder)
    return sorted(p for p in folder.rglob("*") if p.suffix in (".co", ".hsaco"))


def _fetch(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    try:
        subprocess.run([*command, "--dest", str(folder), AITER], check=True, timeout=900)
    except (subprocess.SubprocessError, OSError) as error:
        pytest.skip(f"{AITER} cannot be downloaded: {error}")
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith((".co", ".hsaco")):
                    archive.extract(name, folder)
        wheel.unlink()
    (folder / "complete").touch()
