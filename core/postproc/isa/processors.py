# SPDX-License-Identifier: Apache-2.0
"""Which table serves which processor.

Processors whose instruction sets LLVM 22 cannot tell apart share a table.  `tools/isagen` checks
every line of `SAME_AS` against LLVM.
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
    "gfx9-generic": "gfx900",
    "gfx9-4-generic": "gfx942",
    "gfx10-1-generic": "gfx1010",
    "gfx10-3-generic": "gfx1030",
    "gfx11-generic": "gfx1100",
    "gfx12-generic": "gfx1200",
    "gfx12-5-generic": "gfx1250",
    "gfx1250-strict": "gfx1250",
}


def table_name(processor: str) -> str | None:
    """The table that describes `processor`, or None if there is none."""
    if processor in TABLES:
        return processor
    return SAME_AS.get(processor)
