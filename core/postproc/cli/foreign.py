# SPDX-License-Identifier: Apache-2.0
"""Subcommands that plugins add; looked for only when the core does not know the word."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from postproc.cli import SUBCOMMANDS, options
from postproc.config import Config, CoreConfig, suggestion
from postproc.errors import PluginError, UsageError

if TYPE_CHECKING:
    from postproc.plugins import Plugins

__all__ = ["run_foreign"]

_HOOK = "postproc_cli"


def run_foreign(name: str, before: Sequence[str], behind: Sequence[str]) -> int:
    """Run a plugin's subcommand with the words `behind` it; those `before` it select plugins.

    Raises UsageError if no plugin has it.
    """
    from postproc.plugins import guarded

    plugins = _plugins(name, before)
    parser = argparse.ArgumentParser(prog="postproc", allow_abbrev=False)
    subcommands = parser.add_subparsers()
    owners = _owners(plugins, subcommands)
    if name not in owners:
        raise UsageError(
            f"{name!r} is neither a file nor a subcommand",
            hint=suggestion(name, (*SUBCOMMANDS, *owners)),
        )
    arguments = parser.parse_args([name, *behind])
    status = guarded(owners[name], f"{_HOOK}, {name}", lambda: arguments.run(arguments))
    if not isinstance(status, int):
        what = f"returned {type(status).__name__}, not an exit status"
        raise PluginError(what, plugin=owners[name], hook=f"{_HOOK}, {name}")
    return status


def _plugins(name: str, before: Sequence[str]) -> Plugins:
    """Everything that is installed, and what -p names."""
    from postproc.plugins import AUTOLOAD_VARIABLE, Plugins, Selection

    parser = argparse.ArgumentParser(prog=f"postproc {name}", allow_abbrev=False, add_help=False)
    options.add_plugin_options(parser)
    chosen = parser.parse_args(before)
    selection = Selection.of(Config(CoreConfig()), chosen.plugins, strict=chosen.strict_plugins)
    plugins = Plugins(selection)
    if not (chosen.no_plugin_autoload or os.environ.get(AUTOLOAD_VARIABLE)):
        for warning in plugins.load_available():
            print(f"postproc: warning: {warning}", file=sys.stderr)
    for forced in selection.forced:
        plugins.load(forced)
    return plugins


def _owners(
    plugins: Plugins, subcommands: argparse._SubParsersAction[argparse.ArgumentParser]
) -> Mapping[str, str]:
    """The plugin of each subcommand."""
    owners: dict[str, str] = {}
    for plugin in plugins.implementing(_HOOK):
        plugins.call_one(plugin, _HOOK, subcommands=subcommands)
        for name in subcommands.choices:
            owners.setdefault(name, plugin)
    return owners
