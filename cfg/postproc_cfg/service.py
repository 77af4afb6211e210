# SPDX-License-Identifier: Apache-2.0
"""The analyses that passes ask an `ObjectView` for.

graph = context.analysis(control_flow)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from postproc_cfg.flow_graph import ControlFlowGraph, control_flow_of
from postproc_cfg.recovery import Recovery, recover
from postproc_cfg.text import Text

if TYPE_CHECKING:
    from postproc.passes import ObjectView

__all__ = ["control_flow", "program_text", "recovered"]


def program_text(view: ObjectView) -> Text:
    """All code of the object as one sequence of instructions."""
    return Text(view.code_object, view.decoded)


def recovered(view: ObjectView) -> Recovery:
    """What the computed transfers of the object do; facts help where values cannot be followed."""
    text = view.analysis(program_text)
    proven: dict[int, frozenset[int]] = {}
    for fact in view.facts:
        if fact.kind == "return":
            continue
        targets = frozenset(text.index_at(text.place_of(target)) for target in fact.targets)
        if -1 not in targets:
            proven[text.index_at(text.place_of(fact.position))] = targets
    return recover(text, proven)


def control_flow(view: ObjectView) -> ControlFlowGraph:
    """The control-flow graph of the object, as far as it is known at this revision of the facts."""
    return control_flow_of(view.analysis(program_text), view.analysis(recovered))
