# SPDX-License-Identifier: Apache-2.0
"""The sample plugins, installed as a user would, in a folder of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "sample_plugin"

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PYTHONPATH that holds the distribution `postproc-sample`."""
    target = tmp_path_factory.mktemp("site-packages")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--no-compile"]
    quiet = ["--disable-pip-version-check", "--root-user-action=ignore"]
    command = [sys.executable, "-m", "pip", "install", *options, *quiet]
    subprocess.run([*command, "--target", str(target), str(SOURCE)], check=True, timeout=300)
    return target


@pytest.fixture
def postproc(installed: Path, tmp_path: Path) -> Run:
    """`postproc("plugins", "--json", ...)` in a process that sees the sample plugins."""

    def run(
        *arguments: object, environment: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(installed), *filter(None, [os.environ.get("PYTHONPATH")])])
        return subprocess.run(
            [sys.executable, "-m", "postproc", *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": path, **(environment or {})},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run
