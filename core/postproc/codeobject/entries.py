# SPDX-License-Identifier: Apache-2.0
"""Kernels, functions and entries: where control may enter, and under which name.

Code extents are not taken from symbols: hand-written kernels have STT_FUNC symbols of size 0, and
empty functions share the address of the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, final

import numpy as np

from postproc.codeobject.descriptor import (
    DESCRIPTOR_SIZE,
    ENTRY_FIELD_OFFSET,
    KernelDescriptor,
    bit_field,
)
from postproc.codeobject.places import TextPosition
from postproc.codeobject.relocations import (
    ABSOLUTE_TYPES,
    R_AMDGPU_NONE,
    R_AMDGPU_REL16,
    R_AMDGPU_REL64,
    R_AMDGPU_RELATIVE64,
    RelocationTable,
)
from postproc.codeobject.symbols import (
    STB_LOCAL,
    STT_FUNC,
    STT_NOTYPE,
    STT_OBJECT,
    STT_SECTION,
    SymbolTable,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from postproc.codeobject.layout import Layout
    from postproc.codeobject.notes import KernelMetadata
    from postproc.codeobject.targets import Target

__all__ = ["Entry", "Function", "FunctionRows", "Kernel", "find_entries", "find_kernels"]

_DESCRIPTOR_SUFFIX: Final = b".kd"


@final
@dataclass(frozen=True, slots=True)
class Function:
    """A function symbol, or the code of a kernel that has none.

    `offset` and `size` are bytes in the section; `address` is virtual (`offset` if the object is
    relocatable).  `sized` is false if the symbol gives no size, as that of hand-written code does.
    """

    name: str
    section_index: int
    offset: int
    size: int
    address: int
    is_global: bool
    is_kernel: bool
    sized: bool


@final
@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel descriptor and the code that it starts.

    `descriptor_offset` is a file offset; `descriptor_address` and `entry_address` are virtual
    (offsets in their sections if the object is relocatable).  The entry is byte `offset` of section
    `section_index`; several kernels may share it.
    """

    name: str
    descriptor: KernelDescriptor
    descriptor_offset: int
    descriptor_address: int
    entry_address: int
    section_index: int
    offset: int
    wavefront_size: int
    metadata: KernelMetadata | None

    @property
    def position(self) -> TextPosition:
        """Where the kernel starts."""
        return TextPosition(self.section_index, self.offset)


@final
@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """A place where control may enter.

    kernel        a kernel descriptor starts it
    function      an STT_FUNC symbol names it
    symbol        a global symbol without type names it
    relocation    a relocation stores its address, as in a table of functions
    """

    section_index: int
    offset: int
    kind: Literal["kernel", "function", "symbol", "relocation"]
    name: str


def find_kernels(
    layout: Layout,
    symbols: SymbolTable,
    relocations: Sequence[RelocationTable],
    target: Target,
    metadata: dict[str, KernelMetadata],
) -> tuple[Kernel, ...]:
    """All kernels by name: the symbols `<name>.kd` and what they point at."""
    of_type = np.isin(symbols.type, (STT_OBJECT, STT_NOTYPE))
    rows = np.flatnonzero(of_type & (symbols.section > 0) & symbols.ending_with(_DESCRIPTOR_SUFFIX))
    entries = _relocated_entries(layout, relocations) if layout.is_relocatable else {}
    kernels = {}
    for row in rows.tolist():
        symbol = symbols.name(row)
        address, section = int(symbols.value[row]), int(symbols.section[row])
        at = layout.descriptor_offset(symbol, section, address)
        descriptor = KernelDescriptor.parse(layout.image.slice(at, DESCRIPTOR_SIZE, symbol))
        if layout.is_relocatable:
            position = entries.get((section, address + ENTRY_FIELD_OFFSET))
        else:
            position = layout.position_of(address + descriptor.kernel_code_entry_byte_offset)
        if position is None or position.offset % 4:
            layout.image.fail(
                at + ENTRY_FIELD_OFFSET, f"{symbol}: the kernel's entry is not in executable code"
            )
        name = symbol.removesuffix(_DESCRIPTOR_SUFFIX.decode())
        kernels[name] = Kernel(
            name,
            descriptor,
            at,
            address,
            layout.address_of(position),
            position.section,
            position.offset,
            _wavefront_size(descriptor, target),
            metadata.get(symbol),
        )
    return tuple(kernels[name] for name in sorted(kernels))


