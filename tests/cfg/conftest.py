# SPDX-License-Identifier: Apache-2.0
"""Assembled kernels whose computed transfers are checked against the labels of their source."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from postproc.codeobject import CodeObject
    from postproc_cfg import ComputedTransfer, ControlFlowGraph

PROCESSORS = ("gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250")


@dataclass(frozen=True)
class Recovered:
    """What was found in an object, by the labels of its source."""

    code_object: CodeObject
    graph: ControlFlowGraph

    def address(self, label: str) -> int:
        """Where a label stands."""
        symbols = self.code_object.symbols
        for row in range(len(symbols)):
            if symbols.name(row) == label:
                return int(symbols.value[row])
        raise KeyError(label)

    def index(self, label: str) -> int:
        """The instruction at a label."""
        return self.graph.text.index_at(self.address(label))

    def transfer(self, label: str) -> ComputedTransfer:
        """The computed transfer at a label."""
        index = self.index(label)
        return next(t for t in self.graph.recovery.transfers if t.index == index)

    def goes_to(self, label: str, *targets: str) -> bool:
        """Whether the transfer at `label` is known to go to these labels, and to nothing else."""
        transfer = self.transfer(label)
        wanted = sorted({self.index(target) for target in targets})
        return not transfer.reason and not transfer.outside and list(transfer.targets) == wanted

    def refusal(self, label: str) -> str:
        """Why the transfer at `label` is refused; it then says nothing of targets."""
        transfer = self.transfer(label)
        assert bool(transfer.reason) == (not transfer.targets)
        return transfer.reason

    def successors(self, label: str) -> list[tuple[str, int]]:
        """Kind and first address of the successors of the block that holds a label."""
        graph = self.graph
        block = graph.block_at(graph.text.position(self.index(label)))
        return sorted(
            (edge.kind.label, int(graph.text.place[graph.block(edge.target).first]))
            for edge in graph.edges()
            if edge.source == block
        )


def recovered(code_object: CodeObject) -> Recovered:
    """Decode and analyse."""
    from postproc.passes import ObjectView
    from postproc.pipeline.transform import view_of
    from postproc_cfg import control_flow

    view: ObjectView = view_of(code_object)
    return Recovered(code_object, view.analysis(control_flow))


@pytest.fixture
def recover_kernel(assembled: Callable[..., CodeObject]) -> Callable[[str, str], Recovered]:
    """`recover_kernel(processor, body)`: what is found in a kernel of this body."""
    return lambda processor, body: recovered(assembled(processor, body))


@pytest.fixture
def recover_object(tmp_path: Path) -> Callable[..., Recovered]:
    """`recover_object(processor, source, *options)`: what is found in an object that llvm-mc makes
    of a whole source, linked with these options of ld.lld."""
    from postproc.codeobject import CodeObject
    from postproc.testing import find_tool

    def build(processor: str, source: str, *options: str) -> Recovered:
        mc, lld = find_tool("llvm-mc"), find_tool("ld.lld")
        if mc is None or lld is None:
            pytest.skip("needs llvm-mc and ld.lld of LLVM 22")
        relocatable, linked = tmp_path / "source.o", tmp_path / "source.co"
        assemble = [mc, "-triple=amdgcn-amd-amdhsa", f"-mcpu={processor}", "-filetype=obj"]
        subprocess.run(
            [*assemble, "-o", str(relocatable)], input=source.encode(), check=True, timeout=60
        )
        subprocess.run(
            [lld, "-shared", *options, "-o", str(linked), str(relocatable)], check=True, timeout=60
        )
        return recovered(CodeObject.parse(linked.read_bytes(), "assembled.co"))

    return build
