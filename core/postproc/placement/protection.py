# SPDX-License-Identifier: Apache-2.0
"""What may not be moved or cut, as data, each with its source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from postproc.codeobject import TextPosition, TextRange
from postproc.codeobject.relocations import RELOCATION_TYPES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc.codeobject import Section
    from postproc.isa import Instruction
    from postproc.passes import ObjectView

__all__ = [
    "DIRECT_TRANSFERS",
    "PC_RELATIVE",
    "RELOCATED_BYTES",
    "ingress_offsets",
    "relocation_in",
    "unresolved_transfer",
]

DIRECT_TRANSFERS = (
    "s_branch",
    "s_cbranch_*",
    "s_call_b64",
    "s_call_i64",
    "s_subvector_loop_*",
)
"""Transfers whose target is an offset in the encoding (SOPP/SOPK simm16, in dwords from the next
instruction; RDNA3 ISA guide, "Branching")."""

PC_RELATIVE = (
    *DIRECT_TRANSFERS,
    "s_getpc_b64",
    "s_get_pc_i64",
    "s_swappc_b64",
    "s_swap_pc_i64",
    "s_add_pc_i64",
    "s_prefetch_inst_pc_rel",
    "s_prefetch_data_pc_rel",
)
"""Instructions that compute with their own address; moved unchanged they mean something else.
(LLVM: SOPInstructions.td, the users of `PC` and of `sopp_brtarget`; calls store a return address.)
"""

_COMPUTED_BRANCHES = ("s_setpc_b64", "s_set_pc_i64", "s_add_pc_i64", "s_rfe_*")

_READS_PC = ("s_getpc_b64", "s_get_pc_i64")

_CALLS = ("s_call_b64", "s_call_i64", "s_swappc_b64", "s_swap_pc_i64")
"""After these, control comes back to the next instruction."""

_RETURN_REGISTERS = ("s30", "s31")
"""The link pair of the AMDGPU calling convention (AMDGPUUsage, "Non-Kernel Functions").  A jump to
it returns behind a call, unless the object computes an address from the program counter in it."""


RELOCATED_BYTES = {
    "R_AMDGPU_NONE": 0,
    "R_AMDGPU_ABS64": 8,
    "R_AMDGPU_REL64": 8,
    "R_AMDGPU_RELATIVE64": 8,
    "R_AMDGPU_REL16": 2,
}
"""Bytes that a relocation fills in, 4 for types that are not listed (AMDGPUUsage, "Relocation
Records")."""


def relocation_in(view: ObjectView, window: TextRange) -> int | None:
    """The offset of the first relocation that fills in bytes of `window`, if any does.

    Such bytes are not what will run: a linker or loader writes them later.
    """
    starts, ends = view.analysis(_relocated).get(window.section, (None, None))
    if starts is None or ends is None:
        return None
    inside = np.flatnonzero((starts < window.end) & (ends > window.start))
    return int(starts[inside[0]]) if inside.size else None


def _relocated(view: ObjectView) -> dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Per executable section the ranges of bytes that relocations fill in, by start."""
    sizes = np.full(max(RELOCATION_TYPES) + 1, 4, np.int64)
    for number, name in RELOCATION_TYPES.items():
        sizes[number] = RELOCATED_BYTES.get(name, 4)
    linked = not view.code_object.is_relocatable
    found: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
    for section in view.code_object.executable_sections:
        starts = []
        for table in view.code_object.relocations:
            # dynamic relocations name no section: their addresses say where they write
            if table.applies_to not in (section.index, None) or (
                table.applies_to is None and not linked
            ):
                continue
            offset = table.offset.astype(np.int64) - (section.address if linked else 0)
            size = sizes[np.minimum(table.type, len(sizes) - 1)]
            here = (offset + size > 0) & (offset < section.size) & (size > 0)
            starts.append(np.stack([offset[here], (offset + size)[here]]))
        if starts:
            ranges = np.concatenate(starts, axis=1)
            ranges = ranges[:, np.argsort(ranges[0], kind="stable")]
            found[section.index] = ranges[0], ranges[1]
    return found


def ingress_offsets(view: ObjectView, section: Section) -> frozenset[int]:
    """Where control may enter: entries, direct branch targets, known targets, return points."""
    return view.analysis(_ingress).get(section.index, frozenset())


def unresolved_transfer(view: ObjectView) -> TextPosition | None:
    """The first computed branch of which nobody proved the targets, if any: it may go anywhere,
    also into another section."""
    return view.analysis(_unresolved)


def _ingress(view: ObjectView) -> dict[int, frozenset[int]]:
    found: dict[int, set[int]] = {s.index: set() for s in view.code_object.executable_sections}
    for entry in view.code_object.entries:
        found.setdefault(entry.section_index, set()).add(entry.offset)
    for fact in view.facts:
        for target in fact.targets:
            found.setdefault(target.section, set()).add(target.offset)
    for section in view.code_object.executable_sections:
        for target in _branch_targets(view, section):
            found[target.section].add(target.offset)
        for call in _matching(view, section, _CALLS):
            found[section.index].add(call.offset + call.size)
    return {index: frozenset(offsets) for index, offsets in found.items()}


def _branch_targets(view: ObjectView, section: Section) -> Iterator[TextPosition]:
    """Where direct transfers go, also in other executable sections.

    Vectorised over all of them: simm16, in dwords from the next instruction.
    """
    decoded = view.decoded(section)
    words = np.frombuffer(decoded.code, "<u4", len(decoded.code) // 4)
    starts = decoded.offset[decoded.where(view.isa.match(*DIRECT_TRANSFERS))].astype(np.int64)
    distance = words[starts // 4].astype(np.uint16).view(np.int16)
    targets = np.unique(starts + 4 + 4 * distance.astype(np.int64))
    inside = (targets >= 0) & (targets < section.size)
    for offset in targets[inside].tolist():
        yield TextPosition(section.index, offset)
    for offset in targets[~inside].tolist():
        elsewhere = view.code_object.position_of(section.address + offset)
        if elsewhere is not None:
            yield elsewhere


def _matching(view: ObjectView, section: Section, patterns: Sequence[str]) -> list[Instruction]:
    decoded = view.decoded(section)
    return [decoded[int(index)] for index in decoded.where(view.isa.match(*patterns))]


def _unresolved(view: ObjectView) -> TextPosition | None:
    known = {fact.position for fact in view.facts}
    sections = view.code_object.executable_sections
    link = set(_RETURN_REGISTERS)
    link_is_computed = any(
        link & set(read.defs)
        for section in sections
        for read in _matching(view, section, _READS_PC)
    )
    for section in sections:
        for branch in _matching(view, section, _COMPUTED_BRANCHES):
            returns = link <= set(branch.uses) and not link_is_computed
            position = TextPosition(section.index, branch.offset)
            if not returns and position not in known:
                return position
    return None


def interior(view: ObjectView, section: Section, window: TextRange) -> tuple[int, ...]:
    """Offsets strictly inside `window` at which an instruction begins."""
    decoded = view.decoded(section)
    first = decoded.index_at(window.start)
    offsets = []
    for index in range(first + 1, len(decoded.offset)):
        offset = int(decoded.offset[index])
        if offset >= window.end:
            break
        offsets.append(offset)
    return tuple(offsets)
