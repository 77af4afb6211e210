# SPDX-License-Identifier: Apache-2.0
"""Subcommands that plugins add; looked for only when the core does not know the word."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from postproc.cli import SUBCOMMANDS
from postproc.config import suggestion
from postproc.errors import UsageError

__all__ = ["run_foreign"]


def run_foreign(name: str, rest: Sequence[str]) -> int:
    """Run a plugin's subcommand.  Raises UsageError if no plugin has it."""
    from postproc.plugins import AUTOLOAD_VARIABLE, Plugins, Selection

    plugins = Plugins(Selection())
    if not os.environ.get(AUTOLOAD_VARIABLE):
        for warning in plugins.load_available():
            print(f"postproc: warning: {warning}", file=sys.stderr)
    parser = argparse.ArgumentParser(prog="postproc", allow_abbrev=False)
    subcommands = parser.add_subparsers()
    plugins.call("postproc_cli", subcommands=subcommands)
    if name not in subcommands.choices:
        raise UsageError(
            f"{name!r} is neither a file nor a subcommand",
            hint=suggestion(name, (*SUBCOMMANDS, *subcommands.choices)),
        )
    arguments = parser.parse_args([name, *rest])
    return int(arguments.run(arguments))
