# SPDX-License-Identifier: Apache-2.0
"""LLVM's registers as hardware knows them: file, index, width, half.

A register is packed into one integer, so that arrays of registers are arrays of integers:
`file << 24 | half << 20 | width << 12 | index`.  `index` is the number in the file; for the scalar
file the hardware code (106 = vcc_lo, 126 = exec_lo ...).  `width` counts dwords.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from .llvm import RegisterDescription

FILES = ("-", "s", "v", "a")
"""Absent, scalar, vector, accumulator; a file's number is its place here."""

_NUMBERED = re.compile(r"(VGPR|AGPR|SGPR|TTMP)(\d+)")
_FILE_OF_PREFIX = {"VGPR": "v", "AGPR": "a", "SGPR": "s", "TTMP": "s"}
_PAIRS = re.compile(
    r"(VCC|EXEC|XNACK_MASK|SGPR_NULL64"
    r"|(FLAT_SCR|TBA|TMA)(_(vi|gfx9plus|ci))?"
    r"|SRC_\w+_(BASE|LIMIT)|SRC_FLAT_SCRATCH_BASE)"
)
"""Two-dword scalar registers without a number; their halves end in _LO and _HI."""


_WIDE_NULLS = {"SGPR_NULL128": 4, "SGPR_NULL256": 8}
_NULL = 124
"""Code of `null` from GFX11 on; LLVM gives the wide nulls, which GFX11 introduced, no encoding."""


@dataclass(frozen=True)
class Register:
    """See the module."""

    file: str
    index: int
    width: int
    half: int

    def packed(self) -> int:
        return FILES.index(self.file) << 24 | self.half << 20 | self.width << 12 | self.index


def unpack(packed: int) -> Register:
    return Register(FILES[packed >> 24], packed & 0xFFF, packed >> 12 & 0xFF, packed >> 20 & 0xF)


def register_of(name: str, encoding: int) -> Register:
    """The register that LLVM calls `name` and encodes as `encoding`."""
    half = 1 if name.endswith("_LO16") else 2 if name.endswith("_HI16") else 0
    numbered = _NUMBERED.match(name)
    if name in _WIDE_NULLS:
        return Register("s", _NULL, _WIDE_NULLS[name], 0)
    if numbered is None:
        whole = re.sub(r"_(LO|HI)16$", "", name)
        width = 2 if _PAIRS.fullmatch(whole) and "_LO" not in whole and "_HI" not in whole else 1
        return Register("s", encoding & 0x1FF, width, half)
    prefix, number = numbered.groups()
    # trap registers are numbered from their own zero; their hardware code is in the encoding
    index = encoding & 0xFF if prefix == "TTMP" else int(number)
    return Register(_FILE_OF_PREFIX[prefix], index, len(_NUMBERED.findall(name)), half)


def register_table(registers: Iterable[RegisterDescription]) -> np.ndarray:
    """int64, indexed by LLVM's register id: the packed register (0: NoRegister)."""
    known: Mapping[int, int] = {r.id: register_of(r.name, r.encoding).packed() for r in registers}
    table = np.zeros(max(known) + 1, np.int64)
    for number, packed in known.items():
        table[number] = packed
    return table
