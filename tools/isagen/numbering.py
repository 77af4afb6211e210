# SPDX-License-Identifier: Apache-2.0
"""Names of numbers in LLVM's instruction descriptions.

`MCID` flags and generic operand types are read from LLVM's installed headers.  The headers behind
the others (`AMDGPU::OpName`, `AMDGPU::OperandType`, `SIInstrFlags`) are private to LLVM, so their
names stand here, and `verify_numbering.py` holds each that occurs against LLVM's behaviour.
"""

from __future__ import annotations

import re
from pathlib import Path

_ROLE_WORDS = """
vdst src0 vdata vaddr srsrc soffset offset cpol vdata_in swz saddr addr data0 gds addr_in data1
waitvdst waitvsrc attr attrchan offset0 offset1 vdst_in tgt src1 src2 src3 vm compr en
src0_modifiers clamp omod op_sel round_mode #35 #36 #37 #38 #39 #40 #41 #42 #43 idx #45 #46 #47
sdst simm16 sdata sbase sdst_in imm format vaddr0 vaddr1 vaddr2 vaddr3 r128 old dpp_ctrl
row_mask bank_mask bound_ctrl src1_modifiers dst_sel dst_unused src0_sel src1_sel src2_modifiers
bitop3 byte_sel scale_sel op_sel_hi neg_lo neg_hi waitexp high cbsz blgp abid scale_src0
scale_src1 src0_out fi vdst1 index index_key_16bit matrix_a_reuse matrix_b_reuse index_key_8bit
index_key_32bit matrix_a_fmt matrix_b_fmt matrix_a_scale matrix_b_scale matrix_a_scale_fmt
matrix_b_scale_fmt rsrc dmask dim a16 tfe unorm lwe da vaddr4 vaddr5 vaddr6 vaddr7 vaddr8 vaddr9
vaddr10 vaddr11 ray_origin_out ray_dir_out ssamp d16 samp dpp8 vdstX vdstY src0X_modifiers src0X
vsrc1X_modifiers vsrc1X src0Y_modifiers src0Y vsrc1Y_modifiers vsrc1Y vsrc2Y src2Y
vsrc2Y_modifiers vsrc2X src2X immDeferred vsrc2X_modifiers
"""

ROLES: tuple[str, ...] = tuple(_ROLE_WORDS.split())
"""`AMDGPU::OpName`.  "#n": a number that no real encoding uses."""

_TYPE_WORDS = """
i32 i64 i16 f32 f64 bf16 f16 v2bf16 v2f16 v2f16s v2i16 nv2f16 v2i32 v2f32 ci16 ci32 ci64 cbf16
cf16 cf32 cf64 cv2i16 cv2bf16 cv2f16 splitbar k32 k16 k64 aci32 acf32 acf64 av64 mods
sdwavopcdst
"""

_TARGET_OPERAND_TYPES = tuple(_TYPE_WORDS.split())
"""`AMDGPU::OperandType` from OPERAND_FIRST_TARGET on.  `c...`: inline constants only, no literal;
`a...`: the same for accumulators; `k...`: the literal that VOPD, FMAMK and FMAAK share."""

TS_FLAGS: dict[int, str] = {
    0: "SALU",
    1: "VALU",
    2: "SOP1",
    3: "SOP2",
    4: "SOPC",
    5: "SOPK",
    6: "SOPP",
    7: "VOP1",
    8: "VOP2",
    9: "VOPC",
    10: "VOP3",
    12: "VOP3P",
    13: "VINTRP",
    14: "SDWA",
    15: "DPP",
    16: "TRANS",
    17: "MUBUF",
    18: "MTBUF",
    19: "SMRD",
    20: "MIMG",
    21: "VIMAGE",
    22: "VSAMPLE",
    23: "EXP",
    24: "FLAT",
    25: "DS",
    26: "SPILL",
    28: "LDSDIR",
    29: "VINTERP",
    30: "VOPD3",
    32: "VM_CNT",
    33: "EXP_CNT",
    34: "LGKM_CNT",
    35: "WQM",
    36: "DISABLE_WQM",
    37: "GATHER4",
    38: "TENSOR_CNT",
    39: "SCALAR_STORE",
    40: "FIXED_SIZE",
    41: "ASYNC_CNT",
    42: "VOP3_OPSEL",
    43: "MAYBE_ATOMIC",
    44: "RENAMED_GFX9",
    45: "FPCLAMP",
    46: "INTCLAMP",
    47: "CLAMPLO",
    48: "CLAMPHI",
    49: "PACKED",
    50: "D16BUF",
    51: "GLOBAL",
    52: "FPDP",
    53: "FPATOMIC",
    54: "MAI",
    55: "DOT",
    56: "SCRATCH",
    57: "ATOMIC_NORET",
    58: "ATOMIC_RET",
    59: "WMMA",
    60: "TIED_NOT_READ",
    61: "NEVER_UNIFORM",
    62: "GWS",
    63: "SWMMAC",
}
"""`SIInstrFlags`, by bit.  MAYBE_ATOMIC is LLVM's default for whatever is not known not to be
atomic (it is clear on plain VALU), so it says little; FIXED_SIZE is set where a literal never
follows."""

_DESC_FLAG_NAMES = {
    "Return": "return",
    "Call": "call",
    "Barrier": "barrier",
    "Terminator": "terminator",
    "Branch": "branch",
    "IndirectBranch": "ibranch",
    "Compare": "compare",
    "MoveImm": "moveimm",
    "MoveReg": "movereg",
    "MayLoad": "mayload",
    "MayStore": "maystore",
    "MayRaiseFPException": "fpexc",
    "UnmodeledSideEffects": "sideeffects",
    "Commutable": "commutable",
    "Convergent": "convergent",
    "Trap": "trap",
}
"""`MCID::Flag` -> our name, for those that say something of a machine instruction."""

PCREL = "pcrel"


class Numbering:
    """The names, with those from LLVM's headers filled in.

    `operand_types`: operand type -> name ("" if it says nothing); `desc_flags`: bit -> name.
    """

    def __init__(self, headers: Path) -> None:
        text = (headers / "llvm" / "MC" / "MCInstrDesc.h").read_text(encoding="utf-8")
        flags = _enumerators(text, "Flag")
        types = _enumerators(text, "OperandType")
        self.desc_flags = {flags[name]: ours for name, ours in _DESC_FLAG_NAMES.items()}
        first = types["OPERAND_FIRST_TARGET"]
        self.operand_types = {first + i: name for i, name in enumerate(_TARGET_OPERAND_TYPES)}
        self.operand_types |= {types[name]: "" for name in types if types[name] < first}
        self.operand_types[types["OPERAND_PCREL"]] = PCREL

    def desc_flag_names(self, flags: int) -> list[str]:
        return [name for bit, name in sorted(self.desc_flags.items()) if flags >> bit & 1]


def ts_flag_names(flags: int) -> list[str]:
    return [name for bit, name in TS_FLAGS.items() if flags >> bit & 1]


def _enumerators(header: str, enum: str) -> dict[str, int]:
    """Names and values of a plain C enum."""
    body = re.search(rf"enum {enum} {{(.*?)}};", header, re.DOTALL)
    if body is None:
        raise ValueError(f"MCInstrDesc.h has no enum {enum}")
    values: dict[str, int] = {}
    following = 0
    for item in re.sub(r"//[^\n]*", "", body[1]).split(","):
        name, _, value = (part.strip() for part in item.partition("="))
        if name:
            following = int(value, 0) if value else following
            values[name] = following
            following += 1
    return values
