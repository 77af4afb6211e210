# SPDX-License-Identifier: Apache-2.0
"""Containers: what code objects are found in.  The only format so far is the bare file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, final, runtime_checkable

from postproc.containers.recognition import not_a_code_object
from postproc.errors import MalformedInput
from postproc.paths import readable

if TYPE_CHECKING:
    from postproc.codeobject import CodeObject

__all__ = [
    "BareFile",
    "Container",
    "ContainerNode",
    "map_file",
    "open_code_objects",
    "open_container",
]

_MAP_FROM = 1 << 20
"""Files of at least this many bytes are mapped rather than read."""


@final
@dataclass(frozen=True, slots=True)
class ContainerNode:
    """One level of a container: what lies where.

    `offset` and `size` are bytes in the file, `code_object` the index of the code object that the
    node is, or None.
    """

    format: str
    name: str
    offset: int
    size: int
    code_object: int | None = None
    children: tuple[ContainerNode, ...] = ()


@runtime_checkable
class Container(Protocol):
    """A file that holds code objects, read-only."""

    @property
    def name(self) -> str:
        """What errors and reports call the file."""

    @property
    def tree(self) -> ContainerNode:
        """What lies where in the file."""

    @property
    def code_objects(self) -> tuple[CodeObject, ...]:
        """The code objects in the order of the file."""

    def rebuild(self, code_objects: Sequence[bytes]) -> bytes:
        """The file with other code objects, one for each, in the same order."""


@final
@dataclass(frozen=True, slots=True)
class BareFile:
    """A file that is a code object."""

    name: str
    code_object: CodeObject

    @property
    def tree(self) -> ContainerNode:
        """The file is the code object."""
        return ContainerNode("elf", self.name, 0, len(self.code_object.data), 0)

    @property
    def code_objects(self) -> tuple[CodeObject, ...]:
        """The one code object."""
        return (self.code_object,)

    def rebuild(self, code_objects: Sequence[bytes]) -> bytes:
        """The other code object itself.  ValueError: not exactly one is given."""
        (produced,) = code_objects
        return produced


def open_container(data: bytes | memoryview, name: str) -> Container:
    """The container in `data`, which is not changed while it is in use.

    MalformedInput: `data` is of another kind, which the message names with what can be done, or a
    damaged code object.
    """
    from postproc.codeobject import CodeObject

    view = memoryview(data).cast("B")
    foreign = not_a_code_object(view, name)
    if foreign is not None:
        raise foreign
    return BareFile(name, CodeObject.parse(view, name))


def open_code_objects(
    source: str | Path | bytes | memoryview, name: str = "<bytes>"
) -> tuple[CodeObject, ...]:
    """The code objects in a file (`name` is its path then) or in bytes.  Raises MalformedInput."""
    if isinstance(source, (str, Path)):
        path = Path(source)
        return open_container(map_file(path), readable(path)).code_objects
    return open_container(source, name).code_objects


def map_file(path: Path) -> memoryview:
    """The bytes of a file, mapped if it is large.  MalformedInput: it cannot be read."""
    import mmap

    try:
        with path.open("rb") as file:
            if path.stat().st_size < _MAP_FROM:
                return memoryview(file.read())
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise MalformedInput(
            readable(path), None, f"the file cannot be read: {reason or error}"
        ) from error
