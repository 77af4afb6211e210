# SPDX-License-Identifier: Apache-2.0
"""What the instruction tables say of one encoding: entries, operand fields and register classes.

An *entry* is one machine encoding of one instruction (`v_add_f32_e32`, `v_add_f32_e64`,
`v_add_f32_e64_dpp` ... are different entries).  Everything here was asked of LLVM's MC layer by
`tools/isagen`; nothing was typed by hand.  Bit positions count from bit 0 of the first dword, so
bit 32 is the lowest bit of the second dword.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

RegisterFile = Literal["s", "v", "a", "-"]
"""Scalar (including VCC, EXEC, M0, TTMP ... by hardware code), vector, accumulator, or absent."""


@dataclass(frozen=True, slots=True)
class BitRun:
    """`length` bits from `low` upwards; the lowest of them counts `weight`."""

    low: int
    length: int
    weight: int = 1


@dataclass(frozen=True, slots=True)
class RegisterCode:
    """A field value that names a register.

    `index` is the register number in its file; for the scalar file the hardware code
    (106 = vcc_lo, 126 = exec_lo ...).  `half`: 0 whole, 1 low 16 bits, 2 high 16 bits.  `width`
    (dwords) overrides the operand's width where this code has another one.
    """

    file: RegisterFile
    half: int
    index: int
    width: int | None = None


@dataclass(frozen=True, slots=True)
class ImmediateCode:
    """A field value that stands for an inline constant (`value` as LLVM's MCInst holds it)."""

    value: int


@dataclass(frozen=True, slots=True)
class LiteralCode:
    """A field value that takes a literal: `extra_bytes` follow (0: shares the K literal)."""

    extra_bytes: int


OperandCode = RegisterCode | ImmediateCode | LiteralCode | None
"""None: the code is rejected."""

OperandClass = tuple[OperandCode, ...]
"""Meaning of every value of a field, indexed by the value."""


@dataclass(frozen=True, slots=True)
class ConstantOperand:
    """The operand has one value in every encoding of the entry."""

    code: RegisterCode | ImmediateCode


@dataclass(frozen=True, slots=True)
class ImmediateField:
    """The operand is `base` plus the weighted sum of its bits."""

    runs: tuple[BitRun, ...]
    base: int = 0


@dataclass(frozen=True, slots=True)
class RawByteField:
    """The operand is one raw byte of the encoding (DPP8's fetch-inactive code, 0xE9 or 0xEA)."""

    low: int


@dataclass(frozen=True, slots=True)
class CodedField:
    """The operand is looked up: the runs, joined from the lowest, index `class_id`."""

    runs: tuple[BitRun, ...]
    class_id: int
    width: int


@dataclass(frozen=True, slots=True)
class OperandSpec:
    """One MCInst operand of an entry, in LLVM's order.

    `role` is LLVM's operand name (`vdst`, `src0`, `src0_modifiers`, `cpol` ...), `operand_type`
    LLVM's operand type (`f32`, `ci16`, `k32`, `pcrel` ... or "").  `tied` is the index of the def
    that this use shares its register with, or None.  `register_class` is LLVM's register class.
    """

    role: str
    is_def: bool
    source: ConstantOperand | ImmediateField | RawByteField | CodedField
    operand_type: str = ""
    tied: int | None = None
    register_class: str = ""
    is_branch_target: bool = False


@dataclass(frozen=True, slots=True)
class WidthVariant:
    """Operand widths (dwords; 0: absent; None: illegal) selected by some bits of the encoding."""

    role: str
    bits: tuple[int, ...]
    widths: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One encoding of one instruction on one target."""

    index: int
    mnemonic: str
    llvm_name: str
    format: str
    base_size: int
    patterns: tuple[tuple[int, int], ...]
    """(mask, value) pairs over up to 128 bits; an encoding matches if any of them does."""
    operands: tuple[OperandSpec, ...]
    ignored: tuple[BitRun, ...] = ()
    implicit_defs: tuple[str, ...] = ()
    implicit_uses: tuple[str, ...] = ()
    desc_flags: frozenset[str] = field(default_factory=frozenset)
    """MCInstrDesc flags: mayload, maystore, branch, call, terminator ..."""
    ts_flags: frozenset[str] = field(default_factory=frozenset)
    """TSFlags of SIInstrFlags: VALU, SALU, DS, VM_CNT ..."""
    width_variants: tuple[WidthVariant, ...] = ()
    template: tuple[str, ...] = ()
    """How LLVM prints it, see `postproc.isa.printing`."""
    base: int = 0
    """What LLVM's encoder writes into bits that its decoder ignores."""


@dataclass(frozen=True, slots=True)
class OperandValue:
    """A decoded operand.

    kind "reg": `register` and `width` (dwords) are set; "imm": `value` as LLVM's MCInst holds it;
    "literal": `value` is the raw literal of `literal_bytes` (4 or 8) bytes.
    """

    spec: OperandSpec
    kind: Literal["reg", "imm", "literal"]
    value: int = 0
    register: RegisterCode | None = None
    width: int = 0
    literal_bytes: int = 0
