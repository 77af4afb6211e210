# SPDX-License-Identifier: Apache-2.0
"""Which table serves which processor.

Where LLVM 22 decodes all that one processor has just as for another one, the table of the latter
serves both.  `tools/isagen` asks LLVM about every such pair.
"""

from __future__ import annotations

TABLES = (
    "gfx900",
    "gfx906",
    "gfx908",
    "gfx90a",
    "gfx942",
    "gfx950",
    "gfx1010",
    "gfx1030",
    "gfx1100",
    "gfx1151",
    "gfx1200",
    "gfx1201",
    "gfx1250",
)

SAME_AS: dict[str, str] = {
    **dict.fromkeys(("gfx9-generic", "gfx902", "gfx909", "gfx90c"), "gfx900"),
    "gfx904": "gfx906",
    "gfx9-4-generic": "gfx942",
    "gfx10-1-generic": "gfx1010",
    **dict.fromkeys(("gfx10-3-generic", *(f"gfx103{n}" for n in range(1, 7))), "gfx1030"),
    **dict.fromkeys(("gfx11-generic", "gfx1101", "gfx1102", "gfx1103"), "gfx1100"),
    **dict.fromkeys(("gfx1150", "gfx1152", "gfx1153"), "gfx1151"),
    "gfx12-generic": "gfx1200",
    "gfx12-5-generic": "gfx1250",
    "gfx1250-strict": "gfx1250",
}
"""The last two are unknown to LLVM 22: the generic target of gfx1250, and its A0 stepping."""


def table_name(processor: str) -> str | None:
    """The table that describes `processor`, or None if there is none."""
    if processor in TABLES:
        return processor
    return SAME_AS.get(processor)
