# SPDX-License-Identifier: Apache-2.0
"""What a file holds, `postproc.inspect/1`: its structures are its schema.

docs/inspect.md explains it to readers, and docs/inspect.schema.json is what
`python -m postproc.report.inspect` prints.  Within version 1 fields are only ever added.  Offsets
and sizes are bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

if TYPE_CHECKING:
    from rich.console import RenderableType

    from postproc.codeobject import CodeObject, Kernel, Section
    from postproc.containers import Container, ContainerNode

__all__ = ["InspectDocument", "inspect_document", "render", "schema"]

INSPECT_SCHEMA = "postproc.inspect/1"
_ELF_TYPES = {1: "relocatable", 2: "executable", 3: "shared"}
_SECTION_TYPES = {
    0: "NULL",
    1: "PROGBITS",
    2: "SYMTAB",
    3: "STRTAB",
    4: "RELA",
    5: "HASH",
    6: "DYNAMIC",
    7: "NOTE",
    8: "NOBITS",
    11: "DYNSYM",
    17: "GROUP",
    18: "SYMTAB_SHNDX",
    0x6FFF4C03: "LLVM_ADDRSIG",
    0x6FFFFFF6: "GNU_HASH",
}
_FLAG_LETTERS = ((0x1, "W"), (0x2, "A"), (0x4, "X"), (0x10, "M"), (0x20, "S"), (0x40, "I"))


def _about(text: str) -> msgspec.Meta:
    return msgspec.Meta(description=text)


class NodeDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One level of the container."""

    format: Annotated[str, _about('"elf" for a code object by itself')]
    name: str
    offset: Annotated[int, _about("in the file")]
    size: int
    code_object: Annotated[int | None, _about("index in code_objects, if the node is one")]
    children: tuple[NodeDocument, ...]


class TargetDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What a code object is for."""

    id: Annotated[str, _about("such as amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-")]
    processor: str
    xnack: Literal["unsupported", "any", "off", "on"]
    sramecc: Literal["unsupported", "any", "off", "on"]
    generic_version: Annotated[int, _about("0 unless the processor is generic")]
    code_object_version: int
    e_flags: int


class RegistersDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What the descriptor gives each wave; null where the target is not known well enough."""

    vgprs: Annotated[int | None, _about("vector registers, accumulation registers included")]
    vgpr_granule: int | None
    accum_offset: Annotated[int | None, _about("first accumulation register, if there are any")]
    sgprs: Annotated[int | None, _about("null where the hardware gives a fixed number")]
    sgpr_granule: int | None


class DescriptorDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The kernel descriptor."""

    file_offset: int
    address: int
    group_segment_fixed_size: int
    private_segment_fixed_size: int
    kernarg_size: int
    kernel_code_entry_byte_offset: int
    bits: Annotated[dict[str, int], _about("named fields of the descriptor's words")]


class KernelDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel with its resources."""

    name: str
    section: Annotated[str, _about("section of its code")]
    offset: Annotated[int, _about("of its entry, from the start of the section")]
    address: int
    wavefront_size: int
    registers: RegistersDocument
    descriptor: DescriptorDocument
    metadata: Annotated[
        dict[str, int] | None, _about("counts and sizes of the metadata; null without metadata")
    ]


class SectionDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One section; an executable segment if there are no section headers."""

    index: int
    name: str
    type: str
    flags: Annotated[str, _about("letters as readelf prints them")]
    address: int
    offset: Annotated[int, _about("in the code object")]
    size: int
    alignment: int
    executable: bool


class CodeObjectDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One code object."""

    name: str
    size: int
    type: Literal["relocatable", "executable", "shared"]
    target: TargetDocument
    kernels: tuple[KernelDocument, ...]
    functions: Annotated[int, _about("number of functions")]
    entries: Annotated[int, _about("number of places where control may enter")]
    symbols: int
    relocations: int
    metadata_notes: int
    sections: tuple[SectionDocument, ...]


class InspectDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One input file."""

    schema: Literal["postproc.inspect/1"] = "postproc.inspect/1"
    file: str
    container: NodeDocument
    code_objects: tuple[CodeObjectDocument, ...]


def schema() -> dict[str, Any]:
    """JSON schema (2020-12) of the document."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": INSPECT_SCHEMA,
        **msgspec.json.schema(InspectDocument),
    }


def inspect_document(container: Container) -> InspectDocument:
    """Container tree, targets, kernels with resources, sections."""
    return InspectDocument(
        file=container.name,
        container=_node(container.tree),
        code_objects=tuple(map(_code_object, container.code_objects)),
    )


def _node(node: ContainerNode) -> NodeDocument:
    return NodeDocument(
        format=node.format,
        name=node.name,
        offset=node.offset,
        size=node.size,
        code_object=node.code_object,
        children=tuple(map(_node, node.children)),
    )


