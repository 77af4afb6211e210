# SPDX-License-Identifier: Apache-2.0
"""Notations of the printer, one encoding each; the texts are llvm-objdump's."""

from __future__ import annotations

import pytest

from postproc.isa import load
from postproc.isa.model import BitRun, Entry, ImmediateField, OperandSpec, OperandValue
from postproc.isa.printing import POSITIONAL, TRAILING, PrintContext, print_instruction
from postproc.isa.printing.context import TargetFacts


@pytest.mark.parametrize(
    ("processor", "code", "text"),
    [
        # registers: tuples, special ones, halves, trap registers
        ("gfx1250", "7d0084be", "s_mov_b32 s4, m0"),
        ("gfx942", "7c0084be", "s_mov_b32 s4, m0"),
        ("gfx942", "6a0184be", "s_mov_b64 s[4:5], vcc"),
        ("gfx1250", "6c0084be", "s_mov_b32 s4, ttmp0"),
        ("gfx1250", "0038007f", "v_mov_b16_e32 v0.h, s0"),
        # constants by operand type: 1.0 of f32 is no constant of an integer operand's value 0x3c00
        ("gfx1250", "f2020006", "v_add_f32_e32 v0, 1.0, v1"),
        ("gfx1250", "f2020064", "v_add_f16_e32 v0.l, 1.0, v1.l"),
        ("gfx1250", "c1020006", "v_add_f32_e32 v0, -1, v1"),
        # literals: one that looks like a constant says so, one of eight bytes too
        ("gfx1250", "ff02000678563412", "v_add_f32_e32 v0, 0x12345678, v1"),
        ("gfx1250", "ff0200060000803f", "v_add_f32_e32 v0, lit(0x3f800000), v1"),
        ("gfx1250", "fe0180beffffffff00000000", "s_mov_b64 s[0:1], lit64(0xffffffff)"),
        # modifiers
        ("gfx1250", "000103d5f2040240", "v_add_f32_e64 v0, |1.0|, -v2"),
        ("gfx1250", "00100fcc01050208", "v_pk_add_f16 v0, v1, v2 op_sel:[0,1] op_sel_hi:[1,0]"),
        # waits and delays
        ("gfx942", "700f8cbf", "s_waitcnt vmcnt(0)"),
        ("gfx942", "70008cbf", "s_waitcnt vmcnt(0) lgkmcnt(0)"),
        ("gfx942", "7fcf8cbf", "s_waitcnt vmcnt(63) expcnt(7) lgkmcnt(15)"),
        (
            "gfx1250",
            "110187bf",
            "s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)",
        ),
        # memory
        (
            "gfx1250",
            "7c0005ee00000c0002f0ffff",
            "global_load_b32 v0, v[2:3], off offset:-16 scope:SCOPE_SYS",
        ),
        ("gfx1250", "0102dcd802000000", "ds_load_2addr_b32 v[0:1], v2 offset0:1 offset1:2"),
        # hardware registers and messages
        ("gfx1250", "410680b8", "s_getreg_b32 s0, hwreg(HW_REG_WAVE_MODE, 25, 1)"),
        # two operations in one instruction
        (
            "gfx1250",
            "014120cf0401000000050003",
            "v_dual_mov_b32 v0, v1 :: v_dual_add_f32 v3, v4, v5",
        ),
        ("gfx1250", "0000b0bf", "s_endpgm"),
    ],
)
def test_notation(processor: str, code: str, text: str) -> None:
    assert load(processor).decode(bytes.fromhex(code))[0].text == text


def test_vgpr_bank_comment() -> None:
    """Under `s_set_vgpr_msb` the encoded register stands first, the real one in a comment."""
    isa = load("gfx1250")
    add = isa.decode(bytes.fromhex("01050006"))[0]
    # source 0 from bank 1, source 1 from bank 2, destination in bank 3
    context = isa.print_context.with_vgpr_msb(0xC0 | 2 << 2 | 1)
    assert (
        print_instruction(add.entry, add.values, context)
        == "v_add_f32_e32 v0 /*v768*/, v1 /*v257*/, v2 /*v514*/"
    )


def test_register_of_a_wrong_class_is_remarked_upon() -> None:
    """LLVM decodes a scalar in the place of a vector, and says so."""
    isa = load("gfx1250")
    wmma = isa.assemble("v_wmma_f32_16x16x4_f32 v[0:7], v[8:9], v[10:11], v[0:7]")
    scalar = bytearray(wmma)
    scalar[4:6] = (int.from_bytes(wmma[4:6], "little") & ~0x1FF | 8).to_bytes(2, "little")
    assert isa.decode(bytes(scalar))[0].text == (
        "v_wmma_f32_16x16x4_f32 v[0:7], "
        "s[8:9]/*Invalid register, operand has 'VReg_64_Align2' register class*/, "
        "v[10:11], v[0:7]"
    )


@pytest.mark.parametrize("name", ["gfx", "gfx9x0", "sm_90"])
def test_unknown_processor(name: str) -> None:
    with pytest.raises(ValueError, match="names no AMDGPU processor"):
        TargetFacts.of(name, 32)


def test_version_of_a_processor_is_hexadecimal_where_its_name_is() -> None:
    facts = TargetFacts.of("gfx90a", 64)
    assert facts.version == (9, 0, 10)
    assert facts.is_gfx90a
    assert not facts.is_gfx940


def test_no_printer_is_both_an_operand_and_a_modifier() -> None:
    assert not set(POSITIONAL) & set(TRAILING)


def test_template_language() -> None:
    """Operands are joined by commas, modifiers bring their own space, `~` drops a comma."""
    specs = tuple(
        OperandSpec(role, False, ImmediateField((BitRun(low, 8),)))
        for role, low in (("first", 0), ("second", 8), ("clamp", 16))
    )
    entry = Entry(
        index=0,
        mnemonic="x_do :: x_also",
        llvm_name="X",
        format="TEST",
        base_size=4,
        patterns=((0, 0),),
        operands=specs,
        template=("first:dec", "~", "'off'", "' lds'", "clamp", "::", "second:hex16"),
    )
    values = tuple(
        OperandValue(spec, "imm", value) for spec, value in zip(specs, (7, 9, 1), strict=True)
    )
    text = print_instruction(entry, values, PrintContext.of("gfx1100"))
    assert text == "x_do 7 off lds clamp :: x_also 0x9"
