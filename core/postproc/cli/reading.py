# SPDX-License-Identifier: Apache-2.0
"""Opening inputs for the subcommands that only look."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postproc.codeobject import CodeObject
    from postproc.passes import ObjectView

__all__ = ["code_objects", "views"]


def code_objects(path: Path) -> tuple[CodeObject, ...]:
    """The code objects in a file.  Raises MalformedInput."""
    from postproc.containers import open_code_objects

    return open_code_objects(path)


def views(path: Path) -> Iterator[ObjectView]:
    """The code objects in a file, ready to be decoded.  Raises UnsupportedTarget, too."""
    from postproc.pipeline.transform import view_of

    for code_object in code_objects(path):
        yield view_of(code_object)
