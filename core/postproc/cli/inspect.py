# SPDX-License-Identifier: Apache-2.0
"""`postproc inspect`: what a file holds."""

from __future__ import annotations

import argparse

from postproc.cli import options

SUMMARY = "Show containers, targets, kernels with their resources, and sections."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `inspect`."""
    parser.add_argument("inputs", nargs="+", type=options.path, metavar="IN")
    parser.add_argument("--json", action="store_true", help="one object a line, for each input")
    options.add_log_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print one document an input."""
    import msgspec

    from postproc.containers import map_file, open_container
    from postproc.paths import readable
    from postproc.report.console import console_for
    from postproc.report.inspect import inspect_document, render

    options.log_settings(arguments)
    for path in arguments.inputs:
        container = open_container(map_file(path), readable(path))
        document = inspect_document(container)
        if arguments.json:
            print(msgspec.json.encode(document).decode())
        else:
            console_for().print(render(document))
    return 0
