# SPDX-License-Identifier: Apache-2.0
"""The AMDGPU instruction sets: tables, decoder, printer and assembler.

    isa = load("gfx1250")
    text = isa.decode(code)
    for i in text.where(isa.match("ds_load_2addr*")):
        print(text[i].offset, text[i].text)
    isa.assemble("s_mov_b32 s4, m0")

The tables are generated from LLVM's MC layer by `tools/isagen`; no LLVM is needed to use them.
"""

from __future__ import annotations

from postproc.isa.decoded import Decoded
from postproc.isa.flags import Flag
from postproc.isa.instruction import Instruction, Operand
from postproc.isa.isa import Isa, UnsupportedTarget, load
from postproc.isa.model import Entry, OperandSpec, OperandValue

__all__ = [
    "Decoded",
    "Entry",
    "Flag",
    "Instruction",
    "Isa",
    "Operand",
    "OperandSpec",
    "OperandValue",
    "UnsupportedTarget",
    "load",
]
