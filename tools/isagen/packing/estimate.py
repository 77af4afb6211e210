# SPDX-License-Identifier: Apache-2.0
"""Estimated lengths: the tables that find instruction starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .decision import Tree
from .facts import Facts, Pattern
from .lanes import EntryChecks, Lanes, by_place

DPP_CODES = (0xFA, 0xE9, 0xEA)

FOLLOW_FLAGS = {"src0": 1, "src2": 2, "dpp": 4, "src1": 0x80}
"""Bits that say what the second dword asks for: a literal of a source, or a DPP dword.  The field
of src1 straddles the halves of the dword; its bit is set when both halves set it."""

HAS_LITERAL = 0x80
"""Set in an estimated length that counts a literal already."""


def estimate_arrays(
    facts: Facts, patterns: Sequence[Pattern], tree: Tree, lanes: Lanes, checks: EntryChecks
) -> dict[str, np.ndarray]:
    """The tables of `postproc.isa.decoding.estimate`.

    For each upper half of the first dword a *kind*; for each kind and class of lower half a
    length, and which flags of the second dword make it one longer.  Both halves' tables carry in
    their upper byte the flags that the same half gives as part of a second dword.
    """
    low = np.arange(65536, dtype=np.uint32)
    low_lane = lanes.table("low0", 16)
    rows: dict[bytes, int] = {}
    lengths: list[np.ndarray] = []
    follow: list[int] = []
    kind_of_slot = []
    for slot in range(len(tree.candidate_start) - 1):
        ids = tree.candidates[tree.candidate_start[slot] : tree.candidate_start[slot + 1]]
        length = np.full(65536, 255 if ids else 1, np.uint8)
        usual: np.ndarray | None = None
        need = 0
        for i in ids:
            mask, value, number = patterns[i]
            own = np.full(65536, facts.entries[number]["size"] // 4, np.uint8)
            own[(low_lane & checks.literal4["low0"][number]) != 0] += HAS_LITERAL + 1
            own[(low_lane & checks.literal8["low0"][number]) != 0] += HAS_LITERAL + 2
            fits = (low & np.uint32(mask & 0xFFFF)) == np.uint32(value & 0xFFFF)
            fits &= (low_lane & checks.bad["low0"][number]) == 0
            usual = own if usual is None else usual
            length[fits] = np.minimum(length[fits], own[fits])
            need |= _follow_flags(facts, facts.entries[number], mask, value)
        if usual is not None:
            length[length == 255] = usual[length == 255]
        key = length.tobytes() + bytes([need])
        if key not in rows:
            rows[key] = len(rows)
            lengths.append(length)
            follow.append(need)
        kind_of_slot.append(rows[key])
    if len(rows) > 256:
        raise ValueError(f"{len(rows)} kinds of upper halves")
    columns, class_of_low = _at_most_256(np.stack(lengths))
    table = np.ones((256, 256), np.uint8)
    table[: columns.shape[0], : columns.shape[1]] = columns
    low_flags = np.where((low & 0x1FF) == 0xFF, FOLLOW_FLAGS["src0"], 0)
    low_flags |= np.where(np.isin(low & 0x1FF, DPP_CODES), FOLLOW_FLAGS["dpp"], 0)
    low_flags |= np.where(low >> 9 == 0x7F, FOLLOW_FLAGS["src1"], 0)
    high_flags = np.where((low >> 2 & 0x1FF) == 0xFF, FOLLOW_FLAGS["src2"], 0)
    high_flags |= np.where((low & 3) == 1, FOLLOW_FLAGS["src1"], 0)
    kind_of_high = np.array(kind_of_slot, np.uint16)[tree.slot]
    padded = np.zeros(256, np.uint16)
    padded[: len(follow)] = follow
    return {
        "estimate_low": (class_of_low.reshape(-1) | low_flags << 8).astype(np.uint16),
        "estimate_high": (kind_of_high | high_flags << 8).astype(np.uint16),
        "estimate_length": table.reshape(-1),
        "estimate_follow": padded,
    }


def _at_most_256(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct columns and the column of each lower half; rare ones join their nearest."""
    columns, inverse, count = np.unique(lengths, axis=1, return_inverse=True, return_counts=True)
    order = np.argsort(-count, kind="stable")
    kept = columns[:, order[:256]]
    renumber = np.empty(columns.shape[1], np.intp)
    renumber[order[:256]] = np.arange(min(256, order.size))
    for column in order[256:]:
        renumber[column] = (kept != columns[:, [column]]).sum(axis=0).argmin()
    return kept, renumber[inverse.reshape(-1)]


def _follow_flags(facts: Facts, entry: dict[str, Any], mask: int, value: int) -> int:
    flags = 0
    if mask >> 32 & 0xFF == 0xFF and value >> 32 & 0xFF in DPP_CODES and entry["size"] == 12:
        flags |= FOLLOW_FLAGS["dpp"]
    for op in entry["ops"]:
        if "cls" not in op or ("L", 4) not in facts.expanded_class(op["cls"]):
            continue
        for low, length in by_place(tuple(tuple(r) for r in op["bits"]), frozenset())[0]:
            place = {(32, 9): "src0", (41, 9): "src1", (50, 9): "src2"}.get((low, length))
            flags |= FOLLOW_FLAGS[place] if place else 0
    return flags
