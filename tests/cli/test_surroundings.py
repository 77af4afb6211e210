# SPDX-License-Identifier: Apache-2.0
"""Paths, streams and processes that are not as one would wish: no traceback, nothing lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Run

UNDELAY = ("-p", "undelay")


@pytest.mark.parametrize("option", ["--report", "--map"])
def test_a_document_never_replaces_an_input(
    postproc: Run, source: Path, tmp_path: Path, option: str
) -> None:
    before = source.read_bytes()
    result = postproc(*UNDELAY, source, "-o", tmp_path / "out.co", option, source)
    assert result.returncode == 2
    assert "this file is read" in result.stderr
    assert source.read_bytes() == before
    assert not (tmp_path / "out.co").exists()


@pytest.mark.parametrize(
    "documents", [("--report", "out.co"), ("--map", "out.co"), ("--map", "m", "--report", "m")]
)
def test_two_results_never_share_a_file(
    postproc: Run, source: Path, tmp_path: Path, documents: Sequence[str]
) -> None:
    named = [tmp_path / word if word[0] != "-" else word for word in documents]
    result = postproc(*UNDELAY, source, "-o", tmp_path / "out.co", *named)
    assert result.returncode == 2
    assert "two results" in result.stderr
    assert not (tmp_path / "out.co").exists()


def test_a_report_that_has_no_folder_is_seen_before_anything_is_written(
    postproc: Run, source: Path, tmp_path: Path
) -> None:
    report = tmp_path / "missing" / "r.json"
    result = postproc(*UNDELAY, source, "-o", tmp_path / "out.co", "--report", report)
    assert result.returncode == 2
    assert not (tmp_path / "out.co").exists()


def test_no_output_replaces_the_configuration(postproc: Run, source: Path, tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text('[postproc]\nplugins = ["hotswap"]\n')
    assert postproc("--config", config, source, "-o", config).returncode == 2
    assert "hotswap" in config.read_text()


def test_an_input_is_known_by_every_spelling(postproc: Run, source: Path, tmp_path: Path) -> None:
    before = source.read_bytes()
    detour = tmp_path / "nothing" / ".." / source.name
    assert postproc(*UNDELAY, source, "-o", detour).returncode == 2
    assert source.read_bytes() == before


def test_an_empty_path_is_not_the_current_folder(postproc: Run) -> None:
    result = postproc(*UNDELAY, "", "--in-place")
    assert result.returncode == 2
    assert "empty path" in result.stderr


@pytest.mark.parametrize(("name", "status"), [("a" * 300, 2), ("a/" + "b" * 300, 3)])
def test_a_name_that_is_too_long_is_no_input(postproc: Run, name: str, status: int) -> None:
    result = postproc(*UNDELAY, name, "--in-place")
    assert result.returncode == status
    assert "Traceback" not in result.stderr


def test_an_output_with_too_long_a_name_is_refused(
    postproc: Run, source: Path, tmp_path: Path
) -> None:
    result = postproc(*UNDELAY, source, "-o", tmp_path / ("a" * 300))
    assert result.returncode == 2
    assert "cannot write the output" in result.stderr


def test_the_longest_name_can_be_written(postproc: Run, source: Path, tmp_path: Path) -> None:
    name = "\N{GRINNING FACE}" * 63
    assert postproc(*UNDELAY, source, "-o", tmp_path / name).returncode == 0


def test_names_need_not_be_utf8(postproc: Run, source: Path, tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"\xff\xfe.co")
    odd.write_bytes(source.read_bytes())
    report = tmp_path / "r.json"
    result = postproc(*UNDELAY, odd, "--output-dir", tmp_path / "out", "--report", report)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "out" / odd.name).exists()
    (file,) = json.loads(report.read_text())["files"]
    assert file["input"]["path"].endswith("\\xff\\xfe.co")
    assert postproc("inspect", "--json", odd).returncode == 0
    assert postproc("disasm", odd).returncode == 0


def test_names_cannot_command_the_terminal(postproc: Run, source: Path, tmp_path: Path) -> None:
    odd = tmp_path / "a\n\x1b[2J.co"
    odd.write_bytes(source.read_bytes())
    result = postproc(*UNDELAY, odd, "--dry-run")
    assert result.returncode == 0
    assert "a\\n\\x1b[2J.co: " in result.stdout
    odd.write_bytes(b"nothing")
    assert "a\\n\\x1b[2J.co" in postproc(*UNDELAY, odd, "--dry-run").stderr


def test_a_folder_that_cannot_be_listed_is_not_passed_over(
    postproc: Run, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from postproc.errors import MalformedInput
    from postproc.pipeline.inputs import find_inputs

    def denied(path: object) -> object:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", denied)
    with pytest.raises(MalformedInput, match="Permission denied"):
        find_inputs([tmp_path])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", [["--version"], ["disasm", "IN"], ["inspect", "IN"]])
def test_a_full_disk_behind_standard_output_is_said(source: Path, words: list[str]) -> None:
    words = [str(source) if word == "IN" else word for word in words]
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "postproc", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert result.returncode == 2
    assert result.stderr.startswith("postproc: error: cannot write to standard output")


@pytest.mark.parametrize("refuse", [False, True])
def test_a_reader_that_left_does_not_change_the_exit_status(
    source: Path, environment: dict[str, str], tmp_path: Path, *, refuse: bool
) -> None:
    config = tmp_path / "c.toml"
    config.write_text(f"[plugin.undelay]\nrefuse = {str(refuse).lower()}\n")
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "postproc", *UNDELAY, "--config", str(config), "--dry-run"]
    result = subprocess.run(
        [*command, str(source)], stdout=writer, stderr=subprocess.PIPE, env=environment, check=False
    )
    os.close(writer)
    assert result.returncode == (4 if refuse else 0)
    assert b"Traceback" not in result.stderr
    assert b"Exception ignored" not in result.stderr


def test_a_worker_that_dies_fails_its_file_and_the_report_is_written(
    postproc: Run, source: Path, tmp_path: Path
) -> None:
    (tmp_path / "modules" / "suicide.py").write_text(
        "import os\n"
        "from postproc import hookimpl\n"
        "@hookimpl\n"
        "def postproc_prepare(context):\n"
        "    os._exit(9)\n"
    )
    (tmp_path / "other.co").write_bytes(source.read_bytes())
    report = tmp_path / "r.json"
    result = postproc(
        "-p", "suicide", source, tmp_path / "other.co", "--dry-run", "-j", 2, "--report", report
    )
    assert result.returncode == 1
    assert "died" in result.stderr
    assert [file["exit_status"] for file in json.loads(report.read_text())["files"]] == [1, 1]


def test_every_name_below_a_folder_gets_its_output(
    postproc: Run, source: Path, tmp_path: Path
) -> None:
    """A link that stands before its target must not take the target's place."""
    tree = tmp_path / "tree"
    (tree / "a").mkdir(parents=True)
    (tree / "b").mkdir()
    (tree / "b" / "k.co").write_bytes(source.read_bytes())
    (tree / "a" / "link.co").symlink_to(tree / "b" / "k.co")
    result = postproc(*UNDELAY, tree, tree / "b" / "k.co", "--output-dir", tmp_path / "out")
    assert result.returncode == 0, result.stderr
    found = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.co")}
    assert found == {"a/link.co", "b/k.co"}
    report = tmp_path / "r.json"
    assert postproc(*UNDELAY, tree, "--in-place", "--report", report).returncode == 0
    assert len(json.loads(report.read_text())["files"]) == 1


