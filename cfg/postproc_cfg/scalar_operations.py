# SPDX-License-Identifier: Apache-2.0
"""The scalar instructions that addresses of code are made of, decoded.

Every other instruction leaves nothing known in what it writes.  Fields of SOP1, SOP2, SOPC and
SOPK stand where all ISA manuals have them (chapter "Scalar ALU Microcode Formats"): SSRC0 [7:0],
SSRC1 [15:8], SDST [22:16], SIMM16 [15:0].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from postproc.isa.model import ImmediateField
from postproc_cfg.definitions import SCC, WHOLE, LaneSlots, written_slot
from postproc_cfg.values import as_signed

if TYPE_CHECKING:
    from postproc.isa import OperandValue
    from postproc_cfg.text import Text

__all__ = [
    "ARITHMETIC",
    "LITERAL",
    "LITERAL_64",
    "SCC_SOURCE",
    "Operation",
    "Operations",
    "inline_constant",
]

# Operand codes of the scalar encodings
_INLINE_ZERO, _INLINE_64, _INLINE_MINUS_16 = 128, 192, 208
SCC_SOURCE, LITERAL_64, LITERAL = 253, 254, 255

_NAMES: Final = {
    "s_getpc_b64": "getpc", "s_get_pc_i64": "getpc",
    "s_mov_b32": "mov", "s_mov_b64": "mov64", "s_movk_i32": "movk",
    "s_cmov_b32": "cmov", "s_cmov_b64": "cmov64", "s_cmovk_i32": "cmovk",
    "s_cselect_b32": "cselect", "s_cselect_b64": "cselect64",
    "s_add_u32": "add_u", "s_add_co_u32": "add_u", "s_sub_u32": "sub_u", "s_sub_co_u32": "sub_u",
    "s_add_i32": "add_i", "s_add_co_i32": "add_i", "s_sub_i32": "sub_i", "s_sub_co_i32": "sub_i",
    "s_addc_u32": "addc", "s_add_co_ci_u32": "addc",
    "s_subb_u32": "subb", "s_sub_co_ci_u32": "subb",
    "s_addk_i32": "addk", "s_addk_co_i32": "addk", "s_mulk_i32": "mulk",
    "s_add_nc_u64": "add64", "s_add_u64": "add64", "s_sub_nc_u64": "sub64", "s_sub_u64": "sub64",
    "s_abs_i32": "abs", "s_sext_i32_i16": "sext16", "s_sext_i32_i8": "sext8", "s_not_b32": "not",
    "v_writelane_b32": "writelane", "v_readlane_b32": "readlane",
}  # fmt: skip

ARITHMETIC: Final = frozenset(
    {
        "s_and_b32",
        "s_or_b32",
        "s_xor_b32",
        "s_andn2_b32",
        "s_and_not1_b32",
        "s_lshl_b32",
        "s_lshr_b32",
        "s_ashr_i32",
        "s_mul_i32",
        "s_min_u32",
        "s_max_u32",
        "s_min_i32",
        "s_max_i32",
    }
)
"""Mnemonics of operations on constants only."""

_LOADS: Final = {
    f"s_load_{form}": count
    for count, forms in {
        1: ("dword", "b32"), 2: ("dwordx2", "b64"), 4: ("dwordx4", "b128"), 8: ("dwordx8", "b256"),
        16: ("dwordx16", "b512"),
    }.items()
    for form in forms
}  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class Operation:
    """One modelled instruction.  `writes` and `reads` are sets of registers."""

    name: str
    index: int
    register: int
    """The first register that it writes."""
    first: int
    """Code of the first source: SSRC0, or SIMM16 of the K forms."""
    second: int
    literal: int
    writes: int
    reads: int
    wide_literal: bool = False


@final
class Operations:
    """The modelled instructions of a text, decoded when asked for."""

    def __init__(self, text: Text, masks: Mapping[int, int], slots: LaneSlots) -> None:
        self._text = text
        self._masks = masks
        self._slots = slots
        self._known: dict[int, Operation | None] = {}
        self._entry_names: dict[int, str] = {}

    def __call__(self, index: int) -> Operation | None:
        """The operation of an instruction; None if it is not modelled."""
        if index not in self._known:
            self._known[index] = self._decoded(index)
        return self._known[index]

    def _decoded(self, index: int) -> Operation | None:
        text = self._text
        stretch = text.stretch_of(index)
        opcode = int(stretch.decoded.opcode[index - stretch.first])
        isa = stretch.decoded.isa
        if opcode == isa.UNKNOWN or index in text.relocated:
            return None
        mnemonic = isa.mnemonics[opcode]
        name = _NAMES.get(mnemonic.removesuffix("_e64"), "")
        if name in ("writelane", "readlane"):
            return self._lane(name, index)
        if mnemonic in _LOADS:
            return self._load(index)
        if mnemonic.startswith("v_readfirstlane_b32"):
            return self._first_lane(index)
        if mnemonic in ("global_load_dwordx2", "global_load_b64"):
            return self._vector_load(index)
        if not name and mnemonic not in ARITHMETIC and not mnemonic.startswith("s_cmp"):
            return None
        return self._scalar(name or mnemonic, index)

    def _scalar(self, name: str, index: int) -> Operation:
        word = int(self._text.word[index])
        register = word >> 16 & 0x7F
        first, second = word & 0xFF, word >> 8 & 0xFF
        one_source = name in ("getpc", "mov", "mov64", "cmov", "cmov64", "abs", "sext16", "sext8",
                              "not")  # fmt: skip
        wide = name.endswith("64")
        reads = 0
        if name in ("movk", "cmovk", "addk", "mulk") or name.startswith("s_cmpk"):
            first, second = word & 0xFFFF, 0
            reads |= 1 << register if name not in ("movk",) else 0
        elif name != "getpc":
            sources = (first,) if one_source else (first, second)
            for source in sources:
                reads |= _read_set(source, 2 if wide else 1)
        if name in ("cmov", "cmov64", "cmovk", "cselect", "cselect64", "addc", "subb"):
            reads |= 1 << SCC
        if name in ("cmov", "cmov64"):
            reads |= _read_set(register, 2 if wide else 1)
        return Operation(
            name,
            index,
            register,
            first,
            second,
            self._literal(index),
            self._masks.get(index, 0),
            reads,
            int(self._text.size[index]) >= 12,
        )

    def _literal(self, index: int) -> int:
        if int(self._text.size[index]) < 12:
            return int(self._text.literal[index])
        data = self._text.instruction(index).data
        return int.from_bytes(data[4:12], "little")

    def _lane(self, name: str, index: int) -> Operation | None:
        """`v_writelane_b32 v, s, lane`; `v_readlane_b32 s, v, lane`."""
        values = self._text.instruction(index).values
        writes = self._masks.get(index, 0)
        if name == "writelane":
            slot, source = written_slot(self._text, index), values[1]
            bit = None if slot is None else self._slots.bits.get(slot)
            if bit is None or source.kind != "reg" or source.register is None:
                return None
            code = source.register.index
            writes = 1 << bit  # the other lanes of the register stay
            return Operation(name, index, bit, code, 0, 0, writes, 1 << code)
        target, holder, lane = values[:3]
        if target.register is None or holder.register is None or lane.kind != "imm":
            return None
        bit = self._slots.bits.get((holder.register.index, lane.value & 63))
        if bit is None:
            return None
        return Operation(name, index, target.register.index, bit, 0, 0, writes, 1 << bit)

    def _first_lane(self, index: int) -> Operation | None:
        """`v_readfirstlane_b32 s, v`."""
        target, source = (value.register for value in self._text.instruction(index).values[:2])
        bit = None if source is None else self._slots.bits.get((source.index, WHOLE))
        if target is None or source is None or source.file != "v" or bit is None:
            return None
        writes = self._masks.get(index, 0)
        return Operation("readlane", index, target.index, bit, 0, 0, writes, 1 << bit)

    def _vector_load(self, index: int) -> Operation | None:
        """`global_load_b64 v[a:a+1], v, s[b:b+1] offset`: the slots of both halves are `register`
        and `second`."""
        values = {value.spec.role: value for value in self._text.instruction(index).values}
        target, base = values["vdst"].register, values.get("saddr")
        if target is None or base is None or base.register is None or base.width != 2:
            return None
        low = self._slots.bits.get((target.index, WHOLE))
        high = self._slots.bits.get((target.index + 1, WHOLE))
        if low is None or high is None or target.file != "v":
            return None
        offset = _signed_offset(values["offset"]) if "offset" in values else 0
        first, writes = base.register.index, self._masks.get(index, 0)
        return Operation("vload", index, low, first, high, offset, writes, 3 << first)

    def _load(self, index: int) -> Operation | None:
        """`s_load_dwordxN sdst, sbase, [soffset] [offset]`: `second` is 1 if there is an offset
        in a register, `literal` the constant offset in bytes."""
        instruction = self._text.instruction(index)
        values = {value.spec.role: value for value in instruction.values}
        target, base = values["sdst"].register, values["sbase"].register
        if target is None or base is None:
            return None
        offset = _signed_offset(values["offset"]) if "offset" in values else 0
        soffset = instruction.operand("soffset")
        indexed = soffset is not None and soffset.text != "null"
        reads = 3 << base.index
        return Operation(
            "load",
            index,
            target.index,
            base.index,
            int(indexed),
            offset,
            self._masks.get(index, 0),
            reads,
        )


def _signed_offset(value: OperandValue) -> int:
    """The constant offset of a scalar load: as many bits as the encoding has for it, signed."""
    source = value.spec.source
    bits = sum(run.length for run in source.runs) if isinstance(source, ImmediateField) else 32
    return as_signed(value.value, bits)


def _read_set(code: int, width: int) -> int:
    """The registers that a source code stands for."""
    if code < 128:
        return ((1 << width) - 1) << code
    return 1 << SCC if code == SCC_SOURCE else 0


def inline_constant(code: int) -> int | None:
    """The 64-bit value, in two's complement, of a source that is an inline integer; None if it is a
    register, a literal, a floating-point constant or another special source."""
    if _INLINE_ZERO <= code <= _INLINE_64:
        return code - _INLINE_ZERO
    if _INLINE_64 < code <= _INLINE_MINUS_16:
        return (_INLINE_64 - code) & (1 << 64) - 1
    return None
