# SPDX-License-Identifier: Apache-2.0
"""Rules that change an instruction where it stands: exact bytes before and after."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from postproc.codeobject import CodeObject

if TYPE_CHECKING:
    from tests.hotswap.conftest import Hotswap, Run

END = "\ns_endpgm"


def words(code: bytes, count: int) -> list[int]:
    return [int.from_bytes(code[at : at + 4], "little") for at in range(0, 4 * count, 4)]


ADDRESSES = ("v[2:3], off", "v1, s[2:3]", "v1, s[2:3] offset:-16 th:TH_LOAD_NT scope:SCOPE_SYS")


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(
    ("load", "destination"),
    [
        ("load_b32", "v4"),
        ("load_b64", "v[4:5]"),
        ("load_b128", "v[4:7]"),
        ("load_async_to_lds_b8", "v4"),
        ("load_async_to_lds_b32", "v4"),
        ("load_async_to_lds_b64", "v4"),
        ("load_async_to_lds_b128", "v4"),
    ],
)
def test_a_cluster_load_becomes_the_global_load_of_the_same_operands(
    load: str, destination: str, address: str, hotswap: Hotswap
) -> None:
    run = hotswap(f"cluster_{load} {destination}, {address}{END}")
    expected = hotswap(f"global_{load} {destination}, {address}{END}")
    assert run.of("cluster-load") == [(0, "rewritten")]
    assert run.code == expected.code


def test_the_bytes_of_a_cluster_load(hotswap: Hotswap) -> None:
    run = hotswap(f"cluster_load_b32 v4, v[2:3], off{END}")
    assert words(run.code, 1) == [0xEE05007C]


def test_scc_and_m0_are_left_alone_around_a_cluster_load(hotswap: Hotswap) -> None:
    """The scalar form needs no wrapper: three instructions stay three."""
    before = "s_cmp_eq_u32 s0, s0\n{} v4, v1, s[2:3]\ns_cbranch_scc1 .Lend\n.Lend:\ns_endpgm"
    run = hotswap(before.format("cluster_load_b32"))
    assert run.code == hotswap(before.format("global_load_b32")).code


def test_a_cluster_load_in_another_bank_keeps_its_registers(hotswap: Hotswap) -> None:
    before = "s_set_vgpr_msb 0x41\n{} v4, v[2:3], off\ns_set_vgpr_msb 0x4100\ns_endpgm"
    run = hotswap(before.format("cluster_load_b32"))
    assert run.code == hotswap(before.format("global_load_b32")).code


@pytest.mark.parametrize("policy", ["keep", "refuse"])
def test_policies_of_cluster_loads(policy: str, hotswap: Hotswap) -> None:
    run = hotswap(f"cluster_load_b32 v4, v1, s[2:3]{END}", cluster_load=policy)
    assert run.exit_status == {"keep": 0, "refuse": 4}[policy]
    why = "multicast routing of A0 is broken"
    reasons = {"keep": f"kept by policy, although {why}", "refuse": why}
    assert run.reason("cluster-load") == reasons[policy]


@pytest.mark.parametrize("operand", ["0", "1", "5"])
def test_sethalt_becomes_a_nop(operand: str, hotswap: Hotswap) -> None:
    run = hotswap(f"s_sethalt {operand}{END}")
    assert run.of("sethalt") == [(0, "rewritten")]
    assert words(run.code, 1) == [0xBF800000]


def test_sethalt_may_be_kept(hotswap: Hotswap) -> None:
    run = hotswap(f"s_sethalt 1{END}", sethalt="keep")
    assert run.of("sethalt") == [(0, "preserved")]
    assert words(run.code, 1) == [0xBF820001]


SECOND_HALF = "0xcc330000, 0x04023108"
"""v_wmma_f32_16x16x128_f8f6f4 v[0:7], v[8:23], v[24:39], v[0:7]"""

PREFIXES = [
    pytest.param(0xCC350000, 0x02025328, 0x04025328, id="inline zero"),
    pytest.param(0xCC350000, 0x00025328, 0x04025328, id="s0"),
    pytest.param(0xCC3A0000, 0x02025528, 0x04025528, id="scale16"),
]


@pytest.mark.parametrize(("first", "second", "expected"), PREFIXES)
def test_the_unused_source_of_a_scale_prefix_becomes_v0(
    first: int, second: int, expected: int, hotswap: Hotswap
) -> None:
    run = hotswap(f".long {first:#x}, {second:#x}, {SECOND_HALF}{END}")
    assert run.of("scale-prefix") == [(0, "rewritten")]
    assert words(run.code, 4) == [first, expected, 0xCC330000, 0x04023108]


@pytest.mark.parametrize("scale", ["_scale", "_scale16"])
def test_a_prefix_as_llvm_writes_it_is_no_site(scale: str, hotswap: Hotswap) -> None:
    scales = {"_scale": "v40, v41", "_scale16": "v[40:41], v[42:43]"}[scale]
    operands = f"v[0:7], v[8:23], v[24:39], v[0:7], {scales}"
    run = hotswap(f"v_wmma{scale}_f32_16x16x128_f8f6f4 {operands}{END}")
    assert (run.exit_status, run.sites) == (0, ())


def test_scale16_is_refused_where_the_policy_says_that_a0_lacks_it(hotswap: Hotswap) -> None:
    operands = "v[0:7], v[8:23], v[24:39], v[0:7], v[40:41], v[42:43]"
    body = f"v_wmma_scale16_f32_16x16x128_f8f6f4 {operands}{END}"
    assert hotswap(body, wmma_scale16="refuse").of("wmma-scale16") == [(0, "refused")]


MANY = f"""\
s_clause 0x1
global_load_b32 v4, v1, s[2:3]
cluster_load_b64 v[6:7], v1, s[2:3]
s_sethalt 1
s_clause 0x0
global_load_b32 v4, v1, s[2:3]
.long 0xcc350000, 0x02025328, {SECOND_HALF}
cluster_load_async_to_lds_b32 v1, v2, s[2:3]
s_clause 0x0
cluster_load_b32 v8, v1, s[2:3]
s_endpgm"""


def test_many_sites_in_one_kernel(
    hotswap: Hotswap, left_for_a0: Callable[..., list[tuple[int, str]]]
) -> None:
    from postproc.isa import load

    run = hotswap(MANY)
    assert [(s.rule, s.status) for s in run.sites] == [
        ("clause", "rewritten"),
        ("cluster-load", "rewritten"),
        ("sethalt", "rewritten"),
        ("clause", "preserved"),
        ("scale-prefix", "rewritten"),
        ("cluster-load", "rewritten"),
        ("clause", "rewritten"),
        ("cluster-load", "rewritten"),
    ]
    (preserved,) = (s.offset for s in run.sites if s.status == "preserved")
    assert left_for_a0(load("gfx1250").decode(run.code)) == [(preserved, "clause")]


def test_a_second_run_changes_nothing(hotswap: Hotswap, rewritten: Callable[..., Run]) -> None:
    first = hotswap(MANY)
    assert first.produced is not None
    second = rewritten(CodeObject.parse(bytes(first.produced.data), "again.co"))
    assert second.exit_status == 0
    assert second.produced is not None
    assert bytes(second.produced.data) == bytes(first.produced.data)
    assert {s.status for s in second.sites} == {"preserved"}


def test_one_refusal_leaves_everything_as_it_was(hotswap: Hotswap) -> None:
    run = hotswap(f"s_sethalt 1\nds_load_2addr_b32 v[2:3], v1 offset1:1{END}")
    assert run.exit_status == 4
    assert run.produced is None
    assert "1 required rewrite was refused" in run.message
