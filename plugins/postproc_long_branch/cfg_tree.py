# SPDX-License-Identifier: Apache-2.0
"""Control flow for people: a tree of functions, their blocks and where these go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from postproc_cfg import ControlFlowGraph, EdgeKind

if TYPE_CHECKING:
    from rich.tree import Tree

    from postproc.codeobject import TextPosition
    from postproc_cfg.flow_graph import Function
    from postproc_cfg.recovery import ComputedTransfer

__all__ = ["print_graph"]

_MOST_TARGETS = 6
"""Targets that are written out; the JSON has all."""


def print_graph(graph: ControlFlowGraph, symbol: str | None = None) -> None:
    """Print one object, or one function of it."""
    from postproc.report.console import console_for

    console = console_for()
    console.print(_object_tree(graph, symbol))


def _object_tree(graph: ControlFlowGraph, symbol: str | None) -> Tree:
    from rich.markup import escape
    from rich.tree import Tree

    code_object = graph.text.code_object
    tree = Tree(escape(f"{code_object.name} ({code_object.target})"))
    transfers = {transfer.index: transfer for transfer in graph.recovery.transfers}
    for function in graph.functions:
        if symbol is None or function.name == symbol:
            _add_function(tree, graph, function, transfers)
    if symbol is None:
        _add_oddities(tree, graph)
    return tree


def _add_function(
    tree: Tree,
    graph: ControlFlowGraph,
    function: Function,
    transfers: dict[int, ComputedTransfer],
) -> None:
    from rich.markup import escape

    where = _address(graph, function.position)
    title = f"[bold]{escape(function.name or 'callee')}[/] {function.kind} at {where}"
    branch = tree.add(title)
    callees = [graph.functions[number] for number in graph.callees_of(function.number)]
    if callees:
        names = ", ".join(f.name or _address(graph, f.position) for f in callees)
        branch.add(escape(f"calls {names}"))
    for number in graph.blocks_of(function.number).tolist():
        block = graph.block(number)
        text = f"block {number} at {_address(graph, block.range.first)}"
        item = branch.add(f"{text}, {block.end - block.first} instructions{_going(graph, number)}")
        transfer = transfers.get(block.end - 1)
        if transfer is not None:
            item.add(_transfer(graph, transfer))


def _going(graph: ControlFlowGraph, number: int) -> str:
    first, end = int(graph.offsets[number]), int(graph.offsets[number + 1])
    if first == end:
        return ""
    goals = [
        f"{EdgeKind(int(graph.kinds[edge])).label} {int(graph.targets[edge])}"
        for edge in range(first, end)
    ]
    return " -> " + ", ".join(goals)


def _transfer(graph: ControlFlowGraph, transfer: ComputedTransfer) -> str:
    from rich.markup import escape

    instruction = graph.text.instruction(transfer.index)
    if transfer.reason:
        return f"[red]{escape(instruction.text)}: refused, {escape(transfer.reason)}[/]"
    goals = [_address(graph, graph.text.position(target)) for target in transfer.targets]
    goals += [f"0x{place:x} (outside)" for place in transfer.outside]
    shown = ", ".join(goals[:_MOST_TARGETS])
    more = f" and {len(goals) - _MOST_TARGETS} more" if len(goals) > _MOST_TARGETS else ""
    text = f"{instruction.text}: {transfer.kind} to {shown}{more} ({transfer.idiom})"
    return f"[cyan]{escape(text)}[/]"


def _add_oddities(tree: Tree, graph: ControlFlowGraph) -> None:
    for title, ranges in (
        ("nothing is known to reach", graph.unreached),
        ("no instructions, though control arrives", graph.undecoded),
    ):
        if ranges:
            branch = tree.add(f"[yellow]{title}[/]")
            for item in ranges:
                branch.add(f"{_address(graph, item.first)}, {item.size} bytes")
    for source, goal in graph.overlapping:
        tree.add(
            f"[yellow]{_address(graph, source)} goes into the middle of the instruction at "
            f"{_address(graph, goal)}[/]"
        )


def _address(graph: ControlFlowGraph, position: TextPosition) -> str:
    return f"0x{graph.text.code_object.address_of(position):x}"
