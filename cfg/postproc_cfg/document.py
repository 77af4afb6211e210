# SPDX-License-Identifier: Apache-2.0
"""A control-flow graph as plain values, for `postproc cfg --json`.

Addresses are those of the file (in a relocatable object, bytes from the start of the section);
blocks and functions are referred to by number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from postproc.codeobject import TextPosition, TextRange
from postproc_cfg.graph import find_cycles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from postproc_cfg.flow_graph import ControlFlowGraph, Function
    from postproc_cfg.recovery import ComputedTransfer

__all__ = ["graph_document"]


def graph_document(graph: ControlFlowGraph) -> dict[str, Any]:
    """Functions, blocks, edges, calls, loops, computed transfers, and what is odd."""
    code_object = graph.text.code_object
    return {
        "file": code_object.name,
        "target": str(code_object.target),
        "complete": not graph.refused and not graph.undecoded and not graph.overlapping,
        "functions": [_function(graph, function) for function in graph.functions],
        "blocks": list(_blocks(graph)),
        "edges": list(_edges(graph)),
        "calls": [
            {
                "address": _address(graph, graph.text.position(call.instruction)),
                "block": call.block,
                "callees": list(call.callees),
            }
            for call in graph.calls
        ],
        "loops": list(_loops(graph)),
        "computed": [_computed(graph, transfer) for transfer in graph.recovery.transfers],
        "unreached": [_range(graph, item) for item in graph.unreached],
        "undecoded": [_range(graph, item) for item in graph.undecoded],
        "overlapping": [
            {"address": _address(graph, source), "target": _address(graph, goal)}
            for source, goal in graph.overlapping
        ],
    }


def _address(graph: ControlFlowGraph, position: TextPosition) -> int:
    return graph.text.code_object.address_of(position)


def _range(graph: ControlFlowGraph, item: TextRange) -> dict[str, int]:
    start = _address(graph, item.first)
    return {"section": item.section, "address": start, "end": start + item.size}


def _function(graph: ControlFlowGraph, function: Function) -> dict[str, Any]:
    return {
        "number": function.number,
        "name": function.name,
        "kind": function.kind,
        "section": function.position.section,
        "address": _address(graph, function.position),
        "entry": function.entry,
        "blocks": graph.blocks_of(function.number).tolist(),
        "callees": list(graph.callees_of(function.number)),
    }


def _blocks(graph: ControlFlowGraph) -> Iterator[dict[str, Any]]:
    for block in graph.blocks:
        yield {
            "number": block.number,
            **_range(graph, block.range),
            "instructions": block.end - block.first,
            "function": block.function if block.function >= 0 else None,
        }


def _edges(graph: ControlFlowGraph) -> Iterator[dict[str, Any]]:
    for edge in graph.edges():
        yield {"source": edge.source, "target": edge.target, "kind": edge.kind.label}


def _loops(graph: ControlFlowGraph) -> Iterator[dict[str, Any]]:
    for cycle in find_cycles(graph.graph):
        yield {
            "number": cycle.number,
            "header": cycle.header,
            "depth": cycle.depth,
            "parent": cycle.parent if cycle.parent >= 0 else None,
            "blocks": list(cycle.members),
            "entries": list(cycle.entries),
            "latches": list(cycle.latches),
            "exits": list(cycle.exits),
            "reducible": cycle.is_reducible,
        }


def _computed(graph: ControlFlowGraph, transfer: ComputedTransfer) -> dict[str, Any]:
    text = graph.text
    targets = [_address(graph, text.position(target)) for target in transfer.targets]
    return {
        "address": _address(graph, text.position(transfer.index)),
        "mnemonic": text.instruction(transfer.index).mnemonic,
        "kind": transfer.kind,
        "idiom": transfer.idiom,
        "targets": sorted([*targets, *transfer.outside]),
        "reason": transfer.reason,
        "evidence": list(transfer.evidence),
    }
