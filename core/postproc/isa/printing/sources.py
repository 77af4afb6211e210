# SPDX-License-Identifier: Apache-2.0
"""Source modifiers: neg, abs, sext, op_sel and the packed forms.

`src*_modifiers` are bit sets (LLVM: SISrcMods): 1 neg, 2 abs or neg_hi, 4 op_sel, 8 op_sel_hi
or for the first source the op_sel of the destination, 16 sext.
"""

from __future__ import annotations

from postproc.isa.printing.fields import Fields, OperandPrinter

__all__ = ["POSITIONAL", "TRAILING"]

NEG = 1
ABS = NEG_HI = 2
OP_SEL = 4
OP_SEL_HI = DST_OP_SEL = 8
SEXT = 16

_SOURCES = ("src0", "src1", "src2")


def with_float_modifiers(fields: Fields, role: str) -> str:
    """`v1`, `-v1`, `|v1|`, `-|v1|`; a negated immediate reads `neg(1.0)`."""
    modifiers = fields.number(f"{role}_modifiers")
    text = fields.plain(role)
    if modifiers & ABS:
        text = f"|{text}|"
    if not modifiers & NEG:
        return text
    is_immediate = fields.values[role].kind == "imm" or _plain_literal(fields, role, text)
    return f"neg({text})" if is_immediate and not modifiers & ABS else f"-{text}"


def _plain_literal(fields: Fields, role: str, text: str) -> bool:
    """LLVM keeps `lit(...)` as an expression and other literals as immediates."""
    return fields.values[role].kind == "literal" and not text.startswith("lit")


def with_float_modifiers_and_carry(fields: Fields, role: str) -> str:
    """The second source of `v_cndmask_b32_dpp`: LLVM writes the implied VCC inside the bars."""
    modifiers = fields.number(f"{role}_modifiers")
    text = f"{fields.plain(role)}, {'vcc_lo' if fields.target.wavefront_size == 32 else 'vcc'}"
    if modifiers & ABS:
        text = f"|{text}|"
    return f"-{text}" if modifiers & NEG else text


def with_integer_modifiers(fields: Fields, role: str) -> str:
    """`v1` or `sext(v1)`."""
    text = fields.plain(role)
    return f"sext({text})" if fields.number(f"{role}_modifiers") & SEXT else text


def _packed(name: str, bit: int) -> OperandPrinter:
    """` op_sel:[0,1]` and its like; nothing where all bits have their default."""

    def show(fields: Fields, role: str) -> str:
        entry = fields.entry
        flags = entry.ts_flags
        roles = {spec.role for spec in entry.operands}
        # WMMA always has three; a source without modifiers (or an absent one) counts as 0
        present = [number for number, source in enumerate(_SOURCES) if source in roles]
        count = 3 if {"WMMA", "SWMMAC"} & flags else max(present, default=-1) + 1
        modifiers = [fields.number(f"{source}_modifiers") for source in _SOURCES[:count]]
        bits = [int(bool(found & bit)) for found in modifiers]
        usual = int(bit == OP_SEL_HI and "PACKED" in flags)
        selects_half = bit == OP_SEL and "VOP3_OPSEL" in flags and bool({"vdst", "sdst"} & roles)
        if selects_half and bits:
            bits.append(int(bool(modifiers[0] & DST_OP_SEL)))
            if not any(bits):
                return ""
        elif all(found == usual for found in bits):
            return ""
        return f" {name}:[{','.join(map(str, bits))}]"

    return show


def _op_sel_of_two(first: tuple[str, int], second: tuple[str, int]) -> OperandPrinter:
    """` op_sel:[a,b]` made of one bit each of two modifiers."""

    def show(fields: Fields, role: str) -> str:
        bits = [int(bool(fields.number(source) & bit)) for source, bit in (first, second)]
        return f" op_sel:[{bits[0]},{bits[1]}]" if any(bits) else ""

    return show


POSITIONAL: dict[str, OperandPrinter] = {
    "fp": with_float_modifiers,
    "fp_vcc": with_float_modifiers_and_carry,
    "int": with_integer_modifiers,
}

TRAILING: dict[str, OperandPrinter] = {
    "op_sel": _packed("op_sel", OP_SEL),
    "op_sel_hi": _packed("op_sel_hi", OP_SEL_HI),
    "neg_lo": _packed("neg_lo", NEG),
    "neg_hi": _packed("neg_hi", NEG_HI),
    # v_permlane16: fetch-inactive and bound control
    "op_sel_lanes": _op_sel_of_two(("src0_modifiers", OP_SEL), ("src1_modifiers", OP_SEL)),
    # v_cvt_*_fp8 and _bf8 select a byte
    "op_sel_byte": _op_sel_of_two(("src0_modifiers", OP_SEL), ("src0_modifiers", OP_SEL_HI)),
}
