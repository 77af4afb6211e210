# SPDX-License-Identifier: Apache-2.0
"""Immediates of scalar instructions that have a notation of their own."""

from __future__ import annotations

from postproc.isa.printing.context import TargetFacts
from postproc.isa.printing.fields import Fields, OperandPrinter
from postproc.isa.printing.names import hardware_registers, messages

__all__ = [
    "DELAY_INSTRUCTIONS",
    "DELAY_SKIPS",
    "INDEX_MODES",
    "POSITIONAL",
    "TRAILING",
    "VERSIONS",
    "VERSION_FLAGS",
    "counter_fields",
    "dependency_fields",
]

DELAY_INSTRUCTIONS = (
    "NO_DEP",
    "VALU_DEP_1",
    "VALU_DEP_2",
    "VALU_DEP_3",
    "VALU_DEP_4",
    "TRANS32_DEP_1",
    "TRANS32_DEP_2",
    "TRANS32_DEP_3",
    "FMA_ACCUM_CYCLE_1",
    "SALU_CYCLE_1",
    "SALU_CYCLE_2",
    "SALU_CYCLE_3",
)
DELAY_SKIPS = ("SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4")

VERSIONS = {
    0: "UC_VERSION_GFX7",
    4: "UC_VERSION_GFX10",
    6: "UC_VERSION_GFX11",
    9: "UC_VERSION_GFX12",
}
VERSION_FLAGS = {
    0x2000: "UC_VERSION_W64_BIT",
    0x4000: "UC_VERSION_W32_BIT",
    0x8000: "UC_VERSION_MDP_BIT",
}

INDEX_MODES = ("SRC0", "SRC1", "SRC2", "DST")


def decimal(fields: Fields, role: str) -> str:
    return str(fields.number(role))


def decimal16(fields: Fields, role: str) -> str:
    return str(fields.number(role) & 0xFFFF)


def hexadecimal16(fields: Fields, role: str) -> str:
    value = fields.number(role)
    return hex(value & 0xFFFF if -0x8000 <= value <= 0xFFFF else value & 0xFFFFFFFF)


def hexadecimal32(fields: Fields, role: str) -> str:
    return hex(fields.number(role) & 0xFFFFFFFF)


def literal64(fields: Fields, role: str) -> str:
    """A K literal of an f64 instruction: the high half alone where the low one is zero."""
    value = fields.number(role) & (1 << 64) - 1
    if value < 1 << 32:
        return f"lit64({value:#x})"
    return hex(value if value & 0xFFFFFFFF else value >> 32)


def end_program(fields: Fields, role: str) -> str:
    code = fields.number(role) & 0xFFFF
    return f" {code}" if code else ""


def counter_fields(target: TargetFacts) -> dict[str, tuple[tuple[int, int], ...]]:
    """Fields of `s_waitcnt`: name -> bit runs (low, length), from the lowest."""
    if target.major >= 11:
        return {"vmcnt": ((10, 6),), "expcnt": ((0, 3),), "lgkmcnt": ((4, 6),)}
    lgkm = 6 if target.major == 10 else 4
    return {"vmcnt": ((0, 4), (14, 2)), "expcnt": ((4, 3),), "lgkmcnt": ((8, lgkm),)}


def wait_counters(fields: Fields, role: str) -> str:
    code = fields.number(role)
    shown = []
    everything = []
    for name, runs in counter_fields(fields.target).items():
        value = shift = 0
        for low, length in runs:
            value |= (code >> low & (1 << length) - 1) << shift
            shift += length
        text = f"{name}({value})"
        everything.append(text)
        if value != (1 << shift) - 1:
            shown.append(text)
    return " ".join(shown or everything)


