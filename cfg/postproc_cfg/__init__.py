# SPDX-License-Identifier: Apache-2.0
"""Control flow of code objects.

    graph = context.analysis(control_flow)            in a pass
    graph = control_flow_graph(code_object, decode)   anywhere else

`postproc_cfg.vocabulary` says what branches and calls are, `postproc_cfg.recovery` where computed
ones go, `postproc_cfg.graph` has algorithms on the graph's arrays.  Names are imported on first
use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postproc_cfg.flow_graph import (
        BasicBlock,
        Call,
        ControlFlowGraph,
        Edge,
        EdgeKind,
        Function,
        control_flow_graph,
    )
    from postproc_cfg.idioms import GIVEN
    from postproc_cfg.recovery import ComputedTransfer, Recovery
    from postproc_cfg.service import control_flow, program_text, recovered
    from postproc_cfg.straight_line import StraightLines, TextFlow, constant_jump, text_flow

__all__ = [
    "GIVEN",
    "BasicBlock",
    "Call",
    "ComputedTransfer",
    "ControlFlowGraph",
    "Edge",
    "EdgeKind",
    "Function",
    "Recovery",
    "StraightLines",
    "TextFlow",
    "constant_jump",
    "control_flow",
    "control_flow_graph",
    "program_text",
    "recovered",
    "text_flow",
]

_MODULES = {
    "flow_graph": (
        "BasicBlock",
        "Call",
        "ControlFlowGraph",
        "Edge",
        "EdgeKind",
        "Function",
        "control_flow_graph",
    ),
    "idioms": ("GIVEN",),
    "recovery": ("ComputedTransfer", "Recovery"),
    "service": ("control_flow", "program_text", "recovered"),
    "straight_line": ("StraightLines", "TextFlow", "constant_jump", "text_flow"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
