# SPDX-License-Identifier: Apache-2.0
"""Paths: how messages and documents spell them, and which of them name one file."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["identity", "readable"]


def readable(path: Path) -> str:
    """A path as text that every encoder takes: bytes that are no UTF-8 become escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def identity(path: Path) -> tuple[int, int] | None:
    """What tells whether two paths name one file, through links too; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino)
