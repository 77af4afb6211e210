# SPDX-License-Identifier: Apache-2.0
"""Atomic output: at any moment the path holds the old file, the whole new one, or nothing.

The new bytes go to a temporary file beside the target, reach the disk, and take the target's name
in one rename.  A process that is killed leaves at most a file whose name ends in `TEMPORARY`;
nothing ever reads one.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from postproc.errors import UsageError
from postproc.paths import readable

__all__ = ["TEMPORARY", "make_folder", "write_atomically"]

TEMPORARY = ".postproc-tmp"
"""Suffix of temporary files; folders given as inputs are read without them."""

_NEW_FILE_MODE = 0o666
"""Before the umask, where there is no file to take the permissions from."""


def write_atomically(path: Path, data: bytes | memoryview, mode_from: Path | None = None) -> None:
    """Write `data` to `path`, with the permissions of `mode_from` (an existing file) if given.

    A symbolic link is followed and stays a link.  Raises UsageError if the target cannot be
    replaced (a folder, a device, no permission, a full disk ...); the target is then as it was.
    """
    target = Path(os.path.realpath(path))
    if os.path.lexists(target) and not os.path.isfile(target):
        raise UsageError("the output is not a regular file", file=readable(path))
    temporary = target.with_name(f".{secrets.token_hex(8)}{TEMPORARY}")
    try:
        _write_new(temporary, data, mode_from)
        try:
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)
    except OSError as error:
        raise UsageError(
            "cannot write the output", file=readable(path), why=error.strerror or str(error)
        ) from error


def make_folder(path: Path) -> None:
    """Create a folder and those above it.  Raises UsageError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            "cannot create the output folder",
            file=readable(path),
            why=error.strerror or str(error),
        ) from error


def _write_new(path: Path, data: bytes | memoryview, mode_from: Path | None) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _NEW_FILE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if mode_from is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode_from.stat().st_mode))
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    """The rename itself must reach the disk, too.

    It has happened by now: a file system that cannot sync a folder makes no error of it.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
