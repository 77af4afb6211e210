# SPDX-License-Identifier: Apache-2.0
"""The remaining modifiers: single bits, output modifiers, matrix and export fields."""

from __future__ import annotations

from postproc.isa.printing.fields import Fields, OperandPrinter
from postproc.isa.printing.names import export_targets

__all__ = ["MATRIX_NAMES", "NAMED_BITS", "OUTPUT_MODIFIERS", "POSITIONAL", "TRAILING"]

NAMED_BITS = (
    "a16",
    "clamp",
    "compr",
    "d16",
    "da",
    "gds",
    "high",
    "lwe",
    "matrix_a_reuse",
    "matrix_b_reuse",
    "r128",
    "tfe",
    "unorm",
    "vm",
)
"""Operands of one bit that are printed as their own name."""

OUTPUT_MODIFIERS = ("", "mul:2", "mul:4", "div:2")

MATRIX_NAMES: dict[str, tuple[str, ...]] = {
    "fmt": ("FP8", "BF8", "FP6", "BF6", "FP4"),
    "scale": ("ROW0", "ROW1"),
    "scale_fmt": ("E8", "E5M3", "E4M3"),
}
"""`matrix_a_fmt:MATRIX_FMT_FP8` and so on, by number."""

INTERPOLATION_SLOTS = ("p10", "p20", "p0")


def named_bit(fields: Fields, role: str) -> str:
    return f" {role}" if fields.number(role) else ""


def named_a16(fields: Fields, role: str) -> str:
    """The r128 bit where it means a16 (GFX9)."""
    return " a16" if fields.number(role) else ""


def numbered(fields: Fields, role: str) -> str:
    """` role:5`; nothing for 0."""
    value = fields.number(role)
    return f" {role}:{value}" if value else ""


def renamed(name: str, mask: int = -1) -> OperandPrinter:
    """` name:5` for a role of another name."""

    def show(fields: Fields, role: str) -> str:
        value = fields.number(role) & mask
        return f" {name}:{value}" if value else ""

    return show


def always(name: str) -> OperandPrinter:
    """` name:5`, also for 0."""
    return lambda fields, role: f" {name}:{fields.number(role)}"


def truth_table(fields: Fields, role: str) -> str:
    """` bitop3:5`, in hexadecimal above ten; nothing for 0."""
    value = fields.number(role)
    if not value:
        return ""
    return f" {role}:{value if value <= 10 else hex(value)}"


def output_modifier(fields: Fields, role: str) -> str:
    name = OUTPUT_MODIFIERS[fields.number(role) & 3]
    return f" {name}" if name else ""


def negations(fields: Fields, role: str) -> str:
    """` neg:[1,0,0]`: what `blgp` means for f64 MFMA on gfx942."""
    value = fields.number(role)
    if not value:
        return ""
    return f" neg:[{value & 1},{value >> 1 & 1},{value >> 2 & 1}]"


def matrix_name(kind: str) -> OperandPrinter:
    names = MATRIX_NAMES[kind]

    def show(fields: Fields, role: str) -> str:
        value = fields.number(role)
        if not value:
            return ""
        name = f"MATRIX_{kind.upper()}_{names[value]}" if value < len(names) else str(value)
        return f" {role}:{name}"

    return show


def export_target(fields: Fields, role: str) -> str:
    number = fields.number(role) & 0x3F
    return export_targets(fields.target).get(number, f"invalid_target_{number}")


def export_source(number: int) -> OperandPrinter:
    """Source `number` of an export, `off` where its enable bit is clear."""

    def show(fields: Fields, role: str) -> str:
        if not fields.number("en") >> number & 1:
            return "off"
        return fields.plain(f"src{number // 2}" if fields.number("compr") else f"src{number}")

    return show


def interpolation_slot(fields: Fields, role: str) -> str:
    number = fields.number(role)
    if number < len(INTERPOLATION_SLOTS):
        return INTERPOLATION_SLOTS[number]
    return f"invalid_param_{number}"


def attribute(fields: Fields, role: str) -> str:
    """`attr3.x`, or `attr3` where there is no channel."""
    channel = f".{'xyzw'[fields.number('attrchan') & 3]}" if "attrchan" in fields.values else ""
    return f"attr{fields.number(role)}{channel}"


POSITIONAL: dict[str, OperandPrinter] = {
    "tgt": export_target,
    **{f"export{number}": export_source(number) for number in range(4)},
    "slot": interpolation_slot,
    "attr": attribute,
}

TRAILING: dict[str, OperandPrinter] = {
    **dict.fromkeys(NAMED_BITS, named_bit),
    "r128_is_a16": named_a16,
    "omod": output_modifier,
    "cbsz": numbered,
    "abid": numbered,
    "blgp": numbered,
    "neg": negations,
    "byte_sel": numbered,
    "scale_sel": numbered,
    "bitop3": truth_table,
    "index_key": renamed("index_key", 7),
    "matrix_a_fmt": matrix_name("fmt"),
    "matrix_b_fmt": matrix_name("fmt"),
    "matrix_a_scale": matrix_name("scale"),
    "matrix_b_scale": matrix_name("scale"),
    "matrix_a_scale_fmt": matrix_name("scale_fmt"),
    "matrix_b_scale_fmt": matrix_name("scale_fmt"),
    "wait_exp": always("wait_exp"),
    "wait_vdst": always("wait_vdst"),
    "wait_va_vdst": always("wait_va_vdst"),
    "wait_vm_vsrc": always("wait_vm_vsrc"),
}
