# SPDX-License-Identifier: Apache-2.0
"""Pseudo-random encodings of an entry, each operand of a kind that it takes.

Register classes narrow the codes of a field to registers that belong there; every kind of operand
(vector, scalar, special register, constant, literal) is as likely as the others.  The seed is the
entry, so samples are the same in every run.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from postproc.isa.model import (
    BitRun,
    CodedField,
    Entry,
    ImmediateCode,
    ImmediateField,
    LiteralCode,
    OperandClass,
    OperandCode,
    OperandSpec,
    RegisterCode,
)
from postproc.isa.operands import ClassLookup
from postproc.isa.printing import PrintContext
from postproc.isa.printing.memory import hint_kind
from postproc.isa.printing.registers import in_class

DecodeFunction = Callable[[Sequence[bytes]], "list[tuple[str, int] | None]"]
"""Encodings -> (LLVM's opcode name, size in bytes), None where LLVM rejects."""

TextFunction = Callable[[Sequence[bytes]], "list[str]"]
"""Encodings -> LLVM's text."""

SAMPLE_BYTES = 28
SAMPLES = 24
_K_LITERALS = frozenset({"k16", "k32", "k64"})


@dataclass(frozen=True)
class Sample:
    """One encoding (little-endian, literal included), its size in bytes and LLVM's text."""

    value: int
    size: int
    text: str


def sample(
    entry: Entry,
    classes: ClassLookup,
    decode: DecodeFunction,
    text: TextFunction,
    context: PrintContext,
    count: int = SAMPLES,
    seed: int = 0,
    *,
    usual: bool = False,
) -> list[Sample]:
    """Up to `count` random encodings of `entry` that LLVM takes for one, with its text.

    Ignored bits are as in `entry.base`.  `usual` leaves out what LLVM decodes but would not
    assemble, as far as that is known.
    """
    rng = random.Random(f"{entry.llvm_name}/{entry.patterns[0][1]:x}/{seed}")
    found: list[Sample] = []
    names: dict[str, int] = {}
    for attempt in range(6):
        values = [encoding(entry, classes, context, rng, k, usual) for k in range(count)]
        if attempt and not found:
            # an earlier entry may take all encodings but those with some ignored bits set
            values = [value | noise(entry, rng) for value in values]
        codes = [value.to_bytes(SAMPLE_BYTES, "little") for value in values]
        verdicts = decode(codes)
        kept = [k for k, verdict in enumerate(verdicts) if verdict is not None]
        texts = text([codes[k] for k in kept])
        for k, shown in zip(kept, texts, strict=True):
            verdict = verdicts[k]
            shown = " ".join(shown.strip().split(None, 1))  # one space behind the mnemonic
            if verdict is None or "printer crash" in shown:
                continue
            name, size = verdict
            if not _of_entry(entry, name, shown):
                continue
            names[name] = names.get(name, 0) + 1
            found.append(Sample(values[k] & (1 << 8 * size) - 1, size, shown))
        if len(found) >= count // 2:
            break
    return found[:count]


def noise(entry: Entry, rng: random.Random) -> int:
    """Random bits in place of ignored ones."""
    bits = 0
    for run in entry.ignored:
        bits |= rng.getrandbits(run.length) << run.low
    return bits & ~entry.patterns[0][0]


def _of_entry(entry: Entry, llvm_name: str, text: str) -> bool:
    mnemonic = entry.mnemonic.partition(" :: ")[0]
    if text != mnemonic and not text.startswith(mnemonic + " "):
        return False
    return llvm_name == entry.llvm_name or bool(entry.width_variants)


def encoding(
    entry: Entry,
    classes: ClassLookup,
    context: PrintContext,
    rng: random.Random,
    number: int,
    usual: bool,
) -> int:
    """One encoding, with random bits for a literal behind it; `number` selects the pattern."""
    draft = _Draft(entry, classes, context, rng, entry.patterns[number % len(entry.patterns)])
    for spec in entry.operands:
        if isinstance(spec.source, ImmediateField):
            draft.immediate(spec, spec.source, usual)
        elif isinstance(spec.source, CodedField):
            draft.coded(spec, spec.source, usual)
    return draft.value | _random_literal(rng) << 8 * entry.base_size


class _Draft:
    """An encoding while its operands are chosen."""

    def __init__(
        self,
        entry: Entry,
        classes: ClassLookup,
        context: PrintContext,
        rng: random.Random,
        pattern: tuple[int, int],
    ) -> None:
        self.value = pattern[1] | entry.base & ~pattern[0]
        self._free = ~pattern[0]
        self._entry = entry
        self._classes = classes
        self._context = context
        self._rng = rng
        self._shares = any(spec.operand_type in _K_LITERALS for spec in entry.operands)
        self._literal = 0 if self._shares else None
        self._scalars = 0

    def immediate(self, spec: OperandSpec, source: ImmediateField, usual: bool) -> None:
        bound = _bound(self._entry, spec.role)
        wanted = _usual_number(self._entry, spec.role, self._context, self._rng) if usual else None
        if wanted is None and spec.role == "dpp_ctrl":
            wanted = self._rng.choice(_LEGAL_DPP if usual else _SAID_DPP)
        if bound is not None:
            self._set_joined(source.runs, self._rng.randrange(bound))
            return
        for run in source.runs:
            if wanted is None:
                bits = _immediate_bits(run.length, self._rng)
            else:
                bits = max(wanted // run.weight, 0) & (1 << run.length) - 1
            self._set(run, bits)

    def coded(self, spec: OperandSpec, source: CodedField, usual: bool) -> None:
        codes = self._classes(source.class_id)
        kinds = _kinds(spec, codes, source, self._context, bool(self._entry.width_variants), usual)
        fitting = [kind for kind in sorted(kinds) if self._fits(kind, spec, usual)]
        if not fitting:
            return
        code = self._rng.choice(kinds[self._rng.choice(fitting)])
        if usual and self._entry.format.startswith("VOPD"):
            code = _in_own_bank(code, codes, spec.role)
        meaning = codes[code]
        if isinstance(meaning, LiteralCode):
            self._literal = meaning.extra_bytes
        if spec.role.startswith(("src", "vsrc")) and _is_scalar(meaning):
            self._scalars += 1
        self._set_joined(source.runs, code)

    def _fits(self, kind: str, spec: OperandSpec, usual: bool) -> bool:
        """All literals of an instruction are one: once its size is known, no other will do."""
        if kind.startswith("literal"):
            if self._literal is not None and kind != f"literal {self._literal}":
                return False
            if usual and not self._shares and (kind != "literal 4" or not self._takes_literals()):
                return False
        barred = _barred(self._entry, spec, self._context, self._scalars) if usual else ()
        return not kind.startswith(barred) if barred else True

    def _takes_literals(self) -> bool:
        return not {"DPP", "MUBUF", "MTBUF"} & self._entry.ts_flags

    def _set_joined(self, runs: tuple[BitRun, ...], bits: int) -> None:
        for run in runs:
            self._set(run, bits & (1 << run.length) - 1)
            bits >>= run.length

    def _set(self, run: BitRun, bits: int) -> None:
        mask = ((1 << run.length) - 1) << run.low & self._free
        self.value = self.value & ~mask | bits << run.low & mask


def _is_scalar(code: OperandCode) -> bool:
    return isinstance(code, LiteralCode) or (isinstance(code, RegisterCode) and code.file == "s")


def _barred(
    entry: Entry, spec: OperandSpec, context: PrintContext, scalars: int
) -> tuple[str, ...]:
    """Beginnings of kinds of codes that the assembler would not take in this operand.

    A VALU instruction reads one or two scalars, and DPP before GFX11.5 none in its second source.
    """
    if "VALU" not in entry.ts_flags or not spec.role.startswith(("src", "vsrc")):
        return ()
    if "DPP" in entry.ts_flags and spec.role == "src1" and context.target.version < (11, 5, 0):
        return "register s", "literal", "immediate"
    return ("register s", "literal") if scalars else ()


_LEGAL_DPP = (0x1B, 0x64, 0x101, 0x10F, 0x111, 0x128, 0x140, 0x141)
_SAID_DPP = (*_LEGAL_DPP, 0x130, 0x13C, 0x142, 0x14F, 0x150, 0x15A, 0x160, 0x169, 0x1FF)
"""Values of which LLVM says something; it mistakes some others (0x80 to 0xF8) for constants."""


def _usual_number(entry: Entry, role: str, context: PrintContext, rng: random.Random) -> int | None:
    """A value that LLVM's assembler accepts, for roles where it is choosy."""
    if role == "dpp_ctrl" and context.target.is_gfx90a:
        return 0x153
    if role == "dmask" and {"GATHER4", "MSAA"} & set(entry.llvm_name.split("_")):
        return 1 << rng.randrange(4)
    if role == "offset" and context.target.major < 12 and {"FLAT", "SMRD"} & entry.ts_flags:
        return rng.randrange(1 << 10)
    if role == "tfe" and "mayload" not in entry.desc_flags:
        return 0
    if role == "cpol" and context.target.major >= 12:
        kind = hint_kind(entry)
        hints = (0, 2) if kind == "ATOMIC" else (0, 1, 2, 4, 5, 6)
        return rng.choice(hints) | rng.randrange(4) << 3
    return None


_BANKS = {
    "src0X": 0,
    "src0Y": 3,
    "vsrc1X": 2,
    "vsrc1Y": 1,
    "vsrc2X": 0,
    "src2X": 0,
    "vsrc2Y": 3,
    "src2Y": 3,
    "vdstX": 0,
    "vdstY": 1,
}


def _in_own_bank(code: int, codes: OperandClass, role: str) -> int:
    """The two halves of a VOPD instruction must read and write different VGPR banks."""
    near = code & ~3 | _BANKS.get(role, code & 3)
    found, wanted = codes[near], codes[code]
    if not isinstance(found, RegisterCode) or not isinstance(wanted, RegisterCode):
        return code
    return near if found.file == wanted.file == "v" else code


_MATRIX_FORMATS = frozenset({"matrix_a_fmt", "matrix_b_fmt", "cbsz", "blgp"})
_SELECTIONS = frozenset({"dst_sel", "src0_sel", "src1_sel"})


def _bound(entry: Entry, role: str) -> int | None:
    """The first value that LLVM cannot print sensibly, if there is one.

    Matrix formats from 5 upwards are reserved, and so are SDWA selections from 7 upwards.
    """
    if role in _MATRIX_FORMATS and "F8F6F4" in entry.llvm_name:
        return 5
    if role in _SELECTIONS:
        return 7
    return 3 if role == "dst_unused" else None


def _immediate_bits(length: int, rng: random.Random) -> int:
    kind = rng.randrange(4)
    if kind == 0:
        return 0
    if kind == 1:
        return rng.randrange(min(1 << length, 16))
    return rng.getrandbits(length)


def _random_literal(rng: random.Random) -> int:
    kind = rng.randrange(3)
    if kind == 0:
        return rng.getrandbits(31) | 1 << 20
    return rng.getrandbits(64)


_known_kinds: dict[tuple[object, ...], dict[str, list[int]]] = {}


def _kinds(
    spec: OperandSpec,
    codes: OperandClass,
    source: CodedField,
    context: PrintContext,
    wide: bool,
    usual: bool,
) -> dict[str, list[int]]:
    key = (id(codes), spec.register_class, bool(spec.operand_type), wide, usual, context)
    found = _known_kinds.get(key)
    if found is None:
        found = {}
        for number, code in enumerate(codes):
            kind = _kind(spec, code, source, context, wide)
            if usual and isinstance(code, RegisterCode) and _is_unusual(code, source, context):
                kind = None
            if kind is not None:
                found.setdefault(kind, []).append(number)
        if "literal 0" in found:  # of the codes for a shared literal, the lower one is for 64 bits
            found["literal 0"] = found["literal 0"][-1:]
        _known_kinds[key] = found
    return found


def _kind(
    spec: OperandSpec, code: OperandCode, source: CodedField, context: PrintContext, wide: bool
) -> str | None:
    """`wide`: the encoding may select more registers than `source` says, and they must exist."""
    if isinstance(code, RegisterCode):
        width = source.width if code.width is None else code.width
        if not in_class(code, width, spec.register_class, context.target):
            return None
        if code.file in "s-" and code.index != 254 and not _takes_scalars(spec.register_class):
            return None
        if code.file in "va" and code.index + max(width, 16 if wide else 1) > 256:
            return None
        special = code.file == "s" and code.index >= 102
        return f"register {code.file}{' special' if special else ''}"
    if not spec.operand_type:
        return None
    if isinstance(code, LiteralCode):
        return f"literal {code.extra_bytes}"
    return "immediate" if isinstance(code, ImmediateCode) else None


def _is_unusual(code: RegisterCode, source: CodedField, context: PrintContext) -> bool:
    """Registers that only some targets have, and vector tuples that GFX90A wants aligned."""
    if code.file == "s":
        return code.index in (124, 125) or code.index >= 128
    return context.target.is_gfx90a and source.width > 1 and code.index % 2 == 1


def _takes_scalars(register_class: str) -> bool:
    """Whether the class holds scalars; vector classes let scalar sources pass that mean nothing."""
    return not register_class.startswith(("VGPR", "VReg", "AGPR", "AReg", "AV"))
