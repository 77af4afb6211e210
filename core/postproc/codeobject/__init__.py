# SPDX-License-Identifier: Apache-2.0
"""The code-object model: one AMDGPU ELF image, read defensively and never written.

`CodeObject.parse` checks everything; what it returns is frozen.  Names are imported on first use:
places are needed everywhere, and must not cost what arrays cost.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from postproc.codeobject.places import TextPosition, TextRange

if TYPE_CHECKING:
    from postproc.codeobject.code_object import CodeObject
    from postproc.codeobject.descriptor import BIT_FIELDS, BitField, KernelDescriptor, bit_field
    from postproc.codeobject.elf import ElfHeader, Section, Segment
    from postproc.codeobject.entries import Entry, Function, Kernel
    from postproc.codeobject.notes import KernelMetadata, MetadataNote
    from postproc.codeobject.register_granules import RegisterGranules, granules
    from postproc.codeobject.relocations import RELOCATION_TYPES, RelocationTable
    from postproc.codeobject.symbols import SymbolTable
    from postproc.codeobject.targets import PROCESSORS, FeatureSetting, Processor, Target

__all__ = [
    "BIT_FIELDS",
    "PROCESSORS",
    "RELOCATION_TYPES",
    "BitField",
    "CodeObject",
    "ElfHeader",
    "Entry",
    "FeatureSetting",
    "Function",
    "Kernel",
    "KernelDescriptor",
    "KernelMetadata",
    "MetadataNote",
    "Processor",
    "RegisterGranules",
    "RelocationTable",
    "Section",
    "Segment",
    "SymbolTable",
    "Target",
    "TextPosition",
    "TextRange",
    "bit_field",
    "granules",
]

_MODULES = {
    "code_object": ("CodeObject",),
    "descriptor": ("BIT_FIELDS", "BitField", "KernelDescriptor", "bit_field"),
    "elf": ("ElfHeader", "Section", "Segment"),
    "entries": ("Entry", "Function", "Kernel"),
    "notes": ("KernelMetadata", "MetadataNote"),
    "register_granules": ("RegisterGranules", "granules"),
    "relocations": ("RELOCATION_TYPES", "RelocationTable"),
    "symbols": ("SymbolTable",),
    "targets": ("PROCESSORS", "FeatureSetting", "Processor", "Target"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