def _wavefront_size(descriptor: KernelDescriptor, target: Target) -> int:
    field = bit_field("enable_wavefront_size32", target.version)
    return 32 if field is not None and descriptor.get(field) else 64


def _relocated_entries(
    layout: Layout, relocations: Sequence[RelocationTable]
) -> dict[tuple[int, int], TextPosition]:
    """What the 64-bit PC-relative relocations of data refer to, by (section, offset) patched.

    A descriptor holds `entry - descriptor`: the value S + A - P at P = descriptor + 16.
    """
    found = {}
    for table in relocations:
        if table.applies_to is None or layout.is_executable(table.applies_to):
            continue
        rows = np.flatnonzero(table.type == R_AMDGPU_REL64)
        symbol = table.symbol[rows]
        value = table.symbols.value[symbol].tolist()
        section = table.symbols.section[symbol].tolist()
        where, addend = table.offset[rows].tolist(), table.addend[rows].tolist()
        for place, index, start, extra in zip(where, section, value, addend, strict=True):
            offset = start + extra - ENTRY_FIELD_OFFSET
            if layout.is_executable(index) and 0 <= offset < layout.section_size(index):
                found[table.applies_to, place] = TextPosition(index, offset)
    return found


@final
class FunctionRows:
    """The symbols of functions, checked, as arrays: `Function` objects are made on demand.

    `rows` are indices of `symbols`; `section` and `offset` are their places.
    """

    def __init__(self, layout: Layout, symbols: SymbolTable) -> None:
        self._layout = layout
        self._symbols = symbols
        defined = np.flatnonzero((symbols.type == STT_FUNC) & (symbols.section > 0))
        section, offset = layout.positions_of(symbols.section[defined], symbols.value[defined])
        inside = section != 0
        self.rows = defined[inside]
        self.section, self.offset = section[inside], offset[inside]
        self._check()

    def _check(self) -> None:
        symbols, layout = self._symbols, self._layout
        sizes = layout.section_sizes(self.section)
        size = symbols.size[self.rows]
        wrong = (self.offset > sizes) | (size > sizes - self.offset) | (self.offset % 4 != 0)
        if wrong.any():
            row = int(self.rows[np.flatnonzero(wrong)[0]])
            layout.image.fail(
                None,
                f"function {symbols.name(row)} (value 0x{int(symbols.value[row]):x}, size "
                f"0x{int(symbols.size[row]):x}) is not within its section",
            )

    def functions(self, kernels: Iterable[Kernel]) -> tuple[Function, ...]:
        """All functions in the order of their places, and the kernels that have no symbol."""
        unnamed = {(k.name, k.section_index, k.offset): k for k in kernels}
        found = []
        for name, section, offset, value, size, binding in self._columns():
            is_kernel = unnamed.pop((name, section, offset), None) is not None
            is_global = binding != STB_LOCAL
            found.append(
                Function(name, section, offset, size, value, is_global, is_kernel, size > 0)
            )
        for kernel in unnamed.values():
            section, offset, address = kernel.section_index, kernel.offset, kernel.entry_address
            found.append(Function(kernel.name, section, offset, 0, address, True, True, False))
        return tuple(sorted(found, key=lambda f: (f.section_index, f.offset, f.size, f.name)))

    def _columns(self) -> Iterable[tuple[str, int, int, int, int, int]]:
        """Name, section, offset, value, size and binding of each."""
        symbols, rows = self._symbols, self.rows
        return zip(
            symbols.names(rows.tolist()),
            self.section.tolist(),
            self.offset.tolist(),
            symbols.value[rows].tolist(),
            symbols.size[rows].tolist(),
            symbols.binding[rows].tolist(),
            strict=True,
        )


