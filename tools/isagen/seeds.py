# SPDX-License-Identifier: Apache-2.0
"""Finds which leaves of LLVM's decoder tables a target reaches, and encodings that reach them.

Each leaf is filled with pseudo-random bits outside its mask, and LLVM is asked what it makes of
the result.  A leaf is reached if LLVM names its opcode (or a variant of it) and no earlier leaf
explains that.  The random numbers of a leaf depend on the leaf only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from .decoder_tables import Leaf
from .llvm import WINDOW
from .study import Study
from .target import Target, family
from .windows import force, from_int, mask_of, to_int

SEED = 20240607
FILLS = 64
KEPT = 96
"""Encodings kept for one leaf."""

_DPP_AND_SDWA = (0xE9, 0xEA, 0xFA, 0xF9)
"""Codes of src0 that select DPP8 (without and with fetch-inactive), DPP16 and SDWA.  For some
leaves LLVM checks them in C++, so they are not among the fixed bits."""


def find_studies(target: Target, only: str = "") -> list[Study]:
    """One study for each leaf that the target reaches, in order of precedence.

    `only`: a regular expression for LLVM's opcode names, for trials.
    """
    leaves = [
        leaf for leaf in target.leaves if re.search(only, target.instruction(leaf.opcode).name)
    ]
    own, borrowed = _accepted_fills(target, leaves)
    studies = []
    for order in sorted(own.keys() | borrowed.keys()):
        leaf = target.leaves[order]
        # encodings made for another leaf have more bits fixed than need be
        seeds = own.get(order, [])
        if len(seeds) < 12:
            seeds = seeds + borrowed.get(order, [])
        studies.append(Study(leaf, target.opcodes(leaf), np.array(seeds)))
    return studies


_Found = dict[int, list[np.ndarray]]
"""Windows by the order of the leaf that explains what LLVM makes of them."""


def _accepted_fills(target: Target, leaves: Sequence[Leaf]) -> tuple[_Found, _Found]:
    """Of the fills of all leaves those that LLVM accepts: what was made for the leaf that explains
    it, and what was made for another one."""
    fills = [_fill(leaf) for leaf in leaves]
    starts = np.cumsum([0, *map(len, fills)])
    windows = np.concatenate(fills)
    decodes = target.llvm.decode(windows, operands=False)
    rows = np.nonzero(decodes.accepted)[0]
    owners = [leaves[i] for i in (np.searchsorted(starts, rows, "right") - 1).tolist()]
    opcodes = decodes.opcode[rows].tolist()
    attribution = _Attribution(target, zip(opcodes, owners, strict=True))
    own: _Found = {}
    borrowed: _Found = {}
    for row, owner, opcode in zip(rows.tolist(), owners, opcodes, strict=True):
        order = attribution.leaf_of(opcode, windows[row])
        if order is not None:
            kept = (own if order == owner.order else borrowed).setdefault(order, [])
            if len(kept) < KEPT:
                kept.append(windows[row])
    return own, borrowed


class _Attribution:
    """Which leaf explains that LLVM gave an encoding an opcode.

    Only a leaf can whose own fill got its opcode; the others belong to other targets.
    """

    def __init__(self, target: Target, fills: Iterable[tuple[int, Leaf]]) -> None:
        """`fills`: what LLVM made of an accepted fill, and the leaf that it was made for."""
        self._target = target
        self._live: dict[int | str, list[Leaf]] = {}
        live = {leaf.order for opcode, leaf in fills if opcode in target.opcodes(leaf)}
        for order in sorted(live):
            leaf = target.leaves[order]
            name = target.instruction(leaf.opcode).name
            keys: tuple[int | str, ...] = (leaf.opcode, family(name))
            for key in keys:
                self._live.setdefault(key, []).append(leaf)

    def leaf_of(self, opcode: int, window: np.ndarray) -> int | None:
        """The first that can; the same opcode may stand in several tables, and may be what LLVM
        replaces another of its family with."""
        bits = to_int(window)
        name = self._target.instruction(opcode).name
        keys: tuple[int | str, ...] = (opcode, family(name))
        for key in keys:
            for leaf in self._live.get(key, ()):
                if bits & leaf.mask == leaf.value:
                    return leaf.order
        return None


def _fill(leaf: Leaf) -> np.ndarray:
    """About a hundred encodings with the leaf's fixed bits."""
    rng = np.random.default_rng([SEED, leaf.order])
    size = leaf.size
    windows = rng.integers(0, 256, (FILLS, WINDOW), dtype=np.uint8)
    # reserved bits must often be zero, so half of the rows have fewer ones, a quarter even fewer
    half, quarter = FILLS // 2, FILLS // 4
    windows[:half, :size] &= rng.integers(0, 256, (half, size), dtype=np.uint8)
    windows[:quarter, :size] &= rng.integers(0, 256, (quarter, size), dtype=np.uint8)
    windows[0, :size] = 0
    _select_vgprs(windows, size)
    windows = np.concatenate([windows, *_dpp_and_sdwa(windows, size)])
    force(windows, leaf.mask, leaf.value)
    return windows


def _select_vgprs(windows: np.ndarray, size: int) -> None:
    """Sets the top bit of the 9-bit source fields, which selects VGPRs, in some of the rows."""
    half, quarter = FILLS // 2, FILLS // 4
    vop3 = (40, 49, 58)
    groups: Sequence[tuple[int, int, tuple[int, ...]]] = (
        (half + 1, half + half // 4, (8,) if size <= 8 else ()),
        (quarter, quarter + quarter // 2, (8, *vop3)),
        (half, half + half // 2, (*vop3, 104, 113, 122) if size == 16 else vop3),
    )
    for start, end, bits in groups:
        for bit in bits:
            if bit < size * 8:
                windows[start:end, bit >> 3] |= np.uint8(1 << (bit & 7))


def _dpp_and_sdwa(windows: np.ndarray, size: int) -> list[np.ndarray]:
    """Rows whose src0 field (in the first dword, or for VOP3 in the second) selects DPP or SDWA."""
    places = ([0] if size == 8 else []) + ([4] if size >= 12 else [])
    extra = []
    for place in places:
        for code in _DPP_AND_SDWA:
            rows = windows[1::6].copy()
            rows[:, place] = code
            if place == 4:
                rows[:, 5] &= 0xFE  # the ninth bit of the field
            extra.append(rows)
    return extra


def more_seeds(target: Target, study: Study, wanted: int = 40) -> None:
    """Mutates the seeds of a rarely accepted leaf until there are enough of them."""
    rng = np.random.default_rng([SEED, study.leaf.order, 1])
    free = from_int(mask_of(study.free_bits), WINDOW)
    for _ in range(6):
        if len(study.seeds) >= wanted:
            return
        mutants = np.repeat(study.seeds, 16, 0)
        # on average one free bit in sixteen is inverted
        noise = rng.integers(0, 256, (4, len(mutants), WINDOW), dtype=np.uint8)
        mutants ^= np.bitwise_and.reduce(noise) & free
        accepted = study.accepts(target.llvm.decode(mutants, operands=False))
        if not accepted.any():
            return
        study.seeds = np.concatenate([study.seeds, mutants[accepted][:wanted]])
