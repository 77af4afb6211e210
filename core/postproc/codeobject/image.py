# SPDX-License-Identifier: Apache-2.0
"""Bounded access to the bytes of a file: every read of the parser goes through here."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, final

from postproc.errors import MalformedInput

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Image"]


@final
class Image:
    """The bytes of one code object, with the name that errors give it.

    All offsets and sizes are bytes from the start of the code object, and are not trusted.
    """

    __slots__ = ("data", "name")

    def __init__(self, data: bytes | bytearray | memoryview, name: str) -> None:
        self.data = memoryview(data).cast("B").toreadonly()
        self.name = name

    @property
    def size(self) -> int:
        """Bytes in the code object."""
        return len(self.data)

    def fail(self, offset: int | None, reason: str, *, hint: str | None = None) -> NoReturn:
        """Raise MalformedInput."""
        raise MalformedInput(self.name, offset, reason, hint=hint)

    def slice(self, offset: int, size: int, what: str) -> memoryview:
        """The bytes of `what`; MalformedInput if they are not all in the file."""
        if offset < 0 or size < 0 or offset > self.size or size > self.size - offset:
            self.fail(
                offset,
                f"{what} (0x{size:x} bytes) reaches past the end of the file (0x{self.size:x})",
            )
        return self.data[offset : offset + size]

    def records(
        self, offset: int, count: int, dtype: np.dtype[np.void], what: str
    ) -> npt.NDArray[np.void]:
        """`count` records of `dtype` from `offset`, as a read-only array."""
        import numpy as np

        return np.frombuffer(self.slice(offset, count * dtype.itemsize, what), dtype=dtype)