def _code_object(item: CodeObject) -> CodeObjectDocument:
    kind = _ELF_TYPES[item.header.type]
    sections = item.sections or item.executable_sections
    names = {section.index: section.name for section in sections}
    return CodeObjectDocument(
        name=item.name,
        size=len(item.data),
        type=msgspec.convert(kind, Literal["relocatable", "executable", "shared"]),
        target=_target(item),
        kernels=tuple(
            _kernel(kernel, item, names[kernel.section_index]) for kernel in item.kernels
        ),
        functions=len(item.functions),
        entries=len(item.entries),
        symbols=len(item.symbols),
        relocations=sum(map(len, item.relocations)),
        metadata_notes=len(item.metadata_notes),
        sections=tuple(map(_section, sections)),
    )


def _target(item: CodeObject) -> TargetDocument:
    target = item.target
    return TargetDocument(
        id=str(target),
        processor=target.processor,
        xnack=target.xnack,
        sramecc=target.sramecc,
        generic_version=target.generic_version,
        code_object_version=target.code_object_version,
        e_flags=item.header.flags,
    )


def _kernel(kernel: Kernel, item: CodeObject, section: str) -> KernelDocument:
    descriptor, version = kernel.descriptor, item.target.version
    bits = descriptor.bit_fields(version)
    return KernelDocument(
        name=kernel.name,
        section=section,
        offset=kernel.offset,
        address=kernel.entry_address,
        wavefront_size=kernel.wavefront_size,
        registers=_registers(kernel, item, bits),
        descriptor=DescriptorDocument(
            file_offset=kernel.descriptor_offset,
            address=kernel.descriptor_address,
            group_segment_fixed_size=descriptor.group_segment_fixed_size,
            private_segment_fixed_size=descriptor.private_segment_fixed_size,
            kernarg_size=descriptor.kernarg_size,
            kernel_code_entry_byte_offset=descriptor.kernel_code_entry_byte_offset,
            bits=bits,
        ),
        metadata=None if kernel.metadata is None else kernel.metadata.resources,
    )


def _registers(kernel: Kernel, item: CodeObject, bits: dict[str, int]) -> RegistersDocument:
    from postproc.codeobject import granules

    known = granules(item.target.version, kernel.wavefront_size)
    if known is None:
        return RegistersDocument(
            vgprs=None, vgpr_granule=None, accum_offset=None, sgprs=None, sgpr_granule=None
        )
    offset = 4 * (bits["accum_offset"] + 1) if "accum_offset" in bits else None
    return RegistersDocument(
        vgprs=known.vgprs_owned(bits["granulated_workitem_vgpr_count"]),
        vgpr_granule=known.vgpr,
        accum_offset=offset,
        sgprs=known.sgprs_owned(bits["granulated_wavefront_sgpr_count"]),
        sgpr_granule=known.sgpr,
    )


def _section(section: Section) -> SectionDocument:
    return SectionDocument(
        index=section.index,
        name=section.name,
        type=_SECTION_TYPES.get(section.type, f"0x{section.type:x}"),
        flags="".join(letter for bit, letter in _FLAG_LETTERS if section.flags & bit),
        address=section.address,
        offset=section.offset,
        size=section.size,
        alignment=section.alignment,
        executable=section.is_executable,
    )


def render(document: InspectDocument) -> RenderableType:
    """The document for a terminal."""
    from rich.console import Group
    from rich.markup import escape

    parts: list[RenderableType] = []
    for item in document.code_objects:
        parts.append(
            f"[bold]{escape(item.name)}[/]: {escape(item.target.id)}, code object version "
            f"{item.target.code_object_version}, {item.type}, {item.size} bytes"
        )
        parts.append(_kernel_table(item))
        parts.append(_section_table(item))
    return Group(*parts)


def _kernel_table(item: CodeObjectDocument) -> RenderableType:
    from rich.markup import escape
    from rich.table import Table

    table = Table("kernel", "entry", "wave", "vgprs", "sgprs", "lds", "scratch", "kernarg")
    table.box, table.pad_edge = None, False
    for column in table.columns[1:]:
        column.justify = "right"
    for kernel in item.kernels:
        descriptor, registers = kernel.descriptor, kernel.registers
        numbers = (
            kernel.wavefront_size,
            registers.vgprs,
            registers.sgprs,
            descriptor.group_segment_fixed_size,
            descriptor.private_segment_fixed_size,
            descriptor.kernarg_size,
        )
        cells = ("-" if number is None else str(number) for number in numbers)
        place = f"{kernel.section}+0x{kernel.offset:x}"
        table.add_row(escape(kernel.name), escape(place), *cells)
    return table


def _section_table(item: CodeObjectDocument) -> RenderableType:
    from rich.markup import escape
    from rich.table import Table

    table = Table("section", "type", "flags", "address", "offset", "size")
    table.box, table.pad_edge = None, False
    for column in table.columns[3:]:
        column.justify = "right"
    for section in item.sections:
        numbers = (f"0x{n:x}" for n in (section.address, section.offset, section.size))
        table.add_row(escape(section.name), section.type, section.flags, *numbers)
    return table


if __name__ == "__main__":
    import json

    print(json.dumps(schema(), indent=2))
