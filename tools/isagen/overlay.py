# SPDX-License-Identifier: Apache-2.0
"""Encodings that real objects hold and LLVM 22.1.8 does not decode.

Each item loosens entries that LLVM has: it adds a second pattern in which bits that LLVM fixes are
not looked at.  The first pattern stays what the assembler writes.  Sources: objects of Triton 3.9
and of AMD's hand-written kernels for gfx1250, and AMD's HotSwap rewriter, which treats the field
of the scale prefix as free (rule "scale-prefix src2").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Loosened:
    """`ignored`: bits of the encoding that the added pattern does not look at."""

    name: str
    processors: tuple[str, ...]
    applies: Callable[[dict[str, Any]], bool]
    ignored: int
    source: str


PREFIX_SRC2 = 0x1FF << 50
"""The src2 field of the scale prefix; LLVM 22 wants 0x100 (v0), newer LLVM writes 0x80 (0)."""

F4_FORMAT_AND_OP_SEL = (0xFB00 << 64) | (0x78000000 << 96)
"""Format and op_sel bits of the matrix half of a 32x16x128 F4 pair."""

TENSOR_UNUSED = 0x03C0006F | 0xFFFFFFFF << 32
"""dmask, dim and the other image fields that tensor instructions do not use, and the whole second
dword, where LLVM writes 0x7C into an address that is not there."""

OVERLAY = (
    Loosened(
        "scale-prefix",
        ("gfx1250",),
        lambda entry: entry["fmt"] == "VOP3PX",
        PREFIX_SRC2,
        "Triton 3.9 objects; LLVM main since the prefix writes inline 0",
    ),
    Loosened(
        "f4-pair",
        ("gfx1250",),
        lambda entry: entry["fmt"] == "VOP3PX" and "32x16x128_f4" in entry["mn"],
        PREFIX_SRC2 | F4_FORMAT_AND_OP_SEL,
        "hand-written gfx1250 kernels: 0xCC88 behind a ld_scale16 prefix",
    ),
    Loosened(
        "tensor",
        ("gfx1250",),
        lambda entry: entry["mn"] in ("tensor_load_to_lds", "tensor_store_from_lds"),
        TENSOR_UNUSED,
        "hand-written gfx1250 kernels: 0xD0310000 and 0xD0314000",
    ),
)


def apply(processor: str, entries: list[dict[str, Any]]) -> list[str]:
    """Add the overlay's patterns to the facts of a target; returns what was done, a line each."""
    done = []
    for item in OVERLAY:
        if processor not in item.processors:
            continue
        for entry in entries:
            if not item.applies(entry):
                continue
            mask, value = (int(part, 16) for part in entry["pat"][0])
            loose = mask & ~item.ignored
            entry["pat"].append([f"{loose:x}", f"{value & loose:x}"])
            done.append(f"{item.name}: {entry['llvm']}")
    return done
