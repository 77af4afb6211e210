# SPDX-License-Identifier: Apache-2.0
"""SIGKILL at any moment: the output is the old file, the whole new one, or nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from postproc.write import TEMPORARY

if TYPE_CHECKING:
    from tests.cli.conftest import Run

MOMENTS = 16


@pytest.mark.parametrize("existing", [True, False], ids=["over an old file", "new file"])
def test_a_killed_run_leaves_old_or_new(
    postproc: Run, environment: dict[str, str], source: Path, tmp_path: Path, existing: bool
) -> None:
    folder = tmp_path / "outputs"
    folder.mkdir()
    out = folder / "out.co"
    command = ["-p", "undelay", str(source), "-o", str(out)]
    started = time.monotonic()
    assert postproc(*command).returncode == 0
    whole_run = time.monotonic() - started
    new, old = out.read_bytes(), b"what was there before"
    for moment in range(MOMENTS):
        out.unlink(missing_ok=True)
        if existing:
            out.write_bytes(old)
        with subprocess.Popen(
            [sys.executable, "-m", "postproc", *command],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            time.sleep(whole_run * 1.1 * moment / MOMENTS)
            process.send_signal(signal.SIGKILL)
        if out.exists():
            assert out.read_bytes() in ((old, new) if existing else (new,))
        else:
            assert not existing
        assert all(p.name.endswith(TEMPORARY) for p in folder.iterdir() if p != out)


def test_a_run_that_is_killed_while_it_writes(
    postproc: Run, environment: dict[str, str], source: Path, tmp_path: Path
) -> None:
    """The kill comes as soon as a temporary file is seen beside the output."""
    folder = tmp_path / "outputs"
    folder.mkdir()
    out = folder / "out.co"
    command = ["-p", "undelay", str(source), "-o", str(out)]
    assert postproc(*command).returncode == 0
    new, old = out.read_bytes(), b"what was there before"
    for _ in range(6):
        out.write_bytes(old)
        with subprocess.Popen(
            [sys.executable, "-m", "postproc", *command],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            while process.poll() is None and len(list(folder.iterdir())) < 2:
                pass
            process.send_signal(signal.SIGKILL)
        assert out.read_bytes() in (old, new)
    assert postproc("-p", "undelay", folder, "--dry-run", "-q").returncode in (0, 3)
