# SPDX-License-Identifier: Apache-2.0
"""Clauses: which are proven harmless, which are deleted and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.hotswap.conftest import Hotswap, Run

LOAD = "global_load_b32 v4, v1, s[2:3]"
TWO_LOADS = f"{LOAD}\nglobal_load_b32 v5, v1, s[2:3] offset:4"
FLAT = "flat_load_b32 v4, v[2:3]"
SCALAR = "s_load_b64 s[4:5], s[0:1], 0x0\ns_load_b64 s[6:7], s[0:1], 0x8"
END = "\ns_endpgm"

S_NOP_0 = bytes.fromhex("000080bf")


def only(run: Run) -> tuple[str, str]:
    """(status, reason) of the one clause."""
    assert run.exit_status == 0, run.message
    (site,) = (s for s in run.sites if s.rule == "clause")
    return site.status, site.reason


@pytest.mark.parametrize(
    ("earlier", "members", "family"),
    [
        (LOAD, TWO_LOADS, "vector memory"),
        ("global_wb scope:SCOPE_CU\nv_nop", TWO_LOADS, "vector memory"),
        ("global_prefetch_b8 v0, s[0:1] scope:SCOPE_SE\nv_nop", TWO_LOADS, "vector memory"),
        (LOAD, "buffer_load_b128 v[0:3], v18, s[4:7], null offen\n"
               "buffer_load_b128 v[4:7], v18, s[8:11], null offen", "vector memory"),
        (LOAD, "scratch_load_b32 v0, off, s0\n" + LOAD, "vector memory"),
        (LOAD, f"{FLAT}\n{FLAT}", "flat"),
        (FLAT, f"{FLAT}\n{FLAT}", "flat"),
        (LOAD, SCALAR, "scalar load"),
        (LOAD, "s_buffer_load_b64 s[4:5], s[8:11], 0x0\ns_load_b64 s[6:7], s[0:1], 0x8",
         "scalar load"),
        (LOAD, "global_load_b32 v4, v1, s[2:3] scope:SCOPE_SYS\n"
               "global_store_b32 v1, v4, s[2:3] scope:SCOPE_SYS", "vector memory"),
    ],
)  # fmt: skip
def test_a_uniform_clause_behind_vector_memory_is_preserved(
    earlier: str, members: str, family: str, hotswap: Hotswap
) -> None:
    run = hotswap(f"{earlier}\ns_clause 0x1\n{members}{END}")
    reason = f"uniform {family} clause behind vector memory operation at 0x0"
    assert only(run) == ("preserved", reason)


FIRST = "it may hold the first vector memory operation"
NOT_FOLLOWING = "its members do not follow in one straight line"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param(f"s_clause 0x1\n{TWO_LOADS}", FIRST, id="initial vector memory"),
        pytest.param(f"s_clause 0x1\n{SCALAR}", FIRST, id="initial scalar loads"),
        pytest.param(f"{FLAT}\ns_clause 0x1\n{TWO_LOADS}", FIRST, id="flat may go to LDS"),
        pytest.param(
            f"tensor_store_from_lds s[0:3], s[4:11]\ns_clause 0x1\n{TWO_LOADS}",
            FIRST,
            id="a tensor operation is none",
        ),
        pytest.param(f"global_inv\ns_clause 0x1\n{TWO_LOADS}", FIRST, id="an invalidation is none"),
        pytest.param(f"ds_load_b32 v1, v2\ns_clause 0x1\n{TWO_LOADS}", FIRST, id="DS is none"),
        pytest.param(
            f"s_branch .Lclause\n{LOAD}\n.Lclause:\ns_clause 0x0\n{LOAD}", FIRST, id="bypassed"
        ),
        pytest.param(
            f"{LOAD}\ns_cmp_eq_u32 s0, 0\ns_cbranch_scc1 .Lclause\ns_nop 1\n.Lclause:\n"
            f"s_clause 0x0\n{LOAD}",
            FIRST,
            id="another block: true on every path, but not seen by this approximation",
        ),
        pytest.param(
            f"{LOAD}\ns_call_i64 s[30:31], .Lcallee\ns_clause 0x0\n{LOAD}\ns_endpgm\n"
            ".Lcallee:\ns_set_pc_i64 s[30:31]",
            FIRST,
            id="a call between",
        ),
        pytest.param(f"s_trap 3\ns_clause 0x0\n{LOAD}", FIRST, id="behind a trap that resumes"),
        pytest.param(
            f"{LOAD}\ns_clause 0x1\n{LOAD}\ns_nop 0", "its members are not of one family",
            id="no memory operation",
        ),
        pytest.param(
            f"{LOAD}\ns_clause 0x1\n{LOAD}\n{FLAT}", "its members are not of one family", id="mixed"
        ),
        pytest.param(
            f"{LOAD}\ns_clause 0x1\n{LOAD}\ns_set_vgpr_msb 1\n{LOAD}",
            "its members are not of one family",
            id="bank mode inside",
        ),
        pytest.param(
            f"{LOAD}\ns_clause 0x1\nds_load_b32 v1, v2\nds_load_b32 v3, v2",
            "its members are not of one family",
            id="no family",
        ),
        pytest.param(
            f"{LOAD}\ns_clause 0x1\n{LOAD}\n{LOAD} scope:SCOPE_SYS",
            "its members have different cache scopes",
            id="scopes",
        ),
        pytest.param(
            f"{LOAD}\ns_clause 0x1\ns_load_b64 s[4:5], s[0:1], 0x0\n"
            "s_load_b64 s[6:7], s[0:1], 0x8 scope:SCOPE_DEV",
            "its members have different cache scopes",
            id="scalar scopes",
        ),
        pytest.param(
            f"{LOAD}\ns_clause 0x1\n{LOAD}\ncluster_load_b32 v5, v1, s[2:3]",
            "one of its members is a site of rule cluster-load",
            id="transformed member",
        ),
        pytest.param(
            f"{LOAD}\ns_clause 0x1\n{LOAD}\n.Linside:\n{LOAD}\ns_cbranch_scc1 .Linside",
            NOT_FOLLOWING,
            id="entered inside",
        ),
        pytest.param(f"{LOAD}\ns_clause 0x2\n{LOAD}\ns_endpgm\n{LOAD}", NOT_FOLLOWING, id="ends"),
        pytest.param(f"s_endpgm\n{LOAD}\ns_clause 0x3f\n{LOAD}", NOT_FOLLOWING, id="end of text"),
        pytest.param(
            "s_get_pc_i64 s[30:31]\ns_add_nc_u64 s[30:31], s[30:31], 0x18\ns_set_pc_i64 s[30:31]\n"
            f"{LOAD}\ns_clause 0x0\n{LOAD}",
            "a computed transfer of control has unknown targets",
            id="long branch through the link register",
        ),
        pytest.param(
            f'{LOAD}\n.Lhere:\ns_clause 0x0\n{LOAD}\ns_endpgm\n'
            '.section .elsewhere,"ax",@progbits\ns_branch .Lhere\n.text',
            "it may hold the first vector memory operation",
            id="entered from another section",
        ),
        pytest.param(
            f"{LOAD}\ns_clause 0x0\n{LOAD}\ns_rfe_i64 s[30:31]",
            "a computed transfer of control has unknown targets",
            id="return from an exception",
        ),
        pytest.param(
            f"{LOAD}\ns_clause 0x0\n{LOAD}\ns_set_pc_i64 s[4:5]",
            "a computed transfer of control has unknown targets",
            id="unknown ingress",
        ),
        pytest.param(
            f"{LOAD}\ns_clause 0x0\n{LOAD}\ns_swap_pc_i64 s[4:5], s[6:7]",
            "a computed transfer of control has unknown targets",
            id="call that links elsewhere",
        ),
        pytest.param(
            f"{LOAD}\ns_clause 0x0\n{LOAD}\ns_add_pc_i64 s[4:5]",
            "a computed transfer of control has unknown targets",
            id="relative jump by a register",
        ),
    ],
)  # fmt: skip
def test_a_clause_that_is_not_proven_is_deleted(body: str, reason: str, hotswap: Hotswap) -> None:
    assert only(hotswap(body + END)) == ("rewritten", f"deleted: {reason}")


def test_a_call_by_the_convention_and_a_return_are_no_unknown_transfers(hotswap: Hotswap) -> None:
    body = f"{LOAD}\ns_clause 0x0\n{LOAD}\ns_swap_pc_i64 s[30:31], s[6:7]\ns_set_pc_i64 s[30:31]"
    assert only(hotswap(body))[0] == "preserved"


def test_the_members_of_a_deleted_clause_count_for_the_next_one(hotswap: Hotswap) -> None:
    run = hotswap(f"s_clause 0x1\n{TWO_LOADS}\ns_clause 0x1\n{TWO_LOADS}{END}")
    assert run.of("clause") == [(0x0, "rewritten"), (0x1C, "preserved")]


def test_only_the_clause_changes(hotswap: Hotswap) -> None:
    """s_clause 0x3 and its members, the pattern of a quantization kernel of AITER."""
    body = (
        "s_load_b64 s[0:1], s[0:1], 0x0 nv\ns_wait_kmcnt 0x0\ns_clause 0x3\n"
        "global_load_b128 v[0:3], v[8:9], off\nglobal_load_b128 v[4:7], v[8:9], off offset:16\n"
        "global_load_b128 v[10:13], v[8:9], off offset:32\n"
        "global_load_b128 v[14:17], v[8:9], off offset:48\ns_wait_loadcnt 0x0\ns_endpgm"
    )
    kept, run = hotswap(body, target_stepping="B0"), hotswap(body)
    assert kept.code[0xC:0x10] == bytes.fromhex("030085bf")
    assert run.code == kept.code[:0xC] + S_NOP_0 + kept.code[0x10:]


def test_break_span_bits_do_not_count_for_the_length(hotswap: Hotswap) -> None:
    assert only(hotswap(f"{LOAD}\ns_clause 0x101\n{TWO_LOADS}{END}"))[0] == "preserved"


def test_the_policy_all_deletes_every_clause(hotswap: Hotswap) -> None:
    run = hotswap(f"{LOAD}\ns_clause 0x1\n{TWO_LOADS}{END}", clause="all")
    assert only(run) == ("rewritten", "deleted: all by policy")
    assert run.code[0xC:0x10] == S_NOP_0


def test_a_preserved_clause_claims_its_members_and_its_witness(hotswap: Hotswap) -> None:
    """An edit of somebody else that breaks the proof is refused, not the other way round."""
    from postproc.codeobject import TextRange
    from postproc.transaction import Claim, ClaimMode
    from postproc_hotswap.b0_to_a0 import B0ToA0

    claims: list[Claim] = []

    class Recording:
        name = B0ToA0.name

        def prepare(self, context: object) -> object:
            proposal = B0ToA0().prepare(context)  # type: ignore[arg-type]  # a test double
            claims.extend(proposal.claims)
            return proposal

    import postproc_hotswap.b0_to_a0 as module

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "B0ToA0", Recording)
        assert only(hotswap(f"{LOAD}\ns_clause 0x1\n{TWO_LOADS}{END}"))[0] == "preserved"
    spans = {
        (c.mode, c.resource.start, c.resource.end)
        for c in claims
        if isinstance(c.resource, TextRange)
    }
    assert spans == {(ClaimMode.PIN, 0xC, 0x28), (ClaimMode.READ, 0x0, 0xC)}
    assert all(c.required for c in claims)
