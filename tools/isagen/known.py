# SPDX-License-Identifier: Apache-2.0
"""Disagreements with LLVM that are meant to be, each with its reason."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Known:
    """Regular expressions for the kind of disagreement, our entry and LLVM's opcode name."""

    what: str
    ours: str
    theirs: str
    reason: str


KNOWN: tuple[Known, ...] = (
    Known(
        "LLVM accepts",
        "",
        r"V_DUAL_.*_e96_gfx1250|V_.*_dpp8?_gfx1[12]\d*|TENSOR_.*",
        "VOPD3, VOP3 with DPP and tensor instructions have no 8-byte literal: for the source code"
        " 0xFE LLVM reads eight bytes of the instruction itself; we reject the code",
    ),
    Known(
        r"size 12 against 16",
        r"V_.*_dpp.*",
        r"V_.*_dpp.*",
        "LLVM takes the value 0xFF of dpp_ctrl for a literal, as if it were a source",
    ),
    Known(
        "LLVM rejects",
        r"V_DUAL_FMA[AM]K_.*|V_DUAL_.*_FMA[AM]K_.*",
        "",
        "beside a shared literal LLVM takes the source code 0xFE in some encodings only; we take it"
        " in all",
    ),
    Known(
        "LLVM accepts|size 8 against 16",
        "|V_(WMMA|MFMA)_LD_SCALE.*",
        r"V_(WMMA|MFMA).*F8F6F4.*",
        "with reserved matrix formats LLVM does not look at the matrix operands and prints"
        " `/*Invalid ...*/` for sources that are no VGPRs; we reject those sources",
    ),
    Known(
        "LLVM accepts",
        "",
        r"V_FMAC_.*_e64_dpp8?_.*",
        "LLVM takes the literal code 0xFF of a DPP instruction for the number 255; we reject it",
    ),
    Known(
        "LLVM crashes",
        r"V_(WMMA|MFMA).*F8F6F4.*",
        "<crash>",
        "LLVM takes a constant in place of a matrix for a register and dies when the formats make"
        " it narrow that register",
    ),
)


KNOWN_OPERANDS: tuple[Known, ...] = (
    Known(
        "register / register|immediate / immediate",
        r"V_(WMMA|MFMA).*F8F6F4.*",
        r"src[01]",
        "LLVM does not narrow matrix operands that are no VGPRs as the formats ask",
    ),
    Known(
        "register / register",
        "IMAGE_.*",
        r"vdata|vdst|vaddr\d+",
        "where data or addresses would reach past the last VGPR, LLVM leaves the operands as they"
        " stand in its table",
    ),
    Known(
        "immediate / immediate",
        ".*dpp.*",
        r"dpp8|dpp_ctrl|row_mask|bank_mask|bound_ctrl|fi",
        "LLVM takes some values of these immediates for inline constants, as if they were sources",
    ),
)
"""`what`: our kind of operand and LLVM's; `theirs`: the role."""


def reason_for(what: str, ours: str, theirs: str) -> str | None:
    for known in KNOWN:
        pairs = (known.what, what), (known.ours, ours), (known.theirs, theirs)
        if all(re.fullmatch(pattern, text) for pattern, text in pairs):
            return known.reason
    return None


def operand_reason_for(entry: str, role: str, what: str) -> str | None:
    for known in KNOWN_OPERANDS:
        pairs = (known.what, what), (known.ours, entry), (known.theirs, role)
        if all(re.fullmatch(pattern, text) for pattern, text in pairs):
            return known.reason
    return None
