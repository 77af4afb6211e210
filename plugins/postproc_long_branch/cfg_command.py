# SPDX-License-Identifier: Apache-2.0
"""`postproc cfg`: functions, blocks, edges, loops and computed transfers of a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from postproc.cli import options

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "Show the control flow of code objects."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `cfg`."""
    parser.add_argument("inputs", nargs="+", type=Path, metavar="IN")
    parser.add_argument(
        "--json",
        action="store_true",
        help="one object a line for each code object: functions, blocks, edges, calls, loops, "
        "computed, unreached, undecoded, overlapping",
    )
    parser.add_argument("--symbol", metavar="NAME", help="only this function or kernel, as a tree")
    options.add_log_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the control flow of every code object of every input."""
    from postproc.cli.reading import views

    options.log_settings(arguments)
    for path in arguments.inputs:
        for view in views(path):
            from postproc_cfg import control_flow

            graph = view.analysis(control_flow)
            if arguments.json:
                import msgspec

                from postproc_cfg.document import graph_document

                sys.stdout.write(msgspec.json.encode(graph_document(graph)).decode() + "\n")
            else:
                from postproc_long_branch.cfg_tree import print_graph

                print_graph(graph, arguments.symbol)
    return 0
