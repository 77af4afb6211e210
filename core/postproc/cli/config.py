# SPDX-License-Identifier: Apache-2.0
"""`postproc config`: the effective configuration with origins, or the schema of its files."""

from __future__ import annotations

import argparse

from postproc.cli import options

SUMMARY = "Show the effective configuration, or the JSON schema of configuration files."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `config`."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--show", action="store_true", help="every value and where it came from (the default)"
    )
    what.add_argument("--schema", action="store_true", help="print a JSON schema")
    parser.add_argument("--json", action="store_true", help="with --show: print a JSON array")
    options.add_config_options(parser)
    options.add_plugin_options(parser)
    options.add_log_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print; bad configurations end as everywhere, in exit status 2."""
    import msgspec

    from postproc import config
    from postproc.pipeline.session import Session
    from postproc.plugins import Plugins

    settings = options.run_settings(arguments)
    if arguments.schema:
        plugins = Plugins(settings.selection)
        plugins.load_available()
        document = msgspec.json.encode(config.schema(plugins.schemas()))
        print(msgspec.json.format(document, indent=1).decode())
        return 0
    session = Session.open(settings)
    tables = {n: t for n, t in session.tables.items() if isinstance(t, msgspec.Struct)}
    found = settings.config.settings(tables)
    if arguments.json:
        print(msgspec.json.format(msgspec.json.encode(found), indent=1).decode())
        return 0
    for setting in found:
        value = msgspec.json.encode(setting.value).decode()
        print(f"{setting.key} = {value}  # {setting.origin}")
    return 0
