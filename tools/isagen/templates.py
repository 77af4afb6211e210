# SPDX-License-Identifier: Apache-2.0
"""Learns how LLVM prints each entry: the templates of `postproc.isa.printing`.

For some encodings of an entry, every candidate token is printed in Python.  A template explains
the entry if its tokens, joined, equal LLVM's text of all of these encodings.  The search walks all
texts at once from the left: a token may come next if what it prints comes next in every text.
Most entries share the template of an earlier one, which is tried first.

The samples are pseudo-random with the entry's index as the seed, so learning is deterministic.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

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
    RawByteField,
    RegisterCode,
)
from postproc.isa.operands import ClassLookup, OperandDecoder
from postproc.isa.printing import TRAILING, PrintContext, print_token
from postproc.isa.printing.fields import Fields
from postproc.isa.printing.memory import hint_kind
from postproc.isa.printing.registers import in_class

DecodeFunction = Callable[[Sequence[bytes]], "list[tuple[str, int] | None]"]
"""Encodings -> (LLVM's opcode name, size in bytes), None where LLVM rejects."""

TextFunction = Callable[[Sequence[bytes]], "list[str]"]
"""Encodings -> LLVM's text."""

EncodeFunction = Callable[[Sequence[bytes]], "list[bytes]"]
"""Encodings -> what LLVM's encoder makes of their operands; empty where it fails."""

SAMPLE_BYTES = 28
SAMPLES = 24


@dataclass(frozen=True)
class Sample:
    """One encoding (little-endian, literal included), its size in bytes and LLVM's text."""

    value: int
    size: int
    text: str


@dataclass
class Learned:
    """Result of `learn`: a template and a base (what LLVM writes into ignored bits) an entry.

    `unexplained` must be empty.  `unreachable` lists entries that LLVM never decodes to: the
    table should not have them.
    """

    templates: list[tuple[str, ...]] = field(default_factory=list)
    bases: list[int] = field(default_factory=list)
    unexplained: list[tuple[Entry, list[Sample]]] = field(default_factory=list)
    unreachable: list[Entry] = field(default_factory=list)


def learn(
    entries: Sequence[Entry],
    classes: ClassLookup,
    decode: DecodeFunction,
    text: TextFunction,
    encode: EncodeFunction,
    context: PrintContext,
) -> Learned:
    """Templates and bases of all entries."""
    decoder = OperandDecoder(classes)
    known: dict[tuple[object, ...], list[tuple[str, ...]]] = {}
    learned = Learned()
    for entry in entries:
        samples = sample(entry, classes, decode, text, context)
        seen = list(_fields(entry, decoder, samples, context))
        shape = known.setdefault(_shape(entry), [])
        template = _explain(entry, seen, shape) if seen else None
        if not samples:
            learned.unreachable.append(entry)
        elif template is None:
            learned.unexplained.append((entry, samples))
        elif template not in shape:
            shape.append(template)
        learned.templates.append(template or ())
        learned.bases.append(_base(entry, samples, encode))
    return learned


def _base(entry: Entry, samples: Sequence[Sample], encode: EncodeFunction) -> int:
    """What LLVM's encoder sets in bits that neither the patterns nor the operands determine."""
    codes = [one.value.to_bytes(SAMPLE_BYTES, "little") for one in samples]
    size = entry.base_size
    made = [int.from_bytes(code[:size], "little") for code in encode(codes) if len(code) >= size]
    if not made:
        return 0
    always = made[0]
    for code in made[1:]:
        always &= code
    return always & ~_determined(entry)


def _determined(entry: Entry) -> int:
    """Bits that the patterns fix or an operand holds."""
    bits = entry.patterns[0][0]
    for spec in entry.operands:
        source = spec.source
        if isinstance(source, RawByteField):
            bits |= 0xFF << source.low
        elif isinstance(source, CodedField | ImmediateField):
            for run in source.runs:
                bits |= (1 << run.length) - 1 << run.low
    return bits


def _fields(
    entry: Entry, decoder: OperandDecoder, samples: Sequence[Sample], context: PrintContext
) -> Iterator[tuple[Fields, str]]:
    for one in samples:
        try:
            operands = decoder(entry, one.value)
        except ValueError:  # a code that LLVM reads as a literal without bytes of its own
            continue
        yield Fields(entry, operands, context), one.text


def _shape(entry: Entry) -> tuple[object, ...]:
    return tuple((spec.role, spec.operand_type) for spec in entry.operands)


# ------------------------------------------------------------------ samples


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
    rng = random.Random(f"{entry.llvm_name}/{entry.index}/{seed}")
    found: list[Sample] = []
    names: dict[str, int] = {}
    for _ in range(6):
        values = [_encoding(entry, classes, context, rng, k, usual) for k in range(count)]
        codes = [value.to_bytes(SAMPLE_BYTES, "little") for value in values]
        verdicts = decode(codes)
        kept = [k for k, verdict in enumerate(verdicts) if verdict is not None]
        texts = text([codes[k] for k in kept])
        for k, shown in zip(kept, texts, strict=True):
            verdict = verdicts[k]
            shown = shown.lstrip().replace("\t", " ")
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


def _of_entry(entry: Entry, llvm_name: str, text: str) -> bool:
    mnemonic = entry.mnemonic.partition(" :: ")[0]
    if text != mnemonic and not text.startswith(mnemonic + " "):
        return False
    return llvm_name == entry.llvm_name or bool(entry.width_variants)


def _encoding(
    entry: Entry,
    classes: ClassLookup,
    context: PrintContext,
    rng: random.Random,
    number: int,
    usual: bool,
) -> int:
    mask, value = entry.patterns[number % len(entry.patterns)]
    value |= entry.base
    free = ~mask
    shared = any(spec.operand_type in ("k16", "k32", "k64") for spec in entry.operands)
    literal_bytes = 0 if shared else None
    if usual and not shared:
        literal_bytes = -1 if {"DPP", "MUBUF", "MTBUF"} & entry.ts_flags else 4
    scalars = 0
    wide = bool(entry.width_variants)
    for spec in entry.operands:
        source = spec.source
        if isinstance(source, ImmediateField):
            bound = _bound(entry, spec.role)
            if bound is not None:
                value = _set_joined(value, source.runs, rng.randrange(bound), free)
                continue
            wanted = _usual_number(entry, spec.role, context, rng) if usual else None
            if wanted is not None:
                for run in source.runs:
                    bits = max(wanted // run.weight, 0) & (1 << run.length) - 1
                    value = _set(value, run.low, run.length, bits, free)
                continue
            for run in source.runs:
                bits = _immediate_bits(run.length, rng)
                value = _set(value, run.low, run.length, bits, free)
        elif isinstance(source, CodedField):
            codes = classes(source.class_id)
            barred = _barred(entry, spec, context, scalars) if usual else ""
            code = _random_code(
                spec, codes, source, context, rng, literal_bytes, wide, barred, usual
            )
            if usual and entry.format.startswith("VOPD"):
                code = _in_own_bank(code, codes, spec.role)
            meaning = codes[code]
            if isinstance(meaning, RegisterCode) and meaning.file == "s":
                scalars += spec.role.startswith(("src", "vsrc"))
            if isinstance(meaning, LiteralCode):
                scalars += 1
                literal_bytes = meaning.extra_bytes
            value = _set_joined(value, source.runs, code, free)
    literal = _random_literal(rng)
    return value | literal << 8 * entry.base_size


def _barred(entry: Entry, spec: OperandSpec, context: PrintContext, scalars: int) -> str:
    """Kinds of codes, joined by `/`, that the assembler would not take in this operand.

    A VALU instruction reads one or two scalars, and DPP before GFX11.5 none in its second source.
    """
    if "VALU" not in entry.ts_flags or not spec.role.startswith(("src", "vsrc")):
        return ""
    if "DPP" in entry.ts_flags and spec.role == "src1" and context.target.version < (11, 5, 0):
        return "register s/literal/immediate"
    return "register s/literal" if scalars else ""


_LEGAL_DPP = (0x1B, 0xE4, 0x101, 0x10F, 0x111, 0x128, 0x140, 0x141)


def _usual_number(entry: Entry, role: str, context: PrintContext, rng: random.Random) -> int | None:
    """A value that LLVM's assembler accepts, for roles where it is choosy."""
    if role == "dpp_ctrl":
        return 0x153 if context.target.is_gfx90a else rng.choice(_LEGAL_DPP)
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


def _set_joined(value: int, runs: tuple[BitRun, ...], bits: int, free: int) -> int:
    for run in runs:
        value = _set(value, run.low, run.length, bits & (1 << run.length) - 1, free)
        bits >>= run.length
    return value


def _set(value: int, low: int, length: int, bits: int, free: int) -> int:
    field_mask = ((1 << length) - 1) << low & free
    return value & ~field_mask | bits << low & field_mask


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


def _random_code(
    spec: OperandSpec,
    codes: OperandClass,
    source: CodedField,
    context: PrintContext,
    rng: random.Random,
    literal_bytes: int | None,
    wide: bool,
    barred: str,
    usual: bool,
) -> int:
    """A field value of the kinds that the operand takes, each kind as likely as the others.

    All literals of an instruction are one: once `literal_bytes` is known, no other size will do.
    """
    kinds = _kinds(spec, codes, source, context, wide, usual)
    other = "" if literal_bytes is None else f"literal {literal_bytes}"
    fitting = [
        kind
        for kind in sorted(kinds)
        if (not kind.startswith("literal") or other in ("", kind))
        and not (barred and kind.startswith(tuple(barred.split("/"))))
    ]
    return rng.choice(kinds[rng.choice(fitting)]) if fitting else 0


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


# ------------------------------------------------------------------ search

_FORMS: dict[str, tuple[str, ...]] = {
    "offset": (
        "offset",
        "offset:flat_offset",
        "offset:buffer_offset",
        "offset:swizzle",
        "offset:smem_offset",
        "offset:smem_offset_modifier",
        "offset:smem_literal",
    ),
    "simm16": (
        "simm16:dec",
        "simm16:hex16",
        "simm16:plain",
        "simm16:endpgm",
        "simm16:waitcnt",
        "simm16:depctr",
        "simm16:delay_alu",
        "simm16:hwreg",
        "simm16:sendmsg",
        "simm16:gpr_idx",
        "simm16:version",
        "simm16:dec16",
    ),
    "imm": ("imm:hex32", "imm:hex16", "imm:lit64", "imm:hwreg", "imm:plain"),
    "r128": ("r128", "r128:r128_is_a16"),
    "blgp": ("blgp", "blgp:neg"),
    "op_sel": ("op_sel", "op_sel:op_sel_lanes", "op_sel:op_sel_byte"),
    "index_key_8bit": ("index_key_8bit:index_key",),
    "index_key_16bit": ("index_key_16bit:index_key",),
    "index_key_32bit": ("index_key_32bit:index_key",),
    "waitexp": ("waitexp:wait_exp",),
    "waitvdst": ("waitvdst:wait_va_vdst", "waitvdst:wait_vdst"),
    "waitvsrc": ("waitvsrc:wait_vm_vsrc",),
    "vaddr0": ("vaddr0:list", "vaddr0:address", "vaddr0"),
    "attrchan": (),
    "immDeferred": ("immDeferred:hex32",),
}
_SCALAR_FORMS = (
    "dec",
    "hex16",
    "hex32",
    "hwreg",
    "sendmsg",
    "gpr_idx",
    "slot",
    "waitcnt",
    "depctr",
)
_IMPLIED = ("op_sel", "op_sel_hi", "neg_lo", "neg_hi")
"""Modifiers that LLVM makes of `src*_modifiers` even where they are no operand."""

_EXPORT = {f"src{n}": (f"src{n}:export{n}",) for n in range(4)}

Seen = Sequence[tuple[Fields, str]]


def _forms(entry: Entry, spec: OperandSpec) -> tuple[str, ...]:
    role = spec.role
    if role.endswith("_modifiers"):
        return ()
    if "EXP" in entry.ts_flags and role in _EXPORT:
        return _EXPORT[role]
    if role in _FORMS:
        return _FORMS[role]
    if role in TRAILING:
        return (role,)
    roles = {other.role for other in entry.operands}
    forms = [role]
    if f"{role}_modifiers" in roles:
        forms = [f"{role}:fp", f"{role}:int", role, f"{role}:fp_vcc"]
    if isinstance(spec.source, ImmediateField | RawByteField):
        forms += [f"{role}:{form}" for form in _SCALAR_FORMS]
    return tuple(forms)


def _explain(entry: Entry, seen: Seen, shape: list[tuple[str, ...]]) -> tuple[str, ...] | None:
    halves = entry.mnemonic.split(" :: ")
    texts = [text[len(halves[0]) :] for _, text in seen]
    search = _Search(entry, [fields for fields, _ in seen], texts, halves[1:])
    for template in shape:
        if search.explains(template):
            return template
    return next(search.solutions(), None)


class _Search:
    """The left-to-right search over all samples of one entry."""

    def __init__(
        self, entry: Entry, fields: list[Fields], texts: list[str], halves: list[str]
    ) -> None:
        self._fields = fields
        self._texts = texts
        self._second = f" :: {halves[0]}" if halves else None
        self._printed: dict[str, tuple[str, ...] | None] = {}
        self._operands: list[str] = []
        self._modifiers: list[str] = []
        for role_forms in self._candidates(entry):
            for token in role_forms:
                name = token.rpartition(":")[2]
                (self._modifiers if name in TRAILING else self._operands).append(token)

    @staticmethod
    def _candidates(entry: Entry) -> Iterator[tuple[str, ...]]:
        done = set()
        for spec in entry.operands:
            if spec.role not in done:
                done.add(spec.role)
                yield _forms(entry, spec)
        for role in _IMPLIED:
            if role not in done:
                yield _FORMS.get(role, (role,))

    def _print(self, token: str) -> tuple[str, ...] | None:
        """What `token` prints for each sample; None if it cannot print one of them."""
        if token not in self._printed:
            try:
                self._printed[token] = tuple(print_token(token, f) for f in self._fields)
            except (KeyError, IndexError, ValueError):
                self._printed[token] = None
        return self._printed[token]

    def explains(self, template: tuple[str, ...]) -> bool:
        at: tuple[int, ...] | None = (0,) * len(self._texts)
        separator = " "
        for token in template:
            if at is None:
                return False
            at, separator = self._advance(at, separator, token)
        return at is not None and self._done(at)

    def _done(self, at: tuple[int, ...]) -> bool:
        return all(position == len(text) for position, text in zip(at, self._texts, strict=True))

    def _advance(
        self, at: tuple[int, ...], separator: str, token: str
    ) -> tuple[tuple[int, ...] | None, str]:
        if token == "~":
            return at, " "
        if token == "::":
            return self._skip(at, [self._second or "?"] * len(at)), " "
        if token.startswith("'"):
            fixed = token[1:-1]
            if fixed.startswith(" "):
                return self._skip(at, [fixed] * len(at)), separator
            return self._skip(at, [separator + fixed] * len(at)), ", "
        printed = self._print(token)
        if printed is None:
            return None, separator
        if token.rpartition(":")[2] in TRAILING:
            return self._skip(at, printed), separator
        return self._skip(at, [separator + text for text in printed]), ", "

    def _skip(self, at: tuple[int, ...], printed: Sequence[str]) -> tuple[int, ...] | None:
        out = []
        for position, text, piece in zip(at, self._texts, printed, strict=True):
            end = position + len(piece)
            if not text.startswith(piece, position):
                return None
            if piece and end < len(text) and (text[end].isalnum() or text[end] in "_.:["):
                return None
            out.append(end)
        return tuple(out)

    def solutions(self) -> Iterator[tuple[str, ...]]:
        yield from self._from((0,) * len(self._texts), " ", (), frozenset())

    def _from(
        self, at: tuple[int, ...], separator: str, tokens: tuple[str, ...], used: frozenset[str]
    ) -> Iterator[tuple[str, ...]]:
        if self._done(at):
            yield tokens
            return
        for token in self._next(at, separator, used):
            role = token.partition(":")[0]
            if token.startswith("~"):
                then, after = self._advance(at, " ", token[1:])
                shown: tuple[str, ...] = ("~", token[1:])
                role = token[1:].partition(":")[0]
            else:
                then, after = self._advance(at, separator, token)
                shown = (token,)
            if then is not None and then != at:
                yield from self._from(then, after, tokens + shown, used | {role})

    def _next(self, at: tuple[int, ...], separator: str, used: frozenset[str]) -> Iterator[str]:
        for token in (*self._operands, *self._modifiers):
            if token.partition(":")[0] not in used:
                yield token
        if self._second is not None:
            yield "::"
        if separator == ", ":
            for token in self._operands:
                if token.partition(":")[0] not in used:
                    yield "~" + token
        yield from self._fixed(at, separator)

    def _fixed(self, at: tuple[int, ...], separator: str) -> Iterator[str]:
        """The next word, if all samples agree on it."""
        rest = [text[position:] for position, text in zip(at, self._texts, strict=True)]
        if all(text == " " or text.startswith("  ") for text in rest):
            yield "' '"
        lead, quote = separator, ""
        word = _common_word(rest, lead)
        if not word:
            lead, quote = " ", " "
            word = _common_word(rest, lead)
        if not word:
            return
        behind = [text[len(lead) + len(word) :] for text in rest]
        if lead == " " and not all(text.startswith(",") for text in behind):
            quote = " "  # an operand of its own would have a comma behind it
        yield f"'{quote}{word}'"


def _common_word(texts: Sequence[str], lead: str) -> str:
    """The word that stands behind `lead` in all texts; empty if there is none."""
    if not all(text.startswith(lead) for text in texts):
        return ""
    words = {_word(text[len(lead) :]) for text in texts}
    return words.pop() if len(words) == 1 else ""


def _word(text: str) -> str:
    end = 0
    while end < len(text) and (text[end].isalnum() or text[end] in "_"):
        end += 1
    return text[:end]
