# SPDX-License-Identifier: Apache-2.0
"""The main job as a user starts it: `postproc --config configs/hotswap.toml IN -o OUT`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

CONFIG = Path(__file__).resolve().parents[2] / "configs" / "hotswap.toml"


def postproc(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "postproc", "--config", str(CONFIG), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_a_kernel_is_rewritten_verified_and_reported(corpus: Path, tmp_path: Path) -> None:
    source, output, report = corpus / "gfx1250" / "cluster_O3.co", tmp_path / "a0", tmp_path / "r"
    done = postproc(source, "-o", output, "--report", report)
    assert done.returncode == 0, done.stderr
    assert "4 sites rewritten, verified" in done.stdout
    (file,) = json.loads(report.read_text())["files"]
    (code_object,) = file["code_objects"]
    (done_by,) = code_object["passes"]
    assert (done_by["plugin"], done_by["name"]) == ("hotswap", "b0-to-a0")
    rules = sorted(site["rule"] for site in done_by["sites"])
    assert rules == ["clause", "cluster-load", "cluster-load", "cluster-load"]
    assert {site["placement"] for site in done_by["sites"]} == {"in-place"}
    again = tmp_path / "again"
    assert postproc(output, "-o", again).returncode == 0
    assert again.read_bytes() == output.read_bytes() != source.read_bytes()


def test_a_refusal_writes_nothing_and_names_the_site(corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "a0"
    done = postproc(corpus / "gfx1250" / "async1250_O3.co", "-o", output)
    assert done.returncode == 4
    assert not output.exists()
    place = "s_barrier_signal_isfirst in k_cluster (hotswap/barrier-isfirst): "
    assert f"{place}A0 may return a stale SCC" in (done.stderr)


def test_another_target_is_copied_with_a_note(corpus: Path, tmp_path: Path) -> None:
    source = sorted((corpus / "gfx942").iterdir())[0]
    output, report = tmp_path / "same", tmp_path / "r"
    assert postproc(source, "-o", output, "--report", report).returncode == 0
    assert output.read_bytes() == source.read_bytes()
    (file,) = json.loads(report.read_text())["files"]
    assert list(file["plugins"]["hotswap"]["notes"].values()) == [
        "untouched: gfx942 has no steppings to change"
    ]
