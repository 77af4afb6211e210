# SPDX-License-Identifier: Apache-2.0
"""`postproc plugins`: what is installed, what would be active, and why not."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from postproc.cli import options

if TYPE_CHECKING:
    from postproc.plugins import PluginRecord

SUMMARY = "List plugins: name, version, source, hooks, status and reason."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `plugins`."""
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    options.add_config_options(parser)
    options.add_plugin_options(parser)
    options.add_log_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Load every plugin to see its hooks; the status tells which ones a run would use."""
    from postproc.plugins import Plugins

    selection = options.run_settings(arguments).selection
    plugins = Plugins(selection)
    named = {*selection.wanted, *selection.forced} - selection.blocked
    warnings = [] if not selection.autoload else list(plugins.load_available())
    for name in sorted(set(selection.forced) - set(plugins.active)):
        plugins.load(name)
    records = plugins.as_listed(named)
    if arguments.json:
        _print_json(records)
    else:
        _print_table(records)
    for warning in warnings:
        print(f"postproc: warning: {warning}", file=sys.stderr)
    return 0


def _print_json(records: tuple[PluginRecord, ...]) -> None:
    import msgspec

    print(msgspec.json.format(msgspec.json.encode(records), indent=1).decode())


def _print_table(records: tuple[PluginRecord, ...]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from postproc.report.console import console_for

    table = Table("name", "version", "status", "hooks", "source", box=None, pad_edge=False)
    for record in records:
        status = f"{record.status}: {record.reason}" if record.reason else record.status
        hooks = " ".join(hook.removeprefix("postproc_") for hook in record.hooks)
        cells = (record.name, record.version, status, hooks, record.source)
        table.add_row(*map(escape, cells))
    console_for().print(table)
