# SPDX-License-Identifier: Apache-2.0
"""The hooks of the plugin `long-branch`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from postproc import __version__, hookimpl
from postproc.passes import ControlFlowFact, PluginInfo

if TYPE_CHECKING:
    import argparse

    from postproc.passes import PassContext

__all__ = ["postproc_cli", "postproc_plugin_info", "postproc_recover"]


@hookimpl
def postproc_plugin_info() -> PluginInfo:
    """Present the plugin."""
    about = "finds out where long branches, computed calls and returns go"
    return PluginInfo("long-branch", __version__, api=(1, 0), description=about)


@hookimpl
def postproc_recover(context: PassContext) -> Iterator[ControlFlowFact]:
    """One fact for each computed transfer that is understood; a reason in the log for the others.

    Nothing is said of one that may leave the object's code, or that another plugin explained.
    """
    from postproc_cfg import GIVEN, program_text, recovered

    text = context.analysis(program_text)
    known = {fact.position for fact in context.facts}
    for transfer in context.analysis(recovered).transfers:
        position = text.position(transfer.index)
        if transfer.reason:
            if not context.facts:
                context.log.info(
                    "computed transfer refused",
                    offset=position.offset,
                    instruction=text.instruction(transfer.index).text,
                    reason=transfer.reason,
                )
            continue
        if transfer.outside or (transfer.idiom == GIVEN and position in known):
            continue
        targets = tuple(text.position(target) for target in transfer.targets)
        yield ControlFlowFact(position, transfer.kind, targets, transfer.idiom, transfer.evidence)


@hookimpl
def postproc_cli(subcommands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `postproc cfg`."""
    from postproc_long_branch import cfg_command

    parser = subcommands.add_parser("cfg", help=cfg_command.SUMMARY)
    cfg_command.add_arguments(parser)
    parser.set_defaults(run=cfg_command.run)
