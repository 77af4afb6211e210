# SPDX-License-Identifier: Apache-2.0
"""Learns how LLVM prints each entry: the templates of `postproc.isa.printing`.

For some encodings of an entry, every candidate token is printed in Python.  A template explains
the entry if its tokens, joined, equal LLVM's text of all of these encodings.  The search walks all
texts at once from the left: a token may come next if what it prints comes next in every text.
Most entries share the template of an earlier one, which is tried first.

Samples are the same in every run (`sampling`), so learning is deterministic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from postproc.isa.model import Entry, ImmediateField, OperandSpec, RawByteField
from postproc.isa.operands import ClassLookup, OperandDecoder
from postproc.isa.printing import TRAILING, PrintContext, print_token
from postproc.isa.printing.fields import Fields

from .sampling import DecodeFunction, Sample, TextFunction, sample


@dataclass
class Learned:
    """Result of `learn`: a template an entry.

    `unexplained` must be empty.  `partly` lists entries of which most texts are explained, with
    one that is not: there LLVM prints something odd, or the entry's facts are wrong.
    `unreachable` lists entries that LLVM never decodes to: the table should not have them.
    """

    templates: list[tuple[str, ...]] = field(default_factory=list)
    unexplained: list[tuple[Entry, list[Sample]]] = field(default_factory=list)
    partly: list[tuple[Entry, str]] = field(default_factory=list)
    unreachable: list[Entry] = field(default_factory=list)


def learn(
    entries: Sequence[Entry],
    classes: ClassLookup,
    decode: DecodeFunction,
    text: TextFunction,
    context: PrintContext,
) -> Learned:
    """Templates of all entries."""
    decoder = OperandDecoder(classes)
    known: dict[tuple[object, ...], list[tuple[str, ...]]] = {}
    learned = Learned()
    for entry in entries:
        samples = sample(entry, classes, decode, text, context)
        seen = list(_fields(entry, decoder, samples, context))
        shape = known.setdefault(_shape(entry), [])
        template = _explain(entry, seen, shape) if seen else None
        if seen and template is None:
            template, odd = _explain_most(entry, seen, shape)
            if template is not None:
                learned.partly.append((entry, odd))
        if not samples:
            learned.unreachable.append(entry)
        elif template is None:
            learned.unexplained.append((entry, samples))
        elif template not in shape:
            shape.append(template)
        learned.templates.append(template or ())
    return learned


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

SUBSETS = (6, 4, 3)
"""Texts from which a template is learned where no template explains all."""

LEAST_SHARE = 0.4
"""Share of the texts that a template must explain: on gfx90a LLVM prints the data of an image
instruction that begins at an odd register as that register alone, in half of all samples."""

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
    if "VINTRP" in entry.ts_flags:
        forms.append(f"{role}:slot")
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


def _explain_most(
    entry: Entry, seen: Seen, shape: list[tuple[str, ...]]
) -> tuple[tuple[str, ...] | None, str]:
    """The template that explains most texts, if that is three quarters of them; and a text that
    it does not explain."""
    candidates = list(shape)
    for size in SUBSETS:
        for start in range(0, len(seen) - size + 1, 2):
            found = _explain(entry, seen[start : start + size], [])
            if found is not None and found not in candidates:
                candidates.append(found)
    best, odd, most = None, "", int(LEAST_SHARE * len(seen))
    for template in candidates:
        missed = [one for one in seen if _explain(entry, [one], [template]) != template]
        if missed and len(seen) - len(missed) >= most:
            best, odd, most = template, missed[0][1], len(seen) - len(missed)
    return best, odd


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
            if not any(at):  # one space behind the mnemonic
                printed = tuple(text and f" {text.lstrip()}" for text in printed)
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
