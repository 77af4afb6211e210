# SPDX-License-Identifier: Apache-2.0
"""Places in executable sections.  All offsets are bytes from the start of the section."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

__all__ = ["TextPosition", "TextRange"]


@final
@dataclass(frozen=True, slots=True, order=True)
class TextPosition:
    """One byte of an executable section: `section` is its index, `offset` counts bytes."""

    section: int
    offset: int

    def __str__(self) -> str:
        return f"section {self.section}+0x{self.offset:x}"


@final
@dataclass(frozen=True, slots=True, order=True)
class TextRange:
    """The half-open range of bytes `start <= offset < end` of one executable section.

    ValueError: the range runs backwards or begins before its section.
    """

    section: int
    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"no range: {self.start:#x}..{self.end:#x}")

    def __str__(self) -> str:
        return f"section {self.section}+0x{self.start:x}..0x{self.end:x}"

    @property
    def size(self) -> int:
        """Bytes in the range."""
        return self.end - self.start

    @property
    def first(self) -> TextPosition:
        """Where the range begins."""
        return TextPosition(self.section, self.start)

    def contains(self, position: TextPosition) -> bool:
        """Whether the byte at `position` is in the range."""
        return position.section == self.section and self.start <= position.offset < self.end

    def covers(self, other: TextRange) -> bool:
        """Whether all of `other` is in the range."""
        return other.section == self.section and self.start <= other.start and other.end <= self.end

    def overlaps(self, other: TextRange) -> bool:
        """Whether a byte is in both; an empty range overlaps nothing."""
        return other.section == self.section and max(self.start, other.start) < min(
            self.end, other.end
        )
