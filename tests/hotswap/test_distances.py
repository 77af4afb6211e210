# SPDX-License-Identifier: Apache-2.0
"""Rules that prove a distance and insert nothing: integer WMMA, writes to MODE, kernel entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.hotswap.conftest import Hotswap

IU8 = "v_wmma_i32_16x16x64_iu8 v[16:23], v[0:7], v[8:15], v[16:23]"
END = "\ns_endpgm"


def nops(count: int) -> str:
    return "v_nop\n" * count


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(f"{IU8}\n{nops(8)}v_add_f32_e32 v30, v16, v31", id="reads D after 8"),
        pytest.param(f"{IU8}\n{nops(8)}v_mov_b32_e32 v16, 0", id="writes D after 8"),
        pytest.param(f"{IU8}\n{nops(8)}v_mov_b32_e32 v0, 0", id="writes A after 8"),
        pytest.param(f"{IU8}\nv_mov_b32_e32 v40, v0\n{IU8}", id="accumulates into C"),
        pytest.param(f"{IU8}\nv_mov_b32_e32 v30, v8", id="only reads B"),
        pytest.param(f"{IU8}\n{nops(9)}v_wmma_i32_16x16x64_iu8 v[40:47], v[16:23], v[8:15], "
                     "v[40:47]", id="matrix reads D as A after 9"),
        pytest.param(f"{IU8}\ns_cbranch_scc0 .Lout\n{nops(8)}v_mov_b32_e32 v16, 0\n.Lout:",
                     id="both paths"),
        pytest.param(f"{IU8}\ns_branch .Lnext\nv_mov_b32_e32 v16, 0\n.Lnext:\n{nops(8)}"
                     "v_mov_b32_e32 v16, 0", id="not executed"),
        pytest.param(f".Lloop:\n{IU8}\n{nops(9)}s_cbranch_scc0 .Lloop", id="loop"),
    ],
)  # fmt: skip
def test_integer_wmma_at_a_distance_is_preserved(body: str, hotswap: Hotswap) -> None:
    run = hotswap(body + END)
    assert run.exit_status == 0, run.message
    assert {s.status for s in run.sites if s.rule == "integer-wmma"} == {"preserved"}
    assert run.sites[0].reason == "nothing depends on it within 8 slots"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (f"{IU8}\nv_add_f32_e32 v30, v16, v31", "v_add_f32_e32 at 0x8 depends on it after 0 slots"),
        (f"{IU8}\n{nops(7)}v_mov_b32_e32 v20, 0",
         "v_mov_b32_e32 at 0x24 depends on it after 7 slots"),
        (f"{IU8}\n{nops(4)}v_mov_b32_e32 v15, 0",
         "v_mov_b32_e32 at 0x18 depends on it after 4 slots"),
        (f"{IU8}\n{nops(8)}v_wmma_i32_16x16x64_iu8 v[40:47], v[16:23], v[8:15], v[40:47]",
         "v_wmma_i32_16x16x64_iu8 at 0x28 depends on it after 8 slots"),
        (f"{IU8}\ns_cbranch_scc0 .Lnear\n{nops(8)}.Lnear:\nv_mov_b32_e32 v16, 0",
         "v_mov_b32_e32 at 0x2c depends on it after 0 slots"),
        (f"{IU8}\n{nops(8)}v_swmmac_i32_16x16x128_iu8 v[40:47], v[50:57], v[60:75], v[16:17]",
         "v_swmmac_i32_16x16x128_iu8 at 0x28 depends on it after 8 slots"),
        (f"{IU8}\nv_wmma_scale_f32_16x16x128_f8f6f4 v[40:47], v[80:95], v[60:75], "
         "v[40:47], v30, v16",
         "v_wmma_scale_f32_16x16x128_f8f6f4 at 0x8 depends on it after 0 slots"),
        (f"{IU8}\nv_movrels_b32_e32 v60, v50",
         "v_movrels_b32_e32 at 0x8 may depend on it after 0 slots"),
        (f"{IU8}\ns_set_pc_i64 s[30:31]",
         "s_set_pc_i64 at 0x8 ends what can be seen after 0 slots"),
        (f"{IU8}\ns_nop 7\ns_nop 7\nv_mov_b32_e32 v16, 0",
         "v_mov_b32_e32 at 0x10 depends on it after 0 slots"),
    ],
)  # fmt: skip
def test_integer_wmma_too_near_is_refused(body: str, problem: str, hotswap: Hotswap) -> None:
    run = hotswap(body + END)
    assert run.exit_status == 4
    reason = "A0 needs 8 vector slots between an integer WMMA and what depends on it, B0 needs 4; "
    assert (0, "refused") in run.of("integer-wmma")
    assert reason + problem in {s.reason for s in run.sites}


def test_integer_wmma_may_be_vouched_for(hotswap: Hotswap) -> None:
    run = hotswap(f"{IU8}\nv_mov_b32_e32 v16, 0{END}", integer_wmma="keep")
    assert run.of("integer-wmma") == [(0, "preserved")]


MODE = "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 25, 1), 1"


def test_writes_to_mode_are_ignored_unless_asked_for(hotswap: Hotswap) -> None:
    assert hotswap(f"{MODE}{END}").sites == ()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (f"v_nop\nv_nop\n{MODE}", "preserved"),
        (f"v_nop\n{MODE}", "refused"),
        (f"v_nop\ns_nop 0\n{MODE}", "refused"),
        (f"v_nop\n.Lin:\nv_nop\n{MODE}\ns_cbranch_scc0 .Lin", "refused"),
        ("s_setreg_b32 hwreg(HW_REG_WAVE_MODE), s0", "refused"),
    ],
)
def test_writes_to_mode_under_the_policy_prove(body: str, status: str, hotswap: Hotswap) -> None:
    run = hotswap(body + END, mode_write="prove")
    assert [s.status for s in run.sites] == [status]
    assert run.exit_status == (4 if status == "refused" else 0)


def test_writes_to_other_hardware_registers_are_no_sites(hotswap: Hotswap) -> None:
    run = hotswap(f"s_setreg_b32 hwreg(HW_REG_WAVE_SCHED_MODE), s0{END}", mode_write="prove")
    assert run.sites == ()


def test_a_backward_jump_is_reported(hotswap: Hotswap) -> None:
    run = hotswap(f"s_nop 0\ns_add_pc_i64 -16{END}")
    assert run.of("backward-add-pc") == [(4, "preserved")]
    assert run.reason("backward-add-pc") == (
        "kept by policy, although a backward s_add_pc_i64 was seen to corrupt wave state on A0"
    )


@pytest.mark.parametrize(
    ("operand", "exit_status"), [("-16", 4), ("s[4:5]", 4), ("0", 0), ("lit64(0)", 0)]
)
def test_backward_jumps_may_be_refused(operand: str, exit_status: int, hotswap: Hotswap) -> None:
    run = hotswap(f"s_nop 0\ns_nop 0\ns_add_pc_i64 {operand}{END}", backward_add_pc="refuse")
    assert run.exit_status == exit_status, run.message


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("global_prefetch_b8 v0, s[0:1] scope:SCOPE_SE\nv_nop", "preserved"),
        ("global_wb scope:SCOPE_CU\nv_nop", "preserved"),
        ("global_wb scope:SCOPE_CU", "refused"),
        ("global_load_b32 v0, v1, s[0:1]\nv_nop", "refused"),
    ],
)
def test_kernel_entries_are_looked_at_on_demand(body: str, status: str, hotswap: Hotswap) -> None:
    assert hotswap(body + END).sites == ()
    run = hotswap(body + END, entry_vmem="prove")
    assert run.of("entry-vmem") == [(0, status)]
    assert run.exit_status == (4 if status == "refused" else 0)
