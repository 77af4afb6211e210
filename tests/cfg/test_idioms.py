# SPDX-License-Identifier: Apache-2.0
"""Every way in which compilers, generators and people make addresses of code.

The labels of the assembly source are the truth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.cfg.conftest import Recovered

    Recover = Callable[[str, str], Recovered]
else:
    Recover = Any

PROCESSORS = ("gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250")
on_all = pytest.mark.parametrize("processor", PROCESSORS)


def link_time(label: str, high: str = "4") -> str:
    """The two additions of LLVM, with the distances that the linker leaves there."""
    return f"s_add_u32 s4, s4, {label}-after\ns_addc_u32 s5, s5, ({label}-after)>>32"


POSITIVE = """
s_getpc_b64 s[4:5]
s_add_i32 s6, goal, 4
s_add_u32 s4, s4, s6
s_addc_u32 s5, s5, 0
jump: s_setpc_b64 s[4:5]
dead: s_nop 0
goal: s_endpgm
"""


@on_all
def test_rocisa_positive(processor: str, recover_kernel: Recover) -> None:
    found = recover_kernel(processor, POSITIVE)
    assert found.goes_to("jump", "goal")
    assert found.transfer("jump").idiom == "rocisa positive"
    assert found.successors("jump") == [("computed", found.address("goal"))]
    dead = found.graph.block_at(found.graph.text.position(found.index("dead")))
    assert int(found.graph.owner[dead]) == -1


@on_all
def test_the_temporary_may_come_before_the_pair(processor: str, recover_kernel: Recover) -> None:
    body = """
    s_getpc_b64 s[6:7]
    s_add_i32 s5, goal, 4
    s_add_u32 s6, s6, s5
    s_addc_u32 s7, s7, 0
    jump: s_setpc_b64 s[6:7]
    goal: s_endpgm
    """
    assert recover_kernel(processor, body).goes_to("jump", "goal")


@on_all
def test_old_tensile_adds_unsigned_and_swaps_the_carry(
    processor: str, recover_kernel: Recover
) -> None:
    body = """
    s_getpc_b64 s[4:5]
    s_add_u32 s6, goal, 4
    s_add_u32 s4, s4, s6
    s_addc_u32 s5, 0, s5
    jump: s_setpc_b64 s[4:5]
    s_nop 0
    goal: s_endpgm
    """
    assert recover_kernel(processor, body).goes_to("jump", "goal")


NEGATIVE = """
goal: s_nop 0
s_cbranch_scc0 over
s_getpc_b64 s[4:5]
s_add_i32 s6, goal, 4
s_abs_i32 s6, s6
s_sub_u32 s4, s4, s6
s_subb_u32 s5, s5, 0
jump: s_setpc_b64 s[4:5]
over: s_endpgm
"""


@on_all
def test_rocisa_negative(processor: str, recover_kernel: Recover) -> None:
    found = recover_kernel(processor, NEGATIVE)
    assert found.goes_to("jump", "goal")
    assert found.transfer("jump").idiom == "rocisa negative"


def signed(goal_first: bool) -> str:
    arms = """
    s_getpc_b64 s[4:5]
    s_add_i32 s6, goal, 4
    s_cmp_ge_i32 s6, 0
    s_cbranch_scc1 positive
    s_abs_i32 s6, s6
    s_sub_u32 s4, s4, s6
    s_subb_u32 s5, s5, 0
    backward: s_setpc_b64 s[4:5]
    positive: s_add_u32 s4, s4, s6
    s_addc_u32 s5, s5, 0
    forward: s_setpc_b64 s[4:5]
    """
    goal = "goal: s_nop 0\ns_cbranch_scc0 out\n"
    return f"{goal}{arms}\nout: s_endpgm" if goal_first else f"{arms}\n{goal}\nout: s_endpgm"


@on_all
@pytest.mark.parametrize("goal_first", [True, False], ids=["backward", "forward"])
def test_rocisa_signed_has_one_live_arm(
    processor: str, goal_first: bool, recover_kernel: Recover
) -> None:
    found = recover_kernel(processor, signed(goal_first))
    assert found.goes_to("backward", "goal")
    assert found.goes_to("forward", "goal")
    dead = "forward" if goal_first else "backward"
    assert "this arm is never taken" in found.transfer(dead).evidence[1]


@on_all
@pytest.mark.parametrize(
    ("wrapper", "setter"),
    [("s_cbranch_scc1", "scc0"), ("s_cbranch_scc0", "scc1"), ("s_cbranch_vccz", "vccnz")],
)
def test_conditional_wrappers_jump_over_the_long_branch(
    processor: str, wrapper: str, setter: str, recover_kernel: Recover
) -> None:
    body = f"{wrapper} no_branch\n{POSITIVE.replace('dead:', 'no_branch:')}"
    found = recover_kernel(processor, body)
    assert found.goes_to("jump", "goal")
    block = found.graph.block_at(found.graph.text.position(found.index("no_branch")))
    assert int(found.graph.owner[block]) == 0, setter


LLVM_LONG_BRANCH = """
s_cbranch_scc1 over
s_getpc_b64 s[4:5]
after:
{wait}
s_add_u32 s4, s4, goal-after
s_addc_u32 s5, s5, {high}
{wait}
jump: s_setpc_b64 s[4:5]
over: s_nop 0
goal: s_endpgm
"""


@on_all
def test_llvm_long_branch(processor: str, recover_kernel: Recover) -> None:
    wait = {"gfx1201": "s_wait_alu depctr_sa_sdst(0)", "gfx1100": "s_waitcnt_depctr 0xfffe"}
    body = LLVM_LONG_BRANCH.format(wait=wait.get(processor, ""), high="0")
    found = recover_kernel(processor, body)
    assert found.goes_to("jump", "goal")
    assert found.transfer("jump").idiom == "LLVM long branch"


@on_all
def test_llvm_long_branch_backward(processor: str, recover_kernel: Recover) -> None:
    body = """
    goal: s_nop 0
    s_cbranch_scc1 over
    s_getpc_b64 s[4:5]
    after: s_add_u32 s4, s4, goal-after
    s_addc_u32 s5, s5, -1
    jump: s_setpc_b64 s[4:5]
    over: s_endpgm
    """
    assert recover_kernel(processor, body).goes_to("jump", "goal")


def test_gfx1250_adds_to_the_program_counter(recover_kernel: Recover) -> None:
    body = """
    goal: s_nop 0
    s_cbranch_scc1 over
    jump: s_add_pc_i64 goal-after
    after: s_nop 0
    over: s_add_pc_i64 end-far
    far: s_nop 0
    end: s_endpgm
    """
    found = recover_kernel("gfx1250", body)
    assert found.goes_to("jump", "goal")
    assert found.goes_to("over", "end")
    assert found.transfer("jump").idiom == "s_add_pc_i64"
    assert found.successors("jump") == [("computed", found.address("goal"))]


@pytest.mark.parametrize("processor", ["gfx1201", "gfx1250"])
def test_64_bit_addition(processor: str, recover_kernel: Recover) -> None:
    body = """
    s_getpc_b64 s[4:5]
    after: s_add_nc_u64 s[4:5], s[4:5], 20
    jump: s_setpc_b64 s[4:5]
    s_nop 0
    s_nop 0
    s_nop 0
    goal: s_endpgm
    """
    found = recover_kernel(processor, body)
    assert found.goes_to("jump", "goal")
    assert found.transfer("jump").idiom == "s_add_nc_u64"


def test_a_32_bit_literal_of_a_64_bit_addition_is_not_extended_by_guess(
    recover_kernel: Recover,
) -> None:
    body = """
    s_getpc_b64 s[4:5]
    s_add_nc_u64 s[4:5], s[4:5], 0xfffffff8
    jump: s_setpc_b64 s[4:5]
    s_endpgm
    """
    assert "something added" in recover_kernel("gfx1201", body).refusal("jump")


CALLS = """
s_getpc_b64 s[4:5]
after: s_add_u32 s4, s4, callee-after
s_addc_u32 s5, s5, {high}
v_mov_b32_e32 v0, 0
first: s_swappc_b64 s[30:31], s[4:5]
first_back: v_mov_b32_e32 v0, 1
second: s_swappc_b64 s[30:31], s[4:5]
second_back: s_endpgm
callee: v_add_f32_e32 v0, v0, v0
back: s_setpc_b64 s[30:31]
"""


@on_all
def test_one_builder_for_two_calls(processor: str, recover_kernel: Recover) -> None:
    found = recover_kernel(processor, CALLS.format(high=0))
    assert found.goes_to("first", "callee")
    assert found.goes_to("second", "callee")
    assert found.goes_to("back", "first_back", "second_back")
    assert found.transfer("back").kind == "return"
    assert found.transfer("first").idiom == "LLVM call"


@on_all
def test_a_call_falls_through_and_has_no_callee_among_its_successors(
    processor: str, recover_kernel: Recover
) -> None:
    found = recover_kernel(processor, CALLS.format(high=0))
    assert found.successors("first") == [("after-call", found.address("first_back"))]
    assert found.successors("back") == []
    functions = [f.position for f in found.graph.functions]
    assert found.graph.text.position(found.index("callee")) in functions
    assert found.graph.callees_of(0) == (1,)


@pytest.mark.parametrize("processor", ["gfx1201"])
def test_gfx12_extends_the_sign_of_the_high_half(processor: str, recover_kernel: Recover) -> None:
    body = CALLS.format(high=0).replace("after: ", "after: s_sext_i32_i16 s5, s5\n")
    assert recover_kernel(processor, body).goes_to("first", "callee")
    for wrong in ("s_sext_i32_i16 s4, s4", "s_sext_i32_i16 s5, s6", "s_sext_i32_i8 s5, s5"):
        body = CALLS.format(high=0).replace("after: ", f"after: {wrong}\n")
        assert recover_kernel(processor, body).refusal("first")


@on_all
def test_direct_calls_return_behind_each(processor: str, recover_kernel: Recover) -> None:
    body = """
    s_call_b64 s[36:37], callee
    one: s_nop 0
    s_call_b64 s[36:37], callee
    two: s_endpgm
    callee: s_nop 0
    back: s_setpc_b64 s[36:37]
    """
    found = recover_kernel(processor, body)
    assert found.goes_to("back", "one", "two")


def dispatch(arms: int) -> str:
    lines = ["s_mov_b32 s3, s2"]
    lines += [f"s_cmp_eq_u32 s3, {k}\ns_cbranch_scc1 to_{k}" for k in range(1, arms)]
    for k in range(arms):
        lines += [
            f"to_{k}: s_getpc_b64 s[12:13]",
            f"s_add_i32 s8, body_{k}, 4",
            "s_add_u32 s12, s12, s8",
            "s_addc_u32 s13, s13, 0",
            "s_branch join",
        ]
    lines += [
        "join: v_mov_b32_e32 v0, 0",
        "call_a: s_swappc_b64 s[26:27], s[12:13]",
        "back_a: v_mov_b32_e32 v1, v0",
        "call_b: s_swappc_b64 s[26:27], s[12:13]",
        "back_b: s_endpgm",
    ]
    for k in range(arms):
        work = "v_max_f32_e32 v0, 0, v0\n" * k  # the first body is empty
        lines.append(f"body_{k}: {work}\nback_{k}: s_setpc_b64 s[26:27]")
    return "\n".join(lines)


@pytest.mark.parametrize("processor", ["gfx90a", "gfx942", "gfx1250"])
def test_activation_dispatch(processor: str, recover_kernel: Recover) -> None:
    found = recover_kernel(processor, dispatch(10))
    bodies = [f"body_{k}" for k in range(10)]
    assert found.goes_to("call_a", *bodies)
    assert found.goes_to("call_b", *bodies)
    for k in range(10):
        assert found.goes_to(f"back_{k}", "back_a", "back_b")
    assert found.transfer("call_a").idiom == "selected address"
    assert len(found.graph.functions) == 11


@on_all
def test_anchors_of_an_unrolled_loop(processor: str, recover_kernel: Recover) -> None:
    """The tail goes on 16 bytes behind the anchor at which the loop was left."""
    body = "\n".join(
        f"anchor_{k}: s_getpc_b64 s[34:35]\n s_nop 1\n s_cbranch_scc1 tail\n s_nop 2\n s_nop 3\n"
        f"goal_{k}: s_nop 4"
        for k in range(6)
    )
    body += """
    s_endpgm
    tail: s_add_u32 s48, s34, 16
    s_nop 0
    s_addc_u32 s49, s35, 0
    jump: s_setpc_b64 s[48:49]
    """
    found = recover_kernel(processor, body)
    assert found.goes_to("jump", *(f"goal_{k}" for k in range(6)))


@on_all
def test_pointers_made_at_the_start_and_a_fixed_return_label(
    processor: str, recover_kernel: Recover
) -> None:
    builders = "\n".join(
        f"""
        make_{k}: s_getpc_b64 s[40:41]
        after_{k}: s_add_u32 s40, s40, work_{k}-after_{k}
        s_addc_u32 s41, s41, 0
        s_branch made
        """
        for k in range(4)
    )
    works = "\n".join(f"work_{k}: s_nop {k}\nback_{k}: s_setpc_b64 s[42:43]" for k in range(4))
    choose = "\n".join(f"s_cmp_eq_u32 s2, {k}\ns_cbranch_scc1 make_{k}" for k in (1, 2, 3))
    body = f"""
    {choose}
    {builders}
    made: s_getpc_b64 s[42:43]
    here: s_add_u32 s42, s42, return_label-here
    s_addc_u32 s43, s43, 0
    {"v_mov_b32_e32 v0, v1" + chr(10)} s_branch loop
    loop: s_sub_u32 s44, s44, 1
    jump: s_setpc_b64 s[40:41]
    {works}
    return_label: s_cmp_lg_u32 s44, 0
    s_cbranch_scc1 loop
    s_endpgm
    """
    found = recover_kernel(processor, body)
    assert found.goes_to("jump", *(f"work_{k}" for k in range(4)))
    for k in range(4):
        assert found.goes_to(f"back_{k}", "return_label")


@on_all
def test_constants_are_selected_by_scc(processor: str, recover_kernel: Recover) -> None:
    body = """
    s_getpc_b64 s[4:5]
    after: s_mov_b32 s6, near-after
    s_cmp_eq_u32 s2, 0
    s_cselect_b32 s6, s6, far-after
    s_add_u32 s4, s4, s6
    s_addc_u32 s5, s5, 0
    jump: s_setpc_b64 s[4:5]
    near: s_nop 0
    far: s_endpgm
    """
    assert recover_kernel(processor, body).goes_to("jump", "near", "far")


@on_all
def test_a_coroutine_is_refused(processor: str, recover_kernel: Recover) -> None:
    body = """
    s_getpc_b64 s[64:65]
    after: s_add_u32 s64, s64, other-after
    s_addc_u32 s65, s65, 0
    v_mov_b32_e32 v0, 0
    swap: s_swappc_b64 s[64:65], s[64:65]
    v_mov_b32_e32 v0, 1
    s_endpgm
    other: v_mov_b32_e32 v0, 2
    swap_back: s_swappc_b64 s[64:65], s[64:65]
    s_endpgm
    """
    found = recover_kernel(processor, body)
    assert "coroutine" in found.refusal("swap_back")


@on_all
def test_getpc_as_data_is_no_branch(processor: str, recover_kernel: Recover) -> None:
    found = recover_kernel(processor, "s_getpc_b64 s[4:5]\ns_mov_b32 s6, s4\ns_endpgm")
    assert found.graph.recovery.transfers == ()


@on_all
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("jump: s_setpc_b64 s[4:5]\ns_endpgm", "nothing is known of s[4:5]"),
        ("s_load_dwordx2 s[4:5], s[0:1], 0x0\njump: s_setpc_b64 s[4:5]", "nothing is known"),
        ("s_getpc_b64 s[4:5]\ns_add_u32 s4, s4, s8\ns_addc_u32 s5, s5, 0\n"
         "jump: s_setpc_b64 s[4:5]", "something added"),
        ("s_mov_b32 s4, 0x1000\ns_mov_b32 s5, 0\njump: s_setpc_b64 s[4:5]", "absolute constant"),
        ("s_getpc_b64 s[4:5]\ns_add_u32 s4, s4, 6\ns_addc_u32 s5, s5, 0\n"
         "jump: s_setpc_b64 s[4:5]\ns_endpgm", "middle of an instruction"),
    ],
    ids=["bare", "loaded", "unknown-distance", "absolute", "misaligned"],
)  # fmt: skip
def test_what_is_not_known_is_refused(
    processor: str, body: str, reason: str, recover_kernel: Recover
) -> None:
    found = recover_kernel(processor, body)
    assert reason in found.refusal("jump")
    assert found.successors("jump") == []


@on_all
def test_another_entry_inside_the_builder_makes_it_unknown(
    processor: str, recover_kernel: Recover
) -> None:
    body = """
    s_cbranch_scc1 inside
    s_getpc_b64 s[4:5]
    after: s_add_u32 s4, s4, goal-after
    inside: s_addc_u32 s5, s5, 0
    jump: s_setpc_b64 s[4:5]
    goal: s_endpgm
    """
    assert recover_kernel(processor, body).refusal("jump")


@on_all
@pytest.mark.parametrize(
    "clobber",
    ["s_mov_b32 s4, s9", "s_load_dwordx2 s[4:5], s[0:1], 0x0", "v_readfirstlane_b32 s5, v0"],
)
def test_a_clobbered_pair_is_unknown(processor: str, clobber: str, recover_kernel: Recover) -> None:
    body = POSITIVE.replace("jump:", f"{clobber}\njump:")
    assert "nothing is known" in recover_kernel(processor, body).refusal("jump")


@on_all
def test_a_move_by_index_may_write_any_register(processor: str, recover_kernel: Recover) -> None:
    body = POSITIVE.replace("jump:", "s_movreld_b32 s9, s10\njump:")
    assert recover_kernel(processor, body).refusal("jump")


@on_all
def test_an_unknown_word_on_the_way_makes_it_unknown(
    processor: str, recover_kernel: Recover
) -> None:
    body = POSITIVE.replace("jump:", ".long 0xffffffff\njump:")
    assert recover_kernel(processor, body).refusal("jump")


@on_all
def test_mixed_arms_are_evaluated_not_matched(processor: str, recover_kernel: Recover) -> None:
    """An addition whose high half subtracts looks like the idiom, and goes elsewhere."""
    body = POSITIVE.replace("s_addc_u32 s5, s5, 0", "s_subb_u32 s5, s5, 0")
    assert recover_kernel(processor, body).refusal("jump")
