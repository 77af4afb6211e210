# SPDX-License-Identifier: Apache-2.0
"""The assembler: LLVM's syntax to bytes, from the same entries and templates as the printer.

A mnemonic has candidates: all entries of that name and, where it bears no `_e32`, `_e64`, `_dpp`
or `_sdwa`, of its forms.  They are tried in the order in which LLVM prefers them (the short form
first), and the first one that takes all operands and reads back as written wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NoReturn, final

from postproc.errors import AssemblyError
from postproc.isa.assembling.aliases import aliases_of
from postproc.isa.assembling.encoding import Codes
from postproc.isa.assembling.matching import Matcher
from postproc.isa.assembling.mnemonics import Candidates
from postproc.isa.assembling.operands import fixed
from postproc.isa.assembling.parsers import POSITIONAL, TRAILING
from postproc.isa.assembling.syntax import Statement, parse_source
from postproc.isa.assembling.values import Mismatch, Scope, register_of
from postproc.isa.model import Entry
from postproc.isa.operands import ClassLookup, OperandDecoder
from postproc.isa.printing.context import PrintContext

__all__ = ["Assembler"]


@final
class Assembler:
    """Assembles for one target.

    `entries` are all entries in the order of decoding; `mnemonics`, if given, are their mnemonics,
    so that only the entries of a mnemonic in use are made.
    """

    def __init__(
        self,
        processor: str,
        wavefront_size: int,
        entries: Sequence[Entry],
        classes: ClassLookup,
        mnemonics: Sequence[str] | None = None,
    ) -> None:
        self._entries = entries
        self._mnemonics = mnemonics
        self._context = PrintContext.of(processor, wavefront_size)
        self._codes = Codes(classes, self._context.target)
        self._decode = OperandDecoder(classes)

    @cached_property
    def _candidates(self) -> Candidates:
        names = self._mnemonics
        if names is None:
            names = [entry.mnemonic for entry in self._entries]
        return Candidates(names, self._entries, aliases_of(self._context.target.processor))

    def assemble(
        self, source: str, *, offset: int = 0, labels: Mapping[str, int] | None = None
    ) -> bytes:
        """The bytes of `source`: lines with labels, instructions and `//` or `;` comments.

        `offset` is where the first instruction stands in its section, in bytes; `labels` are
        offsets of names defined elsewhere.  Raises AssemblyError.
        """
        lines = source.splitlines()
        statements = list(parse_source(source))
        known = dict(labels or {})
        sizes = self._sizes(statements, lines, known, offset)
        out = bytearray()
        for statement, size in zip(statements, sizes, strict=True):
            if statement.halves:
                scope = Scope(known, offset + len(out))
                code = self._instruction(statement, scope, lines)
                if len(code) != size:
                    self._fail("the size depends on its own value", statement, 1, lines)
                out += code
        return bytes(out)

    def _sizes(
        self, statements: list[Statement], lines: list[str], known: dict[str, int], offset: int
    ) -> list[int]:
        """Sizes in bytes of the statements; puts their labels into `known`."""
        sizes = []
        at = offset
        own: set[str] = set()
        for statement in statements:
            for label in statement.labels:
                if label in own:
                    self._fail(f"label {label!r} is defined twice", statement, 1, lines)
                own.add(label)
                known[label] = at
            size = 0
            if statement.halves:
                size = len(self._instruction(statement, Scope(None, at), lines))
            sizes.append(size)
            at += size
        return sizes

    def _instruction(self, statement: Statement, scope: Scope, lines: list[str]) -> bytes:
        mnemonic = " :: ".join(half.mnemonic for half in statement.halves)
        best: Mismatch | None = None
        for entry in self._candidates.of(mnemonic):
            for attempt in self._attempts(entry, statement, scope):
                if isinstance(attempt, bytes):
                    return attempt
                if best is None or attempt.column > best.column:
                    best = attempt
        if best is None:
            column = statement.halves[0].column
            self._fail(f"no instruction {mnemonic!r} on this target", statement, column, lines)
        self._fail(best.reason, statement, best.column, lines)

    def _attempts(
        self, entry: Entry, statement: Statement, scope: Scope
    ) -> Iterator[bytes | Mismatch]:
        for pattern in entry.patterns:
            matcher = Matcher(entry, pattern, self._codes, scope, statement.halves)
            try:
                _match(matcher)
                code = matcher.finish()
                self._read_back(matcher, code)
            except Mismatch as mismatch:
                yield mismatch
            else:
                yield code

    def _read_back(self, matcher: Matcher, code: bytes) -> None:
        """Raises Mismatch unless the encoding holds the registers that were written.

        Other fields select widths of operands, so this can only be known at the end.
        """
        entry = matcher.entry
        try:
            operands = self._decode(entry, int.from_bytes(code, "little"))
        except ValueError as error:
            raise Mismatch(str(error), matcher.end) from error
        found = {operand.spec.role: operand for operand in operands}
        for role, item in matcher.registers.items():
            wanted = register_of(item, matcher.target)
            operand = found.get(role)
            if wanted is None or operand is None or operand.register is None:
                raise Mismatch(f"{role} does not fit the other operands", item.column)
            if wanted.width not in (0, max(operand.width, 1)):
                raise Mismatch(
                    f"{role} is {max(operand.width, 1)} registers wide here", item.column
                )
        expected = sum(role.startswith("vaddr") for role in found)
        if matcher.addresses and expected != matcher.addresses:
            raise Mismatch(f"expected {expected} addresses", matcher.end)

    def _fail(self, message: str, statement: Statement, column: int, lines: list[str]) -> NoReturn:
        line = statement.line
        raise AssemblyError(message, line=line, column=column, source=lines[line - 1])


def _match(matcher: Matcher) -> None:
    """Walk the template.  Raises Mismatch."""
    for token in matcher.entry.template:
        if token == "~":
            matcher.space()
        elif token == "::":
            matcher.next_half()
        elif token.startswith("'"):
            _match_fixed(matcher, token[1:-1])
        else:
            role, _, name = token.partition(":")
            if (name or role) in TRAILING:
                TRAILING[name or role](matcher, role)
            else:
                POSITIONAL[name or (role if role in POSITIONAL else "plain")](matcher, role)


def _match_fixed(matcher: Matcher, text: str) -> None:
    word = text.strip()
    if not text.startswith(" "):
        fixed(matcher, text)
    elif matcher.has_modifier(word) is None:
        raise Mismatch(f"{word} is missing", matcher.end)
