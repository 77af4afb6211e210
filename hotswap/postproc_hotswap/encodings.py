# SPDX-License-Identifier: Apache-2.0
"""Encodings that the rules write, and changes of single fields."""

from __future__ import annotations

from typing import Final

from postproc_hotswap.defects import BitField

__all__ = ["GLOBAL_OPCODE", "S_NOP_0", "with_field"]

S_NOP_0: Final = (0xBF800000).to_bytes(4, "little")
"""`s_nop 0` (SOPP, opcode 0)."""

GLOBAL_OPCODE: Final = BitField(0, 14, 8)
"""OP of the format VGLOBAL (RDNA4 ISA guide, "VGLOBAL")."""


def with_field(data: bytes, field: BitField, value: int) -> bytes:
    """The encoding `data` with `field` set to `value`."""
    at = 4 * field.dword
    word = int.from_bytes(data[at : at + 4], "little") & ~field.mask | value << field.low
    return data[:at] + word.to_bytes(4, "little") + data[at + 4 :]
