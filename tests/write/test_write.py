# SPDX-License-Identifier: Apache-2.0
"""Atomic output: permissions, links, and what is left when something fails or kills."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from postproc.errors import UsageError
from postproc.write import TEMPORARY, write_atomically

OLD = b"old" * 1000


def leftovers(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name.endswith(TEMPORARY)]


def test_a_new_file_is_written_whole(tmp_path: Path) -> None:
    write_atomically(tmp_path / "out", b"data")
    assert (tmp_path / "out").read_bytes() == b"data"
    assert leftovers(tmp_path) == []


def test_permissions_come_from_the_given_file(tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.write_bytes(OLD)
    source.chmod(0o640)
    write_atomically(tmp_path / "out", b"data", mode_from=source)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o640


def test_without_such_a_file_the_umask_decides(tmp_path: Path) -> None:
    write_atomically(tmp_path / "out", b"data")
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o666 & ~umask


def test_a_link_stays_a_link_and_its_target_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    target, link = folder / "target", tmp_path / "link"
    target.write_bytes(OLD)
    link.symlink_to(target)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert leftovers(tmp_path) == leftovers(folder) == []


def test_a_dangling_link_gets_its_target(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "target")
    write_atomically(link, b"new")
    assert (tmp_path / "target").read_bytes() == b"new"


def test_other_names_of_the_old_file_keep_the_old_content(tmp_path: Path) -> None:
    """A hard link is another name of the input: replacing the output must not write through."""
    out, other = tmp_path / "out", tmp_path / "other"
    out.write_bytes(OLD)
    other.hardlink_to(out)
    write_atomically(out, b"new")
    assert other.read_bytes() == OLD


@pytest.mark.parametrize("path", ["/dev/null", "."])
def test_what_is_no_regular_file_is_not_replaced(path: str) -> None:
    with pytest.raises(UsageError, match="not a regular file"):
        write_atomically(Path(path), b"data")


def test_a_missing_folder_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        write_atomically(tmp_path / "none" / "out", b"data")


def test_a_failed_rename_leaves_the_old_file_and_no_temporary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    out.write_bytes(OLD)

    def refuse(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(UsageError, match="No space"):
        write_atomically(out, b"new")
    assert out.read_bytes() == OLD
    assert leftovers(tmp_path) == []


WRITER = """
import sys
from pathlib import Path
from postproc.write import write_atomically
out, size = Path(sys.argv[1]), int(sys.argv[2])
generations = [bytes([n]) * size for n in (1, 2)]
print("ready", flush=True)
while True:
    for data in generations:
        write_atomically(out, data)
"""


def test_a_writer_that_is_killed_leaves_one_whole_generation(tmp_path: Path) -> None:
    """SIGKILL at many moments of a process that does nothing but write."""
    out = tmp_path / "out"
    size = 1 << 20
    out.write_bytes(b"\0" * size)
    whole = {bytes([n]) * size for n in range(3)}
    for attempt in range(20):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(out), str(size)], stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(attempt * 0.0017)
            writer.send_signal(signal.SIGKILL)
        assert out.read_bytes() in whole
    stray = [path for path in tmp_path.iterdir() if path != out]
    assert all(path.name.endswith(TEMPORARY) for path in stray)
