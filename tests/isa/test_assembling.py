# SPDX-License-Identifier: Apache-2.0
"""The assembler: forms, constants, labels, comments, and errors that point at the place."""

from __future__ import annotations

import pytest

from postproc.errors import AssemblyError
from postproc.isa import load

# ------------------------------------------------------------------ choice of encoding


@pytest.mark.parametrize(
    ("source", "code"),
    [
        # the short form where it fits, the long one where it must be
        ("v_add_f32 v0, v1, v2", "01050006"),
        ("v_add_f32 v0, v1, s2", "000003d501050000"),
        ("v_add_f32 v0, -v1, v2", "000003d501050220"),
        # a suffix forces a form
        ("v_add_f32_e64 v0, v1, v2", "000003d501050200"),
        ("v_add_f32_e32 v0, v1, v2", "01050006"),
        # modifiers choose a form
        (
            "v_mov_b32 v0, v1 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf",
            "fa02007e01e400ff",
        ),
        # masks of DPP default to all lanes
        ("v_mov_b32_dpp v0, v1 quad_perm:[0,1,2,3]", "fa02007e01e400ff"),
        # a number that a constant stands for becomes one, `lit` keeps it a literal
        ("v_add_f32 v0, 0x3f800000, v1", "f2020006"),
        ("v_add_f32 v0, 1.0, v1", "f2020006"),
        ("v_add_f32 v0, lit(0x3f800000), v1", "ff0200060000803f"),
        ("v_add_f32 v0, 0.3, v1", "ff0200069a99993e"),
        ("s_mov_b32 s4, -5", "c50084be"),
        ("s_mov_b32 s4, 0x12345678", "ff0084be78563412"),
        # eight bytes only where four would not say the same
        ("s_mov_b64 s[0:1], 0x7fffffff", "ff0180beffffff7f"),
        ("s_mov_b64 s[0:1], 0xffffffff", "fe0180beffffffff00000000"),
        ("s_mov_b64 s[0:1], 0x1234567812", "fe0180be1278563412000000"),
        # registers may be listed
        ("s_mov_b64 [s0, s1], [s2, s3]", "020180be"),
        # the short VOPD before the long one
        ("v_dual_mov_b32 v0, v1 :: v_dual_add_f32 v3, v4, v5", "010108ca040b0200"),
    ],
)
def test_choice(source: str, code: str) -> None:
    assert load("gfx1250").assemble(source).hex() == code


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("s_waitcnt vmcnt(0) & lgkmcnt(0)", "70008cbf"),
        ("s_waitcnt vmcnt(0), lgkmcnt(0)", "70008cbf"),
        ("s_waitcnt 0", "00008cbf"),
        ("s_waitcnt vmcnt(63)", "7fcf8cbf"),
        ("s_waitcnt lgkmcnt_sat(99)", "7fcf8cbf"),
        ("ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,16)", "1f407ad801000000"),
        ("s_getreg_b32 s2, hwreg(HW_REG_XCC_ID)", "14f882b8"),
        ("s_sendmsg sendmsg(MSG_INTERRUPT)", "010090bf"),
        ("global_load_dword v0, v1, s[2:3] sc0 sc1 nt", "008053de01000200"),
    ],
)
def test_notations_of_gfx942(source: str, code: str) -> None:
    assert load("gfx942").assemble(source).hex() == code


@pytest.mark.parametrize(
    ("processor", "alias", "name"),
    [
        ("gfx1250", "s_add_u32 s0, s1, s2", "s_add_co_u32 s0, s1, s2"),
        ("gfx1201", "v_max_f32_e64 v0, v1, v2", "v_max_num_f32_e64 v0, v1, v2"),
        ("gfx1100", "buffer_load_dword v0, off, s[0:3], 0", "buffer_load_b32 v0, off, s[0:3], 0"),
        ("gfx942", "v_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[2:3], a[0:15]", ""),
    ],
)
def test_old_names(processor: str, alias: str, name: str) -> None:
    isa = load(processor)
    code = isa.assemble(alias)
    assert code == isa.assemble(name or isa.decode(code)[0].text)


@pytest.mark.parametrize("processor", ["gfx90a", "gfx942", "gfx1100", "gfx1250"])
def test_text_of_what_was_assembled_assembles_again(processor: str) -> None:
    isa = load(processor)
    source = "v_mov_b32 v1, s4\nv_add_f32 v0, v1, v2\ns_nop 3\ns_endpgm"
    code = isa.assemble(source)
    listing = isa.decode(code)
    texts = [listing[number].text for number in range(len(listing))]
    assert isa.assemble("\n".join(texts)) == code


# ------------------------------------------------------------------ lines, labels, expressions


def test_branches_count_from_the_next_instruction() -> None:
    source = """
        loop:  s_nop 0          // comment
               s_cbranch_scc1 done   ; another
               s_branch loop
        done:
               s_endpgm
    """
    code = load("gfx942").assemble(source)
    assert code.hex(" ", 4) == "000080bf 010085bf fdff82bf 000081bf"


def test_labels_from_elsewhere_and_offset() -> None:
    code = load("gfx942").assemble("s_branch elsewhere", offset=0x100, labels={"elsewhere": 0x204})
    assert code.hex() == "400082bf"


def test_difference_of_labels_is_a_literal() -> None:
    source = "a:\ns_mov_b32 s0, b-a\nb:\ns_add_u32 s0, s0, b-a+4"
    code = load("gfx942").assemble(source)
    assert code.hex(" ", 4) == "ff0080be 08000000 00ff0080 0c000000"


def test_empty_source() -> None:
    assert load("gfx942").assemble("  \n// nothing\n") == b""


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("source", "line", "column", "message"),
    [
        ("s_nop 0\nv_foo v1", 2, 1, "no instruction 'v_foo'"),
        ("v_add_f32 v0, v1", 1, 17, "too few operands"),
        ("v_add_f32 v0, v1, v2, v3", 1, 23, "too many operands"),
        ("s_mov_b32 s0, s1 row_mask:0xf", 1, 18, "not a modifier"),
        ("v_add_f32 v0, v1, v2 row_mask:0xf", 1, 34, "a DPP control is missing"),
        ("s_branch nowhere", 1, 10, "unknown name 'nowhere'"),
        ("s_mov_b32 s0, s[2:3]", 1, 15, "2 registers wide|1 registers wide"),
        ("s_mov_b32 s0 s1", 1, 14, "comma"),
        ("s_mov_b32 s0,", 1, 14, "expected an operand"),
        ("s_mov_b32 s0, #1", 1, 15, "unexpected '#'"),
        ("s_waitcnt vmcnt(64)", 1, 11, "too large"),
        ("s_sendmsg sendmsg(MSG_NONE)", 1, 11, "unknown message"),
        ("x: s_nop 0\nx: s_nop 1", 2, 1, "defined twice"),
        ("v_add_f32_e32 v0, v1, s2", 1, 23, "cannot be that register"),
    ],
)
def test_error(source: str, line: int, column: int, message: str) -> None:
    with pytest.raises(AssemblyError, match=message) as raised:
        load("gfx942").assemble(source)
    assert (raised.value.line, raised.value.column) == (line, column)
    assert raised.value.source == source.splitlines()[line - 1]


def test_target_out_of_reach() -> None:
    with pytest.raises(AssemblyError, match="out of reach"):
        load("gfx942").assemble("s_branch far", labels={"far": 1 << 20})
