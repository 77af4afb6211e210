# SPDX-License-Identifier: Apache-2.0
"""What stepping A0 of gfx1250 lacks or gets wrong: one table, in data.

Each row names instructions, the condition on their encoding, what A0 makes of them and who says so.
Rows are ordered: an instruction belongs to the first row that holds for it.  A row holds only if
the configuration does not set its policy to one of `inactive`.

Sources are abbreviated: *strict* is LLVM's feature list of the target gfx1250-strict (A0), *COMGR*
ROCm/llvm-project amd/comgr/src/hotswap, *RJ* rocm-systems rocjitsu dbt gfx1250_b0_to_a0.  L#, S#
and LLVM# are pull requests of ROCm/llvm-project, ROCm/rocm-systems and llvm/llvm-project.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "CLUSTER_TO_GLOBAL",
    "DEFECTS",
    "SCALE_PREFIX_SOURCE2",
    "VGPR0",
    "BitField",
    "BitTest",
    "Defect",
]


@final
@dataclass(frozen=True, slots=True)
class BitField:
    """`length` bits from bit `low` of dword `dword` of an encoding."""

    dword: int
    low: int
    length: int

    @property
    def mask(self) -> int:
        """The bits in their place in the dword."""
        return ((1 << self.length) - 1) << self.low

    def read(self, words: NDArray[np.uint32], starts: NDArray[np.intp]) -> NDArray[np.uint32]:
        """The field of the instructions that start at the dwords `starts` of `words`."""
        return words[starts + self.dword] >> np.uint32(self.low) & np.uint32((1 << self.length) - 1)


_RELATIONS: Final = {"==": np.equal, "!=": np.not_equal, ">": np.greater}


@final
@dataclass(frozen=True, slots=True)
class BitTest:
    """A condition on one field of the encoding."""

    field: BitField
    relation: Literal["==", "!=", ">"]
    value: int

    def holds(self, words: NDArray[np.uint32], starts: NDArray[np.intp]) -> NDArray[np.bool_]:
        """For which of the instructions the condition holds."""
        return _RELATIONS[self.relation](self.field.read(words, starts), np.uint32(self.value))


@final
@dataclass(frozen=True, slots=True)
class Defect:
    """One row: instructions that A0 does not run as B0 does.

    rule        name in reports; the module of `rules` that treats it, and the page in docs/rules
    mnemonics   LLVM's, in full
    on_a0       "absent": no such instruction; "wrong": other results, or a hang; "unsafe": wrong
                only under an asynchronous event; "slow": right, but needlessly slow
    reason      what A0 does, one clause
    source      who says so
    policy      the field of `Config` that decides
    when        all must hold for the encoding
    inactive    values of the policy under which the row does not exist
    """

    rule: str
    mnemonics: tuple[str, ...]
    on_a0: Literal["absent", "wrong", "unsafe", "slow"]
    reason: str
    source: str
    policy: str
    when: tuple[BitTest, ...] = ()
    inactive: tuple[str, ...] = ()


SCALE_PREFIX_SOURCE2: Final = BitField(1, 18, 9)
"""src2 of the scale prefix: bits [58:50] of the first quadword, read by nobody."""

VGPR0: Final = 0x100
"""Source code of v0 in a nine-bit source field."""

_FORMAT: Final = BitField(0, 26, 6)
_VOP3: Final = 0x35
_CLAMP: Final = BitField(0, 15, 1)
_SCALE_SELECT: Final = BitField(0, 11, 4)
_HARDWARE_REGISTER: Final = BitField(0, 0, 6)
_MODE: Final = 1

_LOAD_WIDTHS: Final = ("b32", "b64", "b128")
_ASYNC_WIDTHS: Final = ("b8", "b32", "b64", "b128")

CLUSTER_TO_GLOBAL: Final = {
    **{f"cluster_load_{w}": f"global_load_{w}" for w in _LOAD_WIDTHS},
    **{f"cluster_load_async_to_lds_{w}": f"global_load_async_to_lds_{w}" for w in _ASYNC_WIDTHS},
}
"""The load of the same operands without multicast, for each cluster load."""

_FP8 = ("fp8", "bf8")

DEFECTS: Final[tuple[Defect, ...]] = (
    Defect(
        rule="wmma-k128",
        mnemonics=tuple(
            f"v_wmma_{d}_16x16x128_{a}_{b}" for d in ("f32", "f16") for a in _FP8 for b in _FP8
        ),
        on_a0="absent",
        reason="A0 has no 16x16x128 WMMA of FP8 and BF8",
        source="strict (wmma-16x16x128fp8-insts); COMGR, RJ",
        policy="wmma_k128",
    ),
    Defect(
        rule="wmma-f4",
        mnemonics=("v_wmma_f32_32x16x128_f4",),
        on_a0="absent",
        reason="A0 has no 32x16x128 WMMA of FP4",
        source="strict (wmma-f4-insts, LLVM#222434); COMGR, RJ",
        policy="wmma_f4",
    ),
    Defect(
        rule="wmma-scale-m32",
        mnemonics=("v_wmma_scale_f32_32x16x128_f4", "v_wmma_scale16_f32_32x16x128_f4"),
        on_a0="absent",
        reason="A0 has no scaled 32x16x128 WMMA",
        source="strict (wmma-f4-insts, LLVM#222434); COMGR, RJ",
        policy="wmma_scale_m32",
    ),
    Defect(
        rule="wmma-scale16",
        mnemonics=("v_wmma_scale16_f32_16x16x128_f8f6f4",),
        on_a0="wrong",
        reason="COMGR holds that A0 cannot scale 16 values at a time (strict and RJ: it can)",
        source="COMGR (L#2731, L#3451); against it strict and RJ (S#9438)",
        policy="wmma_scale16",
        inactive=("native",),
    ),
    Defect(
        rule="scale-prefix",
        mnemonics=("v_wmma_scale_f32_16x16x128_f8f6f4", "v_wmma_scale16_f32_16x16x128_f8f6f4"),
        on_a0="slow",
        reason="the unused src2 of the scale prefix names an SGPR or a constant, and the sequencer "
        "waits for it",
        source="COMGR; LLVM 22 writes v0",
        policy="scale_prefix",
        when=(BitTest(SCALE_PREFIX_SOURCE2, "!=", VGPR0),),
    ),
    Defect(
        rule="lone-scale-prefix",
        mnemonics=("v_wmma_ld_scale_paired_b32", "v_wmma_ld_scale16_paired_b64"),
        on_a0="wrong",
        reason="a scale prefix stands without the WMMA that it belongs to, so that the WMMA cannot "
        "be told",
        source="LLVM: one 16-byte instruction (VOP3PX2)",
        policy="lone_scale_prefix",
    ),
    Defect(
        rule="wmma-f8f6f4",
        mnemonics=("v_wmma_f32_16x16x128_f8f6f4",),
        on_a0="unsafe",
        reason="a WMMA of FP8/6/4 without a scale prefix cannot be resumed after a trap on A0",
        source="COMGR (L#2519, L#3695); strict has the instruction",
        policy="wmma_f8f6f4",
    ),
    Defect(
        rule="scale-select",
        mnemonics=tuple(
            f"v_cvt_scale_pk8_{d}_{s}" for d in ("f16", "bf16", "f32") for s in ("fp8", "bf8")
        ),
        on_a0="wrong",
        reason="scale_sel is above 7, the most that A0 has for FP8 and BF8",
        source="strict (block16-cvt-scale-insts, LLVM#222597, and its later refinement)",
        policy="scale_select",
        when=(BitTest(_SCALE_SELECT, ">", 7),),
    ),
    Defect(
        rule="scale-select",
        mnemonics=(
            *(f"v_cvt_scale_pk8_{d}_fp4" for d in ("f16", "bf16", "f32")),
            *(f"v_cvt_scale_pk16_{d}_{s}" for d in ("f16", "bf16", "f32") for s in ("fp6", "bf6")),
        ),
        on_a0="wrong",
        reason="scale_sel is above 3, the most that A0 has for FP4, FP6 and BF6",
        source="strict (block16-cvt-scale-insts, LLVM#222597, and its later refinement)",
        policy="scale_select",
        when=(BitTest(_SCALE_SELECT, ">", 3),),
    ),
    Defect(
        rule="fp8-clamp",
        mnemonics=(
            "v_cvt_pk_fp8_f32",
            "v_cvt_sr_fp8_f32",
            "v_cvt_f32_fp8_e64",
            "v_cvt_f32_fp8_e64_dpp",
            "v_cvt_pk_fp8_f16",
        ),
        on_a0="wrong",
        reason="CLAMP selects UE5M3 on B0, and A0 ignores it",
        source="COMGR, RJ (the f32 forms; the f16 form is taken to behave alike)",
        policy="fp8_clamp",
        when=(BitTest(_FORMAT, "==", _VOP3), BitTest(_CLAMP, "==", 1)),
    ),
    Defect(
        rule="ds2",
        mnemonics=tuple(
            f"ds_{name}_{width}"
            for name in (
                "load_2addr",
                "load_2addr_stride64",
                "store_2addr",
                "store_2addr_stride64",
                "storexchg_2addr_rtn",
                "storexchg_2addr_stride64_rtn",
            )
            for width in ("b32", "b64")
        ),
        on_a0="wrong",
        reason="A0 needs each address of a two-address DS operation aligned to the payload",
        source="strict (hasUnalignedDS2Bug, LLVM#219004, L#1790); COMGR, RJ",
        policy="ds2",
    ),
    Defect(
        rule="ds-addtid",
        mnemonics=("ds_load_addtid_b32", "ds_store_addtid_b32"),
        on_a0="wrong",
        reason="A0 uses 16 bits of M0 where B0 uses 20",
        source="COMGR, RJ",
        policy="ds_addtid",
    ),
    Defect(
        rule="cluster-load",
        mnemonics=tuple(CLUSTER_TO_GLOBAL),
        on_a0="wrong",
        reason="multicast routing of A0 is broken",
        source="COMGR (L#3546, L#3312), RJ",
        policy="cluster_load",
    ),
    Defect(
        rule="tensor-load",
        mnemonics=("tensor_load_to_lds",),
        on_a0="wrong",
        reason="a workgroup mask in D# group 1 makes a multicast load, which hangs A0",
        source="COMGR (L#3525, L#3387), RJ",
        policy="tensor_load",
    ),
    Defect(
        rule="barrier-isfirst",
        mnemonics=("s_barrier_signal_isfirst",),
        on_a0="wrong",
        reason="A0 may return a stale SCC while cluster barriers are in flight",
        source="COMGR; RJ for the cluster barrier",
        policy="barrier_isfirst",
    ),
    Defect(
        rule="clause",
        mnemonics=("s_clause",),
        on_a0="wrong",
        reason="a hard clause may hold the first vector memory operation of the wave, which A0 "
        "does not stand",
        source="COMGR (L#2222, L#3387), RJ",
        policy="clause",
    ),
    Defect(
        rule="sethalt",
        mnemonics=("s_sethalt",),
        on_a0="unsafe",
        reason="A0 must not halt just before the scale load of a scaled WMMA",
        source="COMGR (L#3087)",
        policy="sethalt",
    ),
    Defect(
        rule="integer-wmma",
        mnemonics=(
            "v_wmma_i32_16x16x16_iu4",
            "v_wmma_i32_16x16x16_iu8",
            "v_wmma_i32_16x16x32_iu4",
            "v_wmma_i32_16x16x64_iu8",
            "v_swmmac_i32_16x16x32_iu4",
            "v_swmmac_i32_16x16x32_iu8",
            "v_swmmac_i32_16x16x64_iu4",
            "v_swmmac_i32_16x16x128_iu8",
        ),
        on_a0="wrong",
        reason="A0 needs 8 vector slots between an integer WMMA and what depends on it, B0 needs 4",
        source="COMGR (L#2265), RJ; LLVM 22 leaves 8",
        policy="integer_wmma",
    ),
    Defect(
        rule="backward-add-pc",
        mnemonics=("s_add_pc_i64",),
        on_a0="unsafe",
        reason="a backward s_add_pc_i64 was seen to corrupt wave state on A0",
        source="COMGR (L#3305, L#3347, L#3373), of code that it had generated itself",
        policy="backward_add_pc",
    ),
    Defect(
        rule="mode-write",
        mnemonics=("s_setreg_b32", "s_setreg_imm32_b32"),
        on_a0="wrong",
        reason="a write to MODE needs two v_nop before it",
        source="RJ only",
        policy="mode_write",
        when=(BitTest(_HARDWARE_REGISTER, "==", _MODE),),
        inactive=("ignore",),
    ),
)
"""All rows.  Kernel entries (`entry-vmem`), undecodable words (`undecodable`) and the stepping
itself (`stepping`) are no instructions; their rules stand in modules of their own."""
