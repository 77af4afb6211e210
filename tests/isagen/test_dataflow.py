# SPDX-License-Identifier: Apache-2.0
"""What data-flow analysis is told of an entry beyond its operands."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tools.isagen.dataflow import flow_of
from tools.isagen.facts import EntryFacts, OperandFacts


def entry(mnemonic: str, format_name: str) -> EntryFacts:
    """An entry with one def: a VGPR masked by EXEC, or an SGPR for scalar formats."""
    scalar = format_name.startswith("S")
    destination = OperandFacts("dst", True, {}, register_class="SReg_32" if scalar else "VGPR_32")
    return EntryFacts(
        mnemonic,
        mnemonic.upper(),
        format_name,
        4,
        4,
        ((0, 0),),
        (destination,),
        frozenset(),
        implicit_uses=() if scalar else ("EXEC",),
    )


def partial(mnemonic: str, format_name: str, generation: int) -> list[str]:
    flow = flow_of(entry(mnemonic, format_name), generation)
    return [why for _, why in flow.get("partial", [])]


@pytest.mark.parametrize(
    ("mnemonic", "format_name", "generation", "expected"),
    [
        ("v_add_f32_e32", "VOP2", 9, ["exec"]),
        ("v_add_f16_e32", "VOP2", 9, ["exec"]),
        ("v_add_f16_e32", "VOP2", 10, ["exec", "low16"]),
        ("v_cvt_f32_f16_e32", "VOP1", 10, ["exec"]),
        ("v_cvt_f16_f32_e32", "VOP1", 10, ["exec", "low16"]),
        ("v_mov_b32_dpp", "VOP1_DPP", 9, ["exec", "dpp"]),
        ("v_mov_b32_sdwa", "VOP1_SDWA", 9, ["exec", "sdwa"]),
        ("v_fma_mixhi_f16", "VOP3P", 9, ["exec", "high16"]),
        ("ds_read_u8_d16", "DS", 9, ["exec", "low16"]),
        ("buffer_load_format_d16_xy", "MUBUF", 9, ["exec"]),
        ("v_writelane_b32", "VOP3", 9, ["lane"]),
        ("s_cmov_b32", "SOP1", 9, ["conditional"]),
        ("s_mov_b32", "SOP1", 9, []),
    ],
)
def test_what_of_the_old_value_lives_on(
    mnemonic: str, format_name: str, generation: int, expected: list[str]
) -> None:
    assert partial(mnemonic, format_name, generation) == expected


@pytest.mark.parametrize(
    ("mnemonic", "expected"),
    [
        ("s_branch", "branch"),
        ("s_cbranch_scc0", "cbranch"),
        ("s_setpc_b64", "jump"),
        ("s_swap_pc_i64", "call"),
        ("s_rfe_b64", "return"),
        ("s_endpgm_saved", "end"),
        ("s_trap", "trap"),
        ("s_nop", None),
    ],
)
def test_control_is_told_by_mnemonic(mnemonic: str, expected: str | None) -> None:
    assert flow_of(entry(mnemonic, "SOPP"), 12).get("control") == expected


def test_memory_is_told_by_format_and_flags() -> None:
    load = entry("global_load_b32", "VGLOBAL")
    flow = flow_of(replace(load, desc_flags=("mayload",), ts_flags=("VM_CNT",)), 12)
    assert (flow["memory"], flow["access"], flow["counters"]) == ("global", ["load"], ["vm"])
