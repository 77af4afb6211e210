# SPDX-License-Identifier: Apache-2.0
"""What is live where a real kernel begins is what hardware has set up there, and nothing else.

A scalar register that is live at the entry but not initialized would be a use that is none, or a
definition that was overlooked: registers, blocks, liveness and bank modes are held to the kernel
descriptor here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from postproc.codeobject import CodeObject, Kernel, Section
from postproc.errors import PostprocError
from postproc.isa import Decoded, Isa, load
from postproc_cfg.dataflow import (
    BlockRanges,
    bank_modes,
    exec_is_full,
    killed_registers,
    liveness,
    mode_effects,
    register_sets,
)
from postproc_cfg.flow_graph import ControlFlowGraph, control_flow_graph
from postproc_cfg.graph import Graph, depth_first
from postproc_cfg.vocabulary import Transfer

CORPUS = Path(__file__).parents[2] / "corpus"

BY_HAND = {"edge1250.co"}
"""Kernels with data in their text, which reads anything."""

READ_UNDEFINED = {"k_nest"}
"""LLVM merges masks of lanes with undefined ones there (s_and_not1_b32 s1, s15, exec_lo, where no
path from the entry writes s15)."""

SYSTEM_FIELDS = (
    "enable_sgpr_workgroup_id_x",
    "enable_sgpr_workgroup_id_y",
    "enable_sgpr_workgroup_id_z",
    "enable_sgpr_workgroup_info",
    "enable_private_segment",
)
"""Each puts one SGPR behind the user SGPRs (AMDGPUUsage, "Initial Kernel Execution State")."""


def isa_of(code_object: CodeObject, kernel: Kernel) -> tuple[Isa, dict[str, int]]:
    isa = load(code_object.target.processor)
    version = isa.print_context.target.version
    fields = kernel.descriptor.bit_fields(version)
    return load(isa.processor, 32 if fields.get("enable_wavefront_size32") else 64), fields


def initialized(isa: Isa, fields: dict[str, int]) -> set[str]:
    count = fields["user_sgpr_count"] + sum(fields[name] for name in SYSTEM_FIELDS)
    registers = {f"s{i}" for i in range(count)} | {"exec_lo", "exec_hi", "mode"}
    registers |= {"m0", "flat_scratch_lo", "flat_scratch_hi"}  # LLVM says so of all DS, all flat
    if isa.print_context.target.major >= 12:  # workgroup and cluster numbers
        registers |= {f"ttmp{i}" for i in range(6, 10)}
    return registers


def live_at(flow: ControlFlowGraph, entry: int, decoded: Decoded) -> set[str]:
    graph = flow.graph.with_entries([entry])
    ranges = BlockRanges.of(flow.layout.starts, flow.layout.ends)
    has_banks = decoded.isa.has_vgpr_banks
    modes = bank_modes(graph, ranges, mode_effects(decoded)) if has_banks else None
    sets = register_sets(decoded, modes=modes)
    numbers = sets.numbers
    full = exec_is_full(graph, ranges, decoded, sets)
    ends = np.flatnonzero(flow.layout.kinds == Transfer.END).tolist()
    found = liveness(
        graph,
        ranges,
        sets.uses,
        killed_registers(sets.full_defs, numbers.vector, full),
        live_out=dict.fromkeys(ends, np.zeros(numbers.words, np.uint64)),
        unknown=sets.opaque,
    )
    return set(numbers.named(found.at_start[entry]))


def has_calls(flow: ControlFlowGraph, graph: Graph) -> bool:
    reached = depth_first(graph).pre > 0
    return any(reached[call.block] for call in flow.calls)


def kernels(path: Path) -> Iterator[tuple[str, set[str], set[str]]]:
    """Name, live and initialized registers of the kernels of an object that call nobody."""
    try:
        code_object = CodeObject.parse(path.read_bytes(), path.name)
        load(code_object.target.processor)
    except PostprocError:
        return  # no instruction table
    if len(code_object.executable_sections) != 1:
        return
    for kernel in code_object.kernels:
        isa, fields = isa_of(code_object, kernel)
        decoded = isa.decode(code_object.code(code_object.executable_sections[0]))

        def decode(section: Section, decoded: Decoded = decoded) -> Decoded:
            return decoded

        flow = control_flow_graph(code_object, decode)
        entry = next(f.entry for f in flow.functions if f.position.offset == kernel.offset)
        if not has_calls(flow, flow.graph.with_entries([entry])):
            yield kernel.name, live_at(flow, entry, decoded), initialized(isa, fields)


PATHS = sorted(path for path in CORPUS.glob("gfx*/*") if path.name not in BY_HAND)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_live_scalar_registers_are_initialized(path: Path) -> None:
    for name, live, initial in kernels(path):
        if name in READ_UNDEFINED:
            continue
        scalars = {r for r in live if r[0] not in "va" or r.startswith("vcc")}
        sources = {r for r in scalars if r.startswith("src_")}
        assert scalars - sources <= initial, name
