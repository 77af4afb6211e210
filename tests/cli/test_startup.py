# SPDX-License-Identifier: Apache-2.0
"""What starting up costs: modules that a command does not need are not imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"numpy", "rich", "structlog", "elftools", "msgspec", "pluggy", "zstandard"}


def imported(*arguments: str) -> set[str]:
    """Top-level modules that `python -m postproc ARGUMENTS` imports."""
    result = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "postproc", *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    lines = result.stderr.splitlines()
    return {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in lines if "|" in line}


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["run", "--help"]], ids=" ".join)
def test_version_and_help_import_nothing_heavy(arguments: list[str]) -> None:
    found = imported(*arguments)
    assert "postproc" in found
    assert not found & HEAVY


def test_importing_the_package_imports_nothing_but_itself() -> None:
    code = "import sys, postproc; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert not {name.split(".")[0] for name in result.stdout.split()} & HEAVY


def test_the_markers_of_plugins_are_there_on_demand() -> None:
    import postproc

    assert postproc.hookimpl.project_name == "postproc"
    assert postproc.hookspec.project_name == "postproc"
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        _ = postproc.nothing_of_this_name