def find_entries(
    layout: Layout,
    symbols: SymbolTable,
    relocations: Sequence[RelocationTable],
    kernels: Sequence[Kernel],
    functions: Sequence[Function],
) -> tuple[Entry, ...]:
    """All entries in the order of their places, one for each, of the first kind that applies."""
    found: dict[tuple[int, int], Entry] = {}

    def add(entry: Entry) -> None:
        if entry.offset % 4 == 0 and entry.offset < layout.section_size(entry.section_index):
            found.setdefault((entry.section_index, entry.offset), entry)

    for kernel in kernels:
        add(Entry(kernel.section_index, kernel.offset, "kernel", kernel.name))
    for function in functions:
        add(Entry(function.section_index, function.offset, "function", function.name))
    for row, section, offset in _global_labels(layout, symbols):
        add(Entry(section, offset, "symbol", symbols.name(row)))
    for table in relocations:
        for row, section, offset in _stored_addresses(layout, table):
            add(Entry(section, offset, "relocation", table.symbols.name(row) if row else ""))
    return tuple(sorted(found.values()))


def _global_labels(layout: Layout, symbols: SymbolTable) -> Iterable[tuple[int, int, int]]:
    """(symbol, section, offset) of global symbols without type in executable code."""
    chosen = (symbols.type == STT_NOTYPE) & (symbols.binding != STB_LOCAL) & (symbols.section > 0)
    rows = np.flatnonzero(chosen)
    return _inside(layout, rows, *layout.positions_of(symbols.section[rows], symbols.value[rows]))


def _stored_addresses(layout: Layout, table: RelocationTable) -> Iterable[tuple[int, int, int]]:
    """(symbol, section, offset) of what the relocations of a table make reachable.

    Absolute relocations store symbol + addend, and those of branches go there.  What other
    PC-relative ones mean depends on the code around them; the symbol itself counts, unless it
    stands for a whole section.
    """
    if not len(table.symbols):
        rows = np.flatnonzero(table.type == R_AMDGPU_RELATIVE64)
        return _addresses(layout, np.zeros(len(rows), np.intp), table.addend[rows])
    direct = np.isin(table.type, (*ABSOLUTE_TYPES, R_AMDGPU_REL16))
    of_section = table.symbols.type[table.symbol] == STT_SECTION
    rows = np.flatnonzero(direct | ~(of_section | (table.type == R_AMDGPU_NONE)))
    symbol, relative = table.symbol[rows], table.type[rows] == R_AMDGPU_RELATIVE64
    base = np.where(relative, 0, table.symbols.value[symbol])
    value = base + np.where(direct[rows], table.addend[rows], 0).astype(np.uint64)
    section = table.symbols.section[symbol]
    found = _inside(layout, symbol.astype(np.intp), *layout.positions_of(section, value))
    if layout.is_relocatable or not relative.any():
        return found
    return [*found, *_addresses(layout, symbol[relative].astype(np.intp), value[relative])]


def _addresses(
    layout: Layout, symbol: npt.NDArray[np.intp], address: npt.NDArray[np.generic]
) -> Iterable[tuple[int, int, int]]:
    return _inside(layout, symbol, *layout.positions_of_addresses(address.astype(np.uint64)))


def _inside(
    layout: Layout,
    symbol: npt.NDArray[np.intp],
    section: npt.NDArray[np.int32],
    offset: npt.NDArray[np.uint64],
) -> Iterable[tuple[int, int, int]]:
    """The triples whose section is executable and has the offset."""
    keep = (section != 0) & (offset < layout.section_sizes(section))
    return zip(symbol[keep].tolist(), section[keep].tolist(), offset[keep].tolist(), strict=True)
