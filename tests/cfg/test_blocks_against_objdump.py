# SPDX-License-Identifier: Apache-2.0
"""Blocks begin where `llvm-objdump --symbolize-operands` puts labels, and edges go there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from postproc.cli.reading import views
from postproc_cfg import ControlFlowGraph, EdgeKind, control_flow

_LABEL = re.compile(r"^<(L\d+)>:$")
_SYMBOL = re.compile(r"^[0-9a-f]{16} <(.*)>:$")
_BRANCH = re.compile(r"^\s+(s_branch|s_cbranch_\w+|s_call_\w+) .*?<?(L\d+)>?\s*//")
_ADDRESS = re.compile(r"// ([0-9A-F]{12}):")


def labels_and_branches(text: str) -> tuple[set[int], set[tuple[int, int]]]:
    """Addresses of labels, and (branch, target) of branches that name one."""
    places: dict[tuple[str, str], int] = {}
    branches: list[tuple[int, tuple[str, str]]] = []
    symbol, waiting = "", []
    for line in text.splitlines():
        if found := _SYMBOL.match(line):
            symbol = found[1]
        elif found := _LABEL.match(line):
            waiting.append((symbol, found[1]))
        elif found := _ADDRESS.search(line):
            address = int(found[1], 16)
            places.update((label, address) for label in waiting)
            waiting = []
            if branch := _BRANCH.match(line):
                branches.append((address, (symbol, branch[2])))
    edges = {(address, places[label]) for address, label in branches if label in places}
    return set(places.values()), edges


def direct_edges(graph: ControlFlowGraph) -> set[tuple[int, int]]:
    """(branch, target) addresses of the graph's direct edges."""
    text = graph.text
    found = set()
    for edge in graph.edges():
        if edge.kind in (EdgeKind.BRANCH, EdgeKind.TAKEN, EdgeKind.TAIL_CALL):
            source, target = graph.block(edge.source), graph.block(edge.target)
            found.add((int(text.place[source.end - 1]), int(text.place[target.first])))
    return found


def for_llvm(data: bytes) -> bytes:
    """An object with the processor that LLVM 22 knows instead of gfx1250-strict (0xEB)."""
    return data[:48] + b"\x49" + data[49:] if data[48] == 0xEB else data


@pytest.mark.needs_llvm
def test_labels_begin_blocks(corpus_object: Path, llvm: Callable[..., str], tmp_path: Path) -> None:
    known = tmp_path / "known.co"
    known.write_bytes(for_llvm(corpus_object.read_bytes()))
    printed = llvm("llvm-objdump", "-d", "--symbolize-operands", known)
    labels, branches = labels_and_branches(printed)
    for view in views(corpus_object):
        if view.code_object.is_relocatable or len(view.code_object.executable_sections) != 1:
            continue
        graph = view.analysis(control_flow)
        starts = {int(graph.text.place[block.first]) for block in graph.blocks}
        assert labels <= starts
        if graph.text.kind.tolist().count(10) == 0:  # else objdump may have lost its place
            assert branches <= direct_edges(graph)
