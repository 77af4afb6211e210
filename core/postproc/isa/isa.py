# SPDX-License-Identifier: Apache-2.0
"""An instruction set: decode, print, assemble, and ask about entries."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from functools import cache, cached_property, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from postproc.errors import PostprocError
from postproc.isa.decoded import Decoded
from postproc.isa.decoding import UNKNOWN, decode_words, padded_words
from postproc.isa.flags import Flag, classify
from postproc.isa.model import Entry, OperandClass
from postproc.isa.operands import OperandDecoder
from postproc.isa.printing.context import PrintContext
from postproc.isa.processors import table_name
from postproc.isa.tables import TableFile, Tables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc.isa.assembling import Assembler


class UnsupportedTarget(PostprocError):
    """No instruction table knows the processor, or not with that wavefront size."""

    exit_code: ClassVar[int] = 3


@cache
def _table_file(name: str) -> TableFile:
    content = resources.files("postproc.isa").joinpath("data", f"{name}.isa").read_bytes()
    return TableFile(content)


def load(processor: str, wavefront_size: int | None = None) -> Isa:
    """The instruction set of `processor` (`gfx942`, `gfx12-generic` ...).

    `wavefront_size` is 32 or 64; by default what llvm-objdump assumes (64 on GFX9, else 32).
    Raises UnsupportedTarget if the processor, or the wavefront size on it, is not known.
    """
    name = table_name(processor)
    if name is None:
        raise UnsupportedTarget(
            f"no instruction table for {processor}",
            why="its instruction set is not among those that postproc knows",
        )
    sizes = _table_file(name).wavefront_sizes
    size = sizes[0] if wavefront_size is None else wavefront_size
    if size not in sizes:
        raise UnsupportedTarget(f"{processor} has no wavefronts of {size} lanes")
    return _load(name, size)


@cache
def _load(name: str, wavefront_size: int) -> Isa:
    return Isa(Tables(_table_file(name), wavefront_size))


@final
class Isa:
    """The instruction set of one processor and wavefront size; get it with `load`."""

    UNKNOWN = UNKNOWN
    """Entry number of a dword that is no instruction."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self.processor = tables.processor
        self.wavefront_size = tables.wavefront_size
        self.llvm_version = tables.llvm_version
        self.print_context = PrintContext.of(tables.processor, tables.wavefront_size)
        self.has_vgpr_banks = self.print_context.target.is_gfx1250
        self.operand_decoder = OperandDecoder(tables.operand_class)

    def __repr__(self) -> str:
        return f"<Isa {self.processor} wave{self.wavefront_size}>"

    # ------------------------------------------------------------ entries
    @property
    def entries(self) -> int:
        """How many entries (encodings of instructions) there are."""
        return len(self._tables)

    @property
    def mnemonics(self) -> Sequence[str]:
        """Mnemonic of each entry."""
        return self._tables.mnemonics

    def entry(self, number: int) -> Entry:
        return self._tables.entry(number)

    def operand_class(self, number: int) -> OperandClass:
        """The meaning of every value of a coded field, by the field's `class_id`."""
        return self._tables.operand_class(number)

    @cached_property
    def flags(self) -> NDArray[np.uint32]:
        """`Flag` bits of each entry."""
        return np.array([classify(self.entry(i)) for i in range(self.entries)], np.uint32)

    @cached_property
    def terminators(self) -> NDArray[np.bool_]:
        """Which entries LLVM calls terminators (branches, ends)."""
        return np.array(
            ["terminator" in self.entry(i).desc_flags for i in range(self.entries)], bool
        )

    @lru_cache(maxsize=1 << 13)  # noqa: B019  (instruction sets live as long as the process)
    def flags_of(self, number: int) -> Flag:
        return classify(self.entry(number))

    def match(self, *patterns: str) -> NDArray[np.bool_]:
        """Which entries have a mnemonic that matches one of the shell patterns (bool, one item an
        entry), for `Decoded.where`.  A pattern without `*` also stands for its `_e32`, `_e64`,
        `_dpp` and `_sdwa` forms."""
        return self._match(patterns)

    @lru_cache(maxsize=256)  # noqa: B019
    def _match(self, patterns: tuple[str, ...]) -> NDArray[np.bool_]:
        parts = (
            fnmatch.translate(p) if "*" in p else rf"{re.escape(p)}(_e32|_e64)?(_dpp|_sdwa)?\Z"
            for p in patterns
        )
        matcher = re.compile("|".join(f"(?:{part})" for part in parts))
        found = np.array([bool(matcher.match(m)) for m in self.mnemonics], bool)
        found.flags.writeable = False
        return found

    # ------------------------------------------------------------ decode and assemble
    def decode(
        self,
        code: bytes | memoryview,
        restarts: Sequence[int] | NDArray[np.intp] = (),
        labels: Mapping[int, str] | None = None,
    ) -> Decoded:
        """Decode a whole section, from its first byte on.

        `restarts` are offsets in bytes where an instruction must start (the symbols of the
        section); what would run over one is `unknown`.  Bytes behind the last whole dword are one
        `unknown`.  `labels` are names of offsets, to be printed as targets of branches.
        """
        view = memoryview(code).cast("B")
        count = len(view) // 4
        again = np.unique(np.asarray(restarts, np.intp))
        again = again[(again % 4 == 0) & (again >= 0) & (again < 4 * count)] // 4
        starts = decode_words(self._tables.decoder, padded_words(view), count, again)
        offset, size, opcode = (
            starts.index * np.uint32(4),
            starts.length * np.uint8(4),
            starts.entry,
        )
        rest = len(view) - 4 * count
        if rest:
            offset = np.append(offset, np.uint32(4 * count))
            size = np.append(size, np.uint8(rest))
            opcode = np.append(opcode, np.uint16(UNKNOWN))
        return Decoded(self, view, (offset, size, opcode), again, labels or {})

    @cached_property
    def assembler(self) -> Assembler:
        from postproc.isa.assembling import Assembler

        return Assembler(
            self.processor,
            self.wavefront_size,
            _EntrySequence(self._tables),
            self._tables.operand_class,
            self.mnemonics,
        )

    def assemble(
        self, source: str, *, offset: int = 0, labels: Mapping[str, int] | None = None
    ) -> bytes:
        """The bytes of some lines of assembly in LLVM's syntax.

        `offset` is where the first of them will stand, `labels` are offsets of names defined
        elsewhere.  Raises AssemblyError, which points at line and column.
        """
        return self.assembler.assemble(source, offset=offset, labels=labels or {})

    def assemble_one(self, line: str) -> bytes:
        """The bytes of one instruction that refers to no label."""
        return self.assemble(line)


@final
class _EntrySequence(Sequence[Entry]):
    """Entries by number, made when asked for."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def __len__(self) -> int:
        return len(self._tables)

    def __getitem__(self, number: int) -> Entry:  # type: ignore[override]  # no slices
        if not 0 <= number < len(self._tables):
            raise IndexError(number)
        return self._tables.entry(number)