def test_errors_are_json_where_messages_are(postproc: Run, tmp_path: Path) -> None:
    for words in (["inspect", "missing.co"], [*UNDELAY, "missing.co", "--in-place"]):
        result = postproc(*words, "--log-format", "json")
        assert result.returncode == 3
        (line,) = map(json.loads, result.stderr.splitlines())
        assert line["level"] == "error"
        assert line["event"].startswith("missing.co: ")


def _is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_workers_do_not_outlive_the_command(
    source: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "modules" / "sleepy.py").write_text(
        "import os, pathlib, time\n"
        "from postproc import hookimpl\n"
        "@hookimpl\n"
        "def postproc_prepare(context):\n"
        "    pathlib.Path(os.environ['PIDS'], str(os.getpid())).touch()\n"
        "    time.sleep(60)\n"
    )
    (tmp_path / "other.co").write_bytes(source.read_bytes())
    seen = tmp_path / "pids"
    seen.mkdir()
    command = [sys.executable, "-m", "postproc", "-p", "sleepy", "--dry-run", "-j", "2"]
    process = subprocess.Popen(
        [*command, str(source), str(tmp_path / "other.co")],
        env={**environment, "PIDS": str(seen)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while len(list(seen.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    workers = [int(path.name) for path in seen.iterdir()]
    assert len(workers) == 2
    while any(map(_is_running, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(_is_running, workers))