def dependency_fields(target: TargetFacts) -> tuple[tuple[str, int, int], ...]:
    """Fields (name, low, length) of `s_waitcnt_depctr` and `s_wait_alu`, in LLVM's order."""
    hold = (("depctr_hold_cnt", 7, 1),) if target.version >= (10, 3, 0) else ()
    return (
        *hold,
        ("depctr_sa_sdst", 0, 1),
        ("depctr_va_vdst", 12, 4),
        ("depctr_va_sdst", 9, 3),
        ("depctr_va_ssrc", 8, 1),
        ("depctr_va_vcc", 1, 1),
        ("depctr_vm_vsrc", 2, 3),
    )


def dependency_counters(fields: Fields, role: str) -> str:
    code = fields.number(role) & 0xFFFF
    used = 0
    shown = []
    everything = []
    for name, low, length in dependency_fields(fields.target):
        mask = (1 << length) - 1
        used |= mask << low
        value = code >> low & mask
        text = f"{name}({value})"
        everything.append(text)
        if value != mask:
            shown.append(text)
    if code & ~used:
        return hex(code)
    return " ".join(shown or everything)


def delay_alu(fields: Fields, role: str) -> str:
    code = fields.number(role)
    parts = []
    for name, value, names in (
        ("instid0", code & 0xF, DELAY_INSTRUCTIONS),
        ("instskip", code >> 4 & 7, DELAY_SKIPS),
        ("instid1", code >> 7 & 0xF, DELAY_INSTRUCTIONS),
    ):
        if value:
            kind = "instskip" if name == "instskip" else "instid"
            known = names[value] if value < len(names) else f"/* invalid {kind} value */"
            parts.append(f"{name}({known})")
    return " | ".join(parts) or "0"


def hardware_register(fields: Fields, role: str) -> str:
    """`hwreg(NAME)` for all 32 bits, else `hwreg(NAME, offset, size)`."""
    code = fields.number(role)
    number, offset, size = code & 0x3F, code >> 6 & 0x1F, (code >> 11 & 0x1F) + 1
    name = hardware_registers(fields.target).get(number, str(number))
    return f"hwreg({name})" if (offset, size) == (0, 32) else f"hwreg({name}, {offset}, {size})"


def send_message(fields: Fields, role: str) -> str:
    code = fields.number(role) & 0xFFFF
    mask = 0xFF if fields.target.major >= 11 else 0x37F
    canonical = code & mask
    name = messages(fields.target).get(canonical)
    if name is not None:
        return f"sendmsg({name})"
    if canonical != code:
        return str(code)
    if fields.target.major >= 11:
        return f"sendmsg({code}, 0, 0)"
    return f"sendmsg({code & 0xF}, {code >> 4 & 7}, {code >> 8 & 3})"


def microcode_version(fields: Fields, role: str) -> str:
    """`UC_VERSION_GFX12|UC_VERSION_W64_BIT` of `s_version`."""
    code = fields.number(role) & 0xFFFF
    if code & 0x1F00:
        return hex(code)
    text = VERSIONS.get(code & 0xFF, str(code & 0xFF))
    for bit, name in VERSION_FLAGS.items():
        if code & bit:
            text = f"({text})|{name}" if "|" in text else f"{text}|{name}"
    return text


def index_mode(fields: Fields, role: str) -> str:
    """`gpr_idx(SRC0,DST)` of `s_set_gpr_idx_on`."""
    code = fields.number(role)
    if code & ~0xF:
        return hex(code)
    names = [name for bit, name in enumerate(INDEX_MODES) if code >> bit & 1]
    return f"gpr_idx({','.join(names)})"


POSITIONAL: dict[str, OperandPrinter] = {
    "dec": decimal,
    "dec16": decimal16,
    "hex16": hexadecimal16,
    "hex32": hexadecimal32,
    "lit64": literal64,
    "waitcnt": wait_counters,
    "depctr": dependency_counters,
    "delay_alu": delay_alu,
    "hwreg": hardware_register,
    "sendmsg": send_message,
    "gpr_idx": index_mode,
    "version": microcode_version,
}

TRAILING: dict[str, OperandPrinter] = {"endpgm": end_program}
