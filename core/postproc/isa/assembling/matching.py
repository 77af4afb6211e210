# SPDX-License-Identifier: Apache-2.0
"""Matches a statement against the template of one entry and encodes it.

Each token of the template takes what it would have printed: an operand takes the next chunk, a
modifier what bears its name, fixed text the same text.  What is left over does not fit.
"""

from __future__ import annotations

from typing import final

from postproc.isa.assembling.encoding import Codes, Encoding
from postproc.isa.assembling.sources import write_source
from postproc.isa.assembling.syntax import Call, Half, Item, KeyValue, Name, Number
from postproc.isa.assembling.values import Mismatch, Scope, register_of
from postproc.isa.model import (
    CodedField,
    ConstantOperand,
    Entry,
    OperandSpec,
    RawByteField,
    RegisterCode,
)
from postproc.isa.printing.context import TargetFacts

__all__ = ["Matcher"]


@final
class Matcher:
    """One attempt to encode `halves` as `entry`.

    Parsers of tokens read items through it and write operand values back.
    """

    def __init__(
        self,
        entry: Entry,
        pattern: tuple[int, int],
        codes: Codes,
        scope: Scope,
        halves: tuple[Half, ...],
    ) -> None:
        self.entry = entry
        self.scope = scope
        self.codes = codes
        self.encoding = Encoding(entry, pattern)
        self.raw_byte = pattern[1] & 0xFF if entry.base_size <= 8 else pattern[1] >> 32 & 0xFF
        self._halves = halves
        self._half = 0
        self._chunk = 0
        self._item = 0
        self._same_chunk = False
        self._begun = False
        self._modifiers: dict[str, Item] = {}
        self._deferred: dict[str, tuple[int, int]] = {}
        self._columns: dict[str, int] = {}
        self.registers: dict[str, Item] = {}
        """Register operands by role, to be read back."""
        self.addresses = 0
        """How many addresses an image instruction lists."""
        self.compressed = False
        self.export_sources: dict[int, Item] = {}
        """Enabled sources of an export by place, encoded when `compr` is known."""
        self._enter(0)

    @property
    def target(self) -> TargetFacts:
        return self.codes.target

    # ------------------------------------------------------------ items
    def _enter(self, number: int) -> None:
        self._half, self._chunk, self._item = number, 0, 0
        self._modifiers = {}
        self._begun = False
        self._same_chunk = True

    @property
    def end(self) -> int:
        """The column behind the current half."""
        return self._halves[self._half].end

    def space(self) -> None:
        """The next operand stands in the same chunk (`~`)."""
        self._same_chunk = True

    def take(self) -> Item:
        """The next operand."""
        chunks = self._halves[self._half].chunks
        if not self._same_chunk:
            self._check_end_of_chunk()
            self._chunk, self._item = self._chunk + 1, 0
        self._same_chunk = False
        if self._chunk >= len(chunks):
            raise Mismatch("too few operands", self.end)
        if self._item >= len(chunks[self._chunk]):
            raise Mismatch("an operand is missing", chunks[self._chunk][-1].column)
        item = chunks[self._chunk][self._item]
        self._item += 1
        return item

    def take_rest(self) -> list[Item]:
        """All items from here on, over chunks."""
        items = [self.take()]
        chunks = self._halves[self._half].chunks
        items += chunks[self._chunk][self._item :]
        for chunk in chunks[self._chunk + 1 :]:
            items += chunk
        self._chunk, self._item = len(chunks) - 1, len(chunks[-1])
        return items

    def _check_end_of_chunk(self) -> None:
        chunk = self._halves[self._half].chunks[self._chunk]
        if self._item < len(chunk):
            raise Mismatch("a comma is missing", chunk[self._item].column)

    def take_optional(self) -> Item | None:
        """The next operand, or None if there is none."""
        chunks = self._halves[self._half].chunks
        ahead = self._chunk if self._same_chunk else self._chunk + 1
        return self.take() if ahead < len(chunks) else None

    def begin_modifiers(self) -> None:
        """Operands of this half are complete: what stands behind them are modifiers."""
        if self._begun:
            return
        self._begun = True
        chunks = self._halves[self._half].chunks
        if self._chunk + 1 < len(chunks):
            raise Mismatch("too many operands", chunks[self._chunk + 1][0].column)
        if chunks:
            for item in chunks[self._chunk][self._item :]:
                self._modifiers[_modifier_name(item)] = item

    def modifier(self, name: str) -> Item | None:
        """Takes the modifier `name`: its value after the colon, or the bare name."""
        self.begin_modifiers()
        item = self._modifiers.pop(name, None)
        return item.value if isinstance(item, KeyValue) else item

    def peek_modifier(self, name: str) -> Item | None:
        """The value of the modifier `name`, which stays."""
        self.begin_modifiers()
        item = self._modifiers.get(name)
        return item.value if isinstance(item, KeyValue) else item

    def has_modifier(self, *names: str) -> str | None:
        """Takes the one of some bare names that is there."""
        self.begin_modifiers()
        for name in names:
            if isinstance(self._modifiers.get(name), Name):
                del self._modifiers[name]
                return name
        return None

    def finish_half(self) -> None:
        self.begin_modifiers()
        for item in self._modifiers.values():
            raise Mismatch("not a modifier of this instruction", item.column)

    def next_half(self) -> None:
        self.finish_half()
        if self._half + 1 >= len(self._halves):
            raise Mismatch("the second half is missing", self.end)
        self._enter(self._half + 1)

    # ------------------------------------------------------------ values
    def spec(self, role: str) -> OperandSpec | None:
        return next((spec for spec in self.entry.operands if spec.role == role), None)

    def has(self, role: str) -> bool:
        return self.spec(role) is not None

    def integer(self, item: Item) -> int:
        return self.scope.evaluate(item)

    def write(self, role: str, number: int, column: int) -> None:
        """An immediate operand; an absent role takes only 0."""
        spec = self.spec(role)
        if spec is None:
            if number:
                raise Mismatch(f"the instruction has no {role}", column)
        elif isinstance(spec.source, RawByteField):
            if number != self.raw_byte:
                raise Mismatch("not this form", column)
        elif isinstance(spec.source, CodedField):
            code = self.codes.of(spec).numbers.get(number)
            if code is None:
                raise Mismatch(f"{role} cannot be {number}", column)
            self.encoding.write_code(spec.source.runs, code, column)
        else:
            self.encoding.write_immediate(spec, number, column)

    def fetch_inactive_value(self, role: str, on: bool) -> int:
        """What `fi:1` is in this encoding; DPP8 selects it by the source code."""
        spec = self.spec(role)
        if spec is not None and isinstance(spec.source, RawByteField):
            return 0xEA if on else 0xE9
        return int(on)

    def add(self, role: str, mask: int, bits: int, column: int) -> None:
        """Sets the bits `mask` of an operand that several tokens share, as `src0_modifiers`."""
        old_mask, old_bits = self._deferred.get(role, (0, 0))
        self._deferred[role] = old_mask | mask, old_bits | bits
        self._columns[role] = column

    def source(self, role: str, item: Item) -> None:
        """A register, constant or literal."""
        spec = self.spec(role)
        if spec is None:
            raise Mismatch(f"the instruction has no {role}", item.column)
        if isinstance(spec.source, CodedField):
            write_source(self.encoding, self.entry, spec, self.codes, item, self.scope)
            if register_of(item, self.target) is not None:
                self.registers[role] = item
        elif isinstance(spec.source, ConstantOperand):
            self._constant(spec, spec.source, item)
        else:
            self.encoding.write_immediate(spec, self._immediate(item), item.column)

    def _immediate(self, item: Item) -> int:
        if isinstance(item, Call) and item.name in ("lit", "lit64") and len(item.arguments) == 1:
            item = item.arguments[0]
        return self.scope.evaluate(item)

    def _constant(self, spec: OperandSpec, source: ConstantOperand, item: Item) -> None:
        if isinstance(source.code, RegisterCode):
            register = register_of(item, self.target)
            if register is None or (register.file, register.index) != (
                source.code.file,
                source.code.index,
            ):
                raise Mismatch(f"{spec.role} cannot be that", item.column)
        else:
            self.encoding.write_immediate(spec, self._immediate(item), item.column)

    def finish(self) -> bytes:
        """The bytes of the instruction.  Raises Mismatch if something is left over."""
        self.finish_half()
        if self._half + 1 < len(self._halves):
            raise Mismatch("one half only", self._halves[self._half + 1].column)
        self._write_export_sources()
        for role, (mask, bits) in self._deferred.items():
            self._write_shared(role, mask, bits)
        return self.encoding.to_bytes()

    def _write_export_sources(self) -> None:
        """Enables are one bit a source; with `compr` the first and third stand for two each."""
        if not self.has("en"):
            return
        step, bits = (2, 3) if self.compressed else (1, 1)
        enabled = 0
        for place in range(0, 4, step):
            item = self.export_sources.get(place)
            if item is not None:
                self.source(f"src{place // step}", item)
                enabled |= bits << place
        self.write("en", enabled, self.end)

    def _write_shared(self, role: str, mask: int, bits: int) -> None:
        spec = self.spec(role)
        if spec is not None:
            self.encoding.write_masked(spec, mask, bits, self._columns[role])
        elif bits:
            raise Mismatch("the operand takes no modifiers", self._columns[role])


def _modifier_name(item: Item) -> str:
    if isinstance(item, KeyValue | Call):
        return item.name
    if isinstance(item, Name):
        return item.text
    if isinstance(item, Number):
        return ""
    raise Mismatch("not a modifier", item.column)
