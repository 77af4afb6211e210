# SPDX-License-Identifier: Apache-2.0
"""Where LLVM 22 is not the whole truth: encodings in real objects that it does not decode.

Each rule loosens entries that LLVM does have: the bits in `free` are no longer looked at, those in
`fixed` must have the given value instead.  The loosened pattern is added behind LLVM's own, so the
entry takes both, and no encoding that LLVM decodes changes its meaning: a rule that would take an
encoding from another entry fails the generator.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .facts import EntryFacts, TargetFacts


@dataclass(frozen=True)
class Loosening:
    """`entries`: a regular expression for LLVM's opcode names; bits count from the first dword."""

    entries: str
    free: int
    source: str
    fixed_mask: int = 0
    fixed_value: int = 0


def _field(low: int, length: int) -> int:
    return (1 << length) - 1 << low


_PREFIX_SRC2 = _field(50, 9)

RULES: dict[str, tuple[Loosening, ...]] = {
    "gfx1250": (
        Loosening(
            r"V_WMMA_(LD_)?SCALE(16)?_",
            _PREFIX_SRC2,
            "Triton 3.9's LLVM and vendor assembly write src2 = 0x80 (inline 0) into the scale"
            " prefix 0xCC35/0xCC3A, AMD's HotSwap also meets SGPRs there; LLVM 22 writes 0x100 (v0)"
            " and insists on it",
        ),
        Loosening(
            r"V_WMMA_SCALE(16)?_F32_32X16X128_F4_",
            _field(72, 8) | _field(123, 2),
            "vendor assembly leaves op_sel, op_sel_hi and clamp of the FP4 WMMA 0xCC88 behind a"
            " scale prefix at will; LLVM 22 wants op_sel_hi = 7 and the others 0",
        ),
        Loosening(
            r"TENSOR_(LOAD_TO|STORE_FROM)_LDS_",
            _field(0, 3) | _field(22, 4) | _field(56, 8),
            "vendor assembly writes 0xD0310000 / 0xD0314000: dim, dmask and vaddr4 are 0 where"
            " LLVM 22 writes 1, 1 and null",
        ),
    ),
}
"""By processor."""


def apply_overlay(facts: TargetFacts) -> list[str]:
    """Adds the rules' patterns to the facts; returns what was added, a line each.

    Raises ValueError if a rule matches no entry or would take encodings from another one.
    """
    added = []
    for rule in RULES.get(facts.processor, ()):
        numbers = [n for n, e in enumerate(facts.entries) if re.match(rule.entries, e.llvm)]
        if not numbers:
            raise ValueError(f"overlay: no entry is called {rule.entries}")
        for number in numbers:
            entry = facts.entries[number]
            fresh = _loosened(entry, rule)
            facts.entries[number] = replace(
                entry,
                patterns=(*entry.patterns, *fresh),
                source="; ".join(filter(None, (entry.source, rule.source))),
            )
            added += [f"{entry.llvm}: {mask:x}/{value:x}: {rule.source}" for mask, value in fresh]
    _check_disjoint(facts)
    return added


def _loosened(entry: EntryFacts, rule: Loosening) -> list[tuple[int, int]]:
    found = []
    for mask, value in entry.patterns:
        mask, value = mask & ~rule.free, value & ~rule.free
        found.append((mask | rule.fixed_mask, value | rule.fixed_value))
    return [pattern for pattern in found if pattern not in entry.patterns]


def _check_disjoint(facts: TargetFacts) -> None:
    """No entry before or behind may share an encoding with an overlay pattern, unless the pattern
    of the other is at least as long and more specific (and so comes first)."""
    for number, entry in enumerate(facts.entries):
        if not entry.source:
            continue
        for mask, value in entry.patterns[1:]:
            for other, mask2, value2 in _patterns_behind(facts.entries, number):
                shared = mask & mask2
                if not (value ^ value2) & shared and not _is_part(facts, other, number):
                    raise ValueError(f"overlay: {entry.llvm} takes encodings from {other.llvm}")


def _patterns_behind(
    entries: Sequence[EntryFacts], number: int
) -> Iterator[tuple[EntryFacts, int, int]]:
    for other in entries[number + 1 :]:
        for mask, value in other.patterns:
            yield other, mask, value


def _is_part(facts: TargetFacts, other: EntryFacts, number: int) -> bool:
    """Whether LLVM, too, prefers the entry to the other, which describes a part of it: a scale
    prefix alone, or a tensor operation with fewer descriptors."""
    ours = facts.entries[number].llvm
    scaled = ours.startswith("V_WMMA_SCALE") and other.llvm.startswith("V_WMMA_LD_SCALE")
    fewer = ours.startswith("TENSOR_") and other.llvm == ours.replace("_D2_", "_")
    return scaled or fewer
