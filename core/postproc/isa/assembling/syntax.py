# SPDX-License-Identifier: Apache-2.0
"""Assembly text as a tree: lines, statements, operands; no knowledge of instructions yet.

line      := (label ':')* [mnemonic [half ('::' mnemonic half)*]] [comment]
half      := chunk (',' chunk)*
chunk     := item*                  an operand, and behind the last one its modifiers
item      := '-' item | '|' item '|' | name '(' chunk, ... ')' | name ':' item | '[' item, ... ']'
           | register | string | sum
sum       := term (('+' | '-' | '&' | '|' | '*') term)*
term      := '-'? number | name | '(' sum ')'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from postproc.errors import AssemblyError

__all__ = [
    "Call",
    "Half",
    "Item",
    "KeyValue",
    "ListItem",
    "Modified",
    "Name",
    "Number",
    "Range",
    "Statement",
    "String",
    "Sum",
    "parse_source",
]


@dataclass(frozen=True, slots=True)
class Number:
    """An integer or a float, as written."""

    value: int | float
    column: int


@dataclass(frozen=True, slots=True)
class Name:
    """A register, a label, a keyword or a symbolic value."""

    text: str
    column: int


@dataclass(frozen=True, slots=True)
class String:
    text: str
    column: int


@dataclass(frozen=True, slots=True)
class Range:
    """`v[4:7]` or `v[4]`."""

    file: str
    first: Item
    last: Item
    column: int


@dataclass(frozen=True, slots=True)
class Sum:
    """Terms and the operators between them, left to right."""

    terms: tuple[Item, ...]
    operators: tuple[str, ...]
    column: int


@dataclass(frozen=True, slots=True)
class Modified:
    """`-x`, `|x|`, `-|x|`, `neg(x)`, `abs(x)`, `sext(x)`."""

    inner: Item
    negated: bool
    absolute: bool
    extended: bool
    column: int


@dataclass(frozen=True, slots=True)
class Call:
    """`hwreg(MODE, 0, 4)`, `vmcnt(0)`, `lit(1)`."""

    name: str
    arguments: tuple[Item, ...]
    column: int


@dataclass(frozen=True, slots=True)
class KeyValue:
    """`offset:16`."""

    name: str
    value: Item
    column: int


@dataclass(frozen=True, slots=True)
class ListItem:
    """`[0,1,2,3]` or `[v1, v2]`."""

    items: tuple[Item, ...]
    column: int


Item = Number | Name | String | Range | Sum | Modified | Call | KeyValue | ListItem


@dataclass(frozen=True, slots=True)
class Half:
    """A mnemonic and its operands; VOPD instructions have two."""

    mnemonic: str
    chunks: tuple[tuple[Item, ...], ...]
    column: int
    end: int


@dataclass(frozen=True, slots=True)
class Statement:
    """Labels that a line defines, and its instruction if it has one.  Lines count from 1."""

    line: int
    labels: tuple[str, ...]
    halves: tuple[Half, ...]


_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<float>\d+\.\d*(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)"
    r"|(?P<int>0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)"
    r"|(?P<name>[A-Za-z_.$@][\w.$@]*)"
    r'|(?P<string>"[^"]*")'
    r"|(?P<mark>::|[-,\[\]():|+&*!])"
)
_COMMENT = re.compile(r"//.*|;.*|/\*.*?\*/")
_REGISTER_FILES = frozenset({"v", "s", "a", "ttmp"})
_OPERATORS = ("+", "-", "&", "*")
_MODIFIERS = frozenset({"neg", "abs", "sext"})


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    column: int


def parse_source(source: str) -> Iterator[Statement]:
    """Statements of all lines.  Raises AssemblyError."""
    for number, line in enumerate(source.splitlines(), 1):
        statement = _Parser(number, line).statement()
        if statement.labels or statement.halves:
            yield statement


class _Parser:
    def __init__(self, line: int, text: str) -> None:
        self._line = line
        self._text = text
        self._tokens = list(self._tokenize(_COMMENT.sub(lambda m: " " * len(m[0]), text)))
        self._at = 0
        self._bars = 0
        """Open `|`: one more closes it and is no operator."""

    def _fail(self, message: str, column: int) -> NoReturn:
        raise AssemblyError(message, line=self._line, column=column, source=self._text)

    def _tokenize(self, text: str) -> Iterator[_Token]:
        position = 0
        while position < len(text):
            found = _TOKEN.match(text, position)
            if found is None:
                self._fail(f"unexpected {text[position]!r}", position + 1)
            if found.lastgroup != "space":
                yield _Token(str(found.lastgroup), found[0], position + 1)
            position = found.end()
        yield _Token("end", "", len(text.rstrip()) + 1)

    # ------------------------------------------------------------ statements
    def statement(self) -> Statement:
        labels = []
        while self._peek().kind == "name" and self._peek(1).text == ":":
            labels.append(self._next().text)
            self._next()
        halves = []
        while self._peek().kind != "end":
            halves.append(self._half())
            if self._peek().text == "::":
                self._next()
        return Statement(self._line, tuple(labels), tuple(halves))

    def _half(self) -> Half:
        mnemonic = self._next()
        if mnemonic.kind != "name":
            self._fail("expected a mnemonic", mnemonic.column)
        chunks = []
        while self._peek().kind != "end" and self._peek().text != "::":
            chunks.append(self._chunk())
            if self._peek().text != ",":
                break
            self._next()
            if self._peek().kind == "end":
                self._fail("expected an operand", self._peek().column)
        end = self._peek()
        if end.kind != "end" and end.text != "::":
            self._fail(f"unexpected {end.text!r}", end.column)
        return Half(mnemonic.text, tuple(chunks), mnemonic.column, end.column)

    def _chunk(self) -> tuple[Item, ...]:
        items: list[Item] = []
        while self._peek().kind != "end" and self._peek().text not in (",", "::", ")", "]"):
            if items and isinstance(items[-1], Call) and self._peek().text in ("|", "&"):
                self._next()
                continue
            items.append(self._item())
        if not items:
            self._fail("expected an operand", self._peek().column)
        return tuple(items)

    # ------------------------------------------------------------ items
    def _item(self) -> Item:
        token = self._peek()
        if token.text == "|":
            return self._absolute()
        if token.text == "-" and not self._starts_number(1):
            self._next()
            inner = self._item()
            if isinstance(inner, Modified):
                return Modified(inner.inner, True, inner.absolute, inner.extended, token.column)
            return Modified(inner, True, False, False, token.column)
        if token.text == "[":
            return self._list()
        if token.kind == "string":
            self._next()
            return String(token.text[1:-1], token.column)
        if token.kind == "name":
            following = self._peek(1).text
            if following == "(":
                return self._call()
            if following == ":":
                self._next()
                self._next()
                return KeyValue(token.text, self._item(), token.column)
            if following == "[" and token.text in _REGISTER_FILES:
                return self._range()
        return self._sum()

    def _starts_number(self, ahead: int) -> bool:
        following = self._peek(ahead)
        return following.kind in ("int", "float") or following.text == "("

    def _absolute(self) -> Item:
        column = self._next().column
        self._bars += 1
        inner = self._item()
        self._bars -= 1
        self._expect("|")
        if isinstance(inner, Modified):
            return Modified(inner.inner, inner.negated, True, inner.extended, column)
        return Modified(inner, False, True, False, column)

    def _list(self) -> ListItem:
        column = self._next().column
        items = []
        while self._peek().text != "]":
            items.append(self._item())
            if self._peek().text != ",":
                break
            self._next()
        self._expect("]")
        return ListItem(tuple(items), column)

    def _call(self) -> Item:
        name = self._next()
        self._next()
        arguments: list[Item] = []
        while self._peek().text != ")":
            arguments.append(self._item())
            if self._peek().text != ",":
                break
            self._next()
        self._expect(")")
        if name.text in _MODIFIERS and len(arguments) == 1:
            inner, kind = arguments[0], name.text
            return Modified(inner, kind == "neg", kind == "abs", kind == "sext", name.column)
        return Call(name.text, tuple(arguments), name.column)

    def _range(self) -> Range:
        name = self._next()
        self._next()
        first = last = self._sum()
        if self._peek().text == ":":
            self._next()
            last = self._sum()
        self._expect("]")
        return Range(name.text, first, last, name.column)

    def _sum(self) -> Item:
        column = self._peek().column
        terms = [self._term()]
        operators = []
        while self._peek().text in _OPERATORS or (self._peek().text == "|" and not self._bars):
            operators.append(self._next().text)
            terms.append(self._term())
        return terms[0] if not operators else Sum(tuple(terms), tuple(operators), column)

    def _term(self) -> Item:
        token = self._next()
        if token.text == "-":
            inner = self._term()
            if isinstance(inner, Number):
                return Number(-inner.value, token.column)
            return Sum((Number(0, token.column), inner), ("-",), token.column)
        if token.text == "(":
            inner = self._sum()
            self._expect(")")
            return inner
        if token.kind == "int":
            return Number(_integer(token.text), token.column)
        if token.kind == "float":
            return Number(float(token.text), token.column)
        if token.kind == "name":
            return Name(token.text, token.column)
        if token.kind == "end":
            self._fail("expected an operand", token.column)
        self._fail(f"unexpected {token.text!r}", token.column)

    # ------------------------------------------------------------ tokens
    def _peek(self, ahead: int = 0) -> _Token:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def _next(self) -> _Token:
        token = self._peek()
        self._at += 1
        return token

    def _expect(self, text: str) -> None:
        token = self._next()
        if token.text != text:
            self._fail(f"expected {text!r}", token.column)


def _integer(text: str) -> int:
    if text[:2].lower() == "0b":
        return int(text, 2)
    return int(text, 16) if text[:2].lower() == "0x" else int(text)
