# SPDX-License-Identifier: Apache-2.0
"""Pointers behind relocations, compiled functions, load addresses, and odd texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from postproc.testing import kernel_source

if TYPE_CHECKING:
    from tests.cfg.conftest import Recovered

    Build = Callable[..., Recovered]
else:
    Build = Any

PROCESSORS = ("gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250")
on_all = pytest.mark.parametrize("processor", PROCESSORS)

FUNCTIONS = """
.type f, @function
f: s_nop 1
f_back: s_setpc_b64 s[30:31]
.size f, .-f
.type g, @function
g: s_nop 2
g_back: s_setpc_b64 s[30:31]
.size g, .-g
"""

TABLE = """
.section .data.rel.ro,"aw"
.p2align 3
.type table, @object
table:
.quad f
.quad g
.size table, .-table
"""


def in_text(functions: str, processor: str, body: str) -> str:
    """A kernel, with functions behind it."""
    source = kernel_source(body, processor)
    return source.replace(".rodata", f".p2align 8\n{functions}\n.rodata", 1)


def address_of(label: str, pair: int = 4) -> str:
    low, high = f"s{pair}", f"s{pair + 1}"
    return (
        f"s_getpc_b64 s[{pair}:{pair + 1}]\n"
        f"s_add_u32 {low}, {low}, {label}@rel32@lo+4\n"
        f"s_addc_u32 {high}, {high}, {label}@rel32@hi+12\n"
    )


@on_all
def test_an_entry_of_a_constant_table(processor: str, recover_object: Build) -> None:
    body = f"{address_of('table')}s_load_dwordx2 s[8:9], s[4:5], 0x8\ns_nop 0\n"
    body += "call: s_swappc_b64 s[30:31], s[8:9]\nbehind: s_endpgm"
    found = recover_object(processor, in_text(FUNCTIONS, processor, body) + TABLE)
    assert found.goes_to("call", "g")
    assert found.transfer("call").idiom == "loaded pointer"
    assert found.goes_to("g_back", "behind")


@on_all
def test_an_unknown_index_into_a_constant_table(processor: str, recover_object: Build) -> None:
    body = f"{address_of('table')}s_lshl_b64 s[2:3], s[2:3], 3\ns_add_u32 s4, s4, s2\n"
    body += "s_addc_u32 s5, s5, s3\ns_load_dwordx2 s[8:9], s[4:5], 0x0\ns_nop 0\n"
    body += "call: s_swappc_b64 s[30:31], s[8:9]\nbehind: s_endpgm"
    found = recover_object(processor, in_text(FUNCTIONS, processor, body) + TABLE)
    assert found.goes_to("call", "f", "g")
    assert found.goes_to("f_back", "behind")


@on_all
def test_each_lane_loads_from_a_constant_table(processor: str, recover_object: Build) -> None:
    """As in the waterfall loops that LLVM makes of divergent calls."""
    load = "global_load_dwordx2 v[4:5], v2, s[4:5]"
    body = f"{address_of('table')}{load}\nloop: v_readfirstlane_b32 s8, v4\n"
    body += "v_readfirstlane_b32 s9, v5\nv_mov_b32_e32 v6, v7\n"
    body += "call: s_swappc_b64 s[30:31], s[8:9]\nbehind: s_cbranch_execnz loop\ns_endpgm"
    found = recover_object(processor, in_text(FUNCTIONS, processor, body) + TABLE)
    assert found.goes_to("call", "f", "g")
    overwritten = body.replace("v_mov_b32_e32 v6", "v_mov_b32_e32 v4").replace(
        "loop: ", "v_mov_b32_e32 v4, 0\nloop: "
    )
    found = recover_object(processor, in_text(FUNCTIONS, processor, overwritten) + TABLE)
    assert found.refusal("call")


@on_all
def test_a_table_that_may_be_written_is_no_proof(processor: str, recover_object: Build) -> None:
    body = f"{address_of('table')}s_load_dwordx2 s[8:9], s[4:5], 0x8\n"
    body += "call: s_swappc_b64 s[30:31], s[8:9]\nbehind: s_endpgm"
    source = in_text(FUNCTIONS, processor, body) + TABLE.replace(".data.rel.ro", ".data")
    found = recover_object(processor, source)
    assert "nothing is known" in found.refusal("call")
    assert found.goes_to("f_back", "behind"), "by the convention, f may have been called"


@on_all
def test_a_table_that_holds_something_else_is_no_proof(
    processor: str, recover_object: Build
) -> None:
    body = f"{address_of('table')}s_add_u32 s4, s4, s2\ns_addc_u32 s5, s5, s3\n"
    body += "s_load_dwordx2 s[8:9], s[4:5], 0x0\n"
    body += "call: s_swappc_b64 s[30:31], s[8:9]\ns_endpgm"
    table = TABLE.replace(".quad g", ".quad 0")
    found = recover_object(processor, in_text(FUNCTIONS, processor, body) + table)
    assert found.refusal("call")


@on_all
def test_the_global_offset_table(processor: str, recover_object: Build) -> None:
    body = (
        "s_getpc_b64 s[4:5]\n"
        "s_add_u32 s4, s4, shared@gotpcrel32@lo+4\n"
        "s_addc_u32 s5, s5, shared@gotpcrel32@hi+12\n"
        "s_load_dwordx2 s[4:5], s[4:5], 0x0\ns_nop 0\n"
        "call: s_swappc_b64 s[30:31], s[4:5]\nbehind: s_endpgm"
    )
    functions = (
        ".globl shared\n.type shared, @function\nshared: s_nop 0\nback: s_setpc_b64 s[30:31]"
    )
    found = recover_object(processor, in_text(functions, processor, body))
    assert found.goes_to("call", "shared")
    assert found.goes_to("back", "behind")


@on_all
def test_an_undefined_callee_is_in_another_object(processor: str, recover_object: Build) -> None:
    body = (
        "s_getpc_b64 s[4:5]\n"
        "s_add_u32 s4, s4, absent@gotpcrel32@lo+4\n"
        "s_addc_u32 s5, s5, absent@gotpcrel32@hi+12\n"
        "s_load_dwordx2 s[4:5], s[4:5], 0x0\n"
        "call: s_swappc_b64 s[30:31], s[4:5]\ns_endpgm"
    )
    assert recover_object(processor, in_text("", processor, body)).refusal("call")


NESTED = """
.type outer, @function
outer:
v_writelane_b32 v40, s30, 0
v_writelane_b32 v40, s31, 1
{inner}
inner_call: s_swappc_b64 s[30:31], s[6:7]
inner_behind: s_nop 0
v_readlane_b32 s30, v40, 0
v_readlane_b32 s31, v40, {lane}
outer_back: s_setpc_b64 s[30:31]
.type inner, @function
inner: s_nop 1
{clobber}
inner_back: s_setpc_b64 s[30:31]
"""


def nested(processor: str, lane: int = 1, clobber: str = "") -> str:
    functions = NESTED.format(inner=address_of("inner", 6), lane=lane, clobber=clobber)
    body = f"{address_of('outer')}call: s_swappc_b64 s[30:31], s[4:5]\nbehind: s_endpgm"
    return in_text(functions, processor, body)


@on_all
def test_a_return_address_kept_in_lanes(processor: str, recover_object: Build) -> None:
    found = recover_object(processor, nested(processor))
    assert found.goes_to("call", "outer")
    assert found.goes_to("inner_call", "inner")
    assert found.goes_to("inner_back", "inner_behind")
    assert found.goes_to("outer_back", "behind")


@on_all
def test_another_lane_is_no_return_address(processor: str, recover_object: Build) -> None:
    assert recover_object(processor, nested(processor, lane=2)).refusal("outer_back")


@on_all
def test_a_callee_may_keep_its_own_there_by_the_convention(
    processor: str, recover_object: Build
) -> None:
    """v40 is preserved by functions, so that a write of it is taken back before the return."""
    found = recover_object(processor, nested(processor, clobber="v_mov_b32_e32 v40, 0"))
    assert found.goes_to("outer_back", "behind")
    source = nested(processor, clobber="v_mov_b32_e32 v39, 0").replace("v40", "v39")
    assert recover_object(processor, source).refusal("outer_back")


@on_all
def test_a_tail_call_returns_to_the_caller_of_its_caller(
    processor: str, recover_object: Build
) -> None:
    functions = f"""
    .type first, @function
    first: s_nop 0
    {address_of("second", 6)}
    tail: s_setpc_b64 s[6:7]
    .type second, @function
    second: s_nop 1
    back: s_setpc_b64 s[30:31]
    """
    body = f"{address_of('first')}call: s_swappc_b64 s[30:31], s[4:5]\nbehind: s_endpgm"
    found = recover_object(processor, in_text(functions, processor, body))
    assert found.goes_to("tail", "second")
    assert found.goes_to("back", "behind")
    assert found.successors("tail") == [("tail-call", found.address("second"))]


@on_all
def test_recursion(processor: str, recover_object: Build) -> None:
    endless = NESTED.format(inner=address_of("outer", 6), lane=1, clobber="")
    functions = endless.replace("inner_call:", "s_cbranch_scc1 inner_behind\ninner_call:")
    body = f"{address_of('outer')}call: s_swappc_b64 s[30:31], s[4:5]\nbehind: s_endpgm"
    found = recover_object(processor, in_text(functions, processor, body))
    assert found.goes_to("inner_call", "outer")
    assert found.goes_to("outer_back", "behind", "inner_behind")


@on_all
@pytest.mark.parametrize("base", [0x1000, 0x7FFFF000, 0x1_FFFF_F000])
def test_the_load_address_does_not_matter(processor: str, base: int, recover_object: Build) -> None:
    source = nested(processor)
    here = recover_object(processor, source)
    there = recover_object(processor, source, f"--image-base={base:#x}")
    assert there.address("outer") != here.address("outer")
    ours, theirs = here.graph.recovery.transfers, there.graph.recovery.transfers
    positions = [
        [[str(found.graph.text.position(target).offset) for target in t.targets] for t in transfers]
        for found, transfers in ((here, ours), (there, theirs))
    ]
    assert positions[0] == positions[1]
    assert [t.reason for t in ours] == [t.reason for t in theirs] == [""] * len(ours)


@on_all
def test_a_branch_into_a_literal_is_two_streams(processor: str, recover_kernel: Build) -> None:
    body = "s_cbranch_scc1 1\ns_mov_b32 s4, 0xbf810000\ns_endpgm"
    found = recover_kernel(processor, body)
    [(source, goal)] = found.graph.overlapping
    assert (source.offset, goal.offset) == (0, 8)


@on_all
def test_data_in_the_text(processor: str, recover_kernel: Build) -> None:
    found = recover_kernel(processor, "s_branch over\n.long 0xffffffff, 0xffffffff\nover: s_endpgm")
    [dead] = [r for r in found.graph.unreached if r.start == 4]
    assert dead.end == 12
    assert found.graph.undecoded == ()
    found = recover_kernel(processor, ".long 0xffffffff\ns_endpgm")
    [odd] = found.graph.undecoded
    assert (odd.start, odd.end) == (0, 4)


@on_all
def test_code_that_nobody_reaches(processor: str, recover_kernel: Build) -> None:
    found = recover_kernel(processor, "s_endpgm\ndead: s_nop 0\ns_branch dead")
    assert found.graph.unreached[0].start == 4


@on_all
def test_a_relocatable_object(processor: str, tmp_path: Any) -> None:
    import subprocess

    from tests.cfg.conftest import recovered

    from postproc.codeobject import CodeObject
    from postproc.testing import find_tool

    mc = find_tool("llvm-mc")
    if mc is None:
        pytest.skip("needs llvm-mc of LLVM 22")
    path = tmp_path / "source.o"
    subprocess.run(
        [mc, "-triple=amdgcn-amd-amdhsa", f"-mcpu={processor}", "-filetype=obj", "-o", str(path)],
        input=nested(processor).encode(),
        check=True,
        timeout=60,
    )
    found = recovered(CodeObject.parse(path.read_bytes(), "source.o"))
    calls = [t for t in found.graph.recovery.transfers if t.kind == "call"]
    assert len(calls) == 2
    assert all(call.reason for call in calls), "a linker has yet to fill in the distances"


@on_all
@pytest.mark.parametrize("how", ["global", "pointer"])
def test_an_entry_inside_a_builder_makes_it_unknown(
    processor: str, how: str, recover_object: Build
) -> None:
    """At a global label or a stored address control may enter with anything in registers."""
    body = """
    s_getpc_b64 s[4:5]
    after: s_add_u32 s4, s4, goal-after
    inside: s_addc_u32 s5, s5, 0
    jump: s_setpc_b64 s[4:5]
    goal: s_endpgm
    """
    source = kernel_source(body, processor)
    assert recover_object(processor, source).goes_to("jump", "goal")
    more = ".globl inside\n" if how == "global" else TABLE.replace("f\n", "inside\n", 1)
    more = more.replace(".quad g\n", "").replace(".quad f", ".quad inside")
    assert recover_object(processor, source + more).refusal("jump")
