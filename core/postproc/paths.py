# SPDX-License-Identifier: Apache-2.0
"""Paths: how messages and documents spell them, and which of them name one file."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["identity", "printable", "readable"]


def readable(path: Path) -> str:
    """A path as one line that every encoder takes: bytes that are no UTF-8, and control characters,
    become escapes."""
    return printable(os.fsencode(path).decode("utf-8", "backslashreplace"))


def printable(text: str, keep: str = "") -> str:
    """`text` with escapes for all characters that do not print, but for those in `keep`.

    Names in a file may hold anything, also what a terminal obeys.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text
    )


def identity(path: Path) -> tuple[int, int] | None:
    """What tells whether two paths name one file, through links too; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino)
