# SPDX-License-Identifier: Apache-2.0
"""`postproc sites`: what the selected plugins would do, site by site; nothing is written."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from postproc.cli import options
from postproc.cli.failures import say, worst

if TYPE_CHECKING:
    from postproc.pipeline.files import FileResult

SUMMARY = "List the sites that the selected plugins match, and what would become of each."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `sites`."""
    parser.add_argument("inputs", nargs="+", type=options.path, metavar="IN")
    parser.add_argument("--json", action="store_true", help="one object a line")
    parser.add_argument(
        "--status",
        choices=("rewritten", "preserved", "refused", "not-applicable"),
        help="only these",
    )
    options.add_config_options(parser)
    options.add_plugin_options(parser)
    options.add_log_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print all sites; the exit status is that of a dry run."""
    from postproc.pipeline.files import Job, process_file
    from postproc.pipeline.inputs import find_inputs
    from postproc.pipeline.session import Session

    session = Session.open(options.run_settings(arguments, dry_run=True))
    statuses = []
    for item in find_inputs(arguments.inputs):
        result = process_file(Job(item.path, None), session)
        if result.report.error is not None:
            say(result.report.error.message)
        statuses.append(result.report.exit_status)
        (_print_json if arguments.json else _print_text)(result, arguments.status)
    return worst(statuses)


def _print_json(result: FileResult, status: str | None) -> None:
    import msgspec

    for code_object in result.report.code_objects:
        for item in code_object.passes:
            for site in item.sites:
                if status in (None, site.status):
                    head = {"object": code_object.name, "plugin": item.plugin, "pass": item.name}
                    line = {**head, **msgspec.to_builtins(site)}
                    print(msgspec.json.encode(line).decode())


def _print_text(result: FileResult, status: str | None) -> None:
    for code_object in result.report.code_objects:
        print(f"{code_object.name}: {code_object.target}")
        for item in code_object.passes:
            for site in item.sites:
                if status in (None, site.status):
                    place = f"{site.symbol or site.section}+0x{site.offset:x}"
                    rule = f"{item.plugin}/{site.rule}"
                    print(f"  {site.status:14} {place} {site.mnemonic} [{rule}]: {site.reason}")
