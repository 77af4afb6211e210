# SPDX-License-Identifier: Apache-2.0
"""Options that several subcommands share, and what they mean."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from postproc import log

if TYPE_CHECKING:
    from postproc.config import Config
    from postproc.pipeline.session import RunSettings

__all__ = [
    "add_config_options",
    "add_log_options",
    "add_plugin_options",
    "load_config",
    "log_settings",
    "path",
    "run_settings",
]


def path(text: str) -> Path:
    """The type of all arguments that are paths: an empty one would name the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("an empty path names nothing")
    return Path(text)


def add_log_options(parser: argparse.ArgumentParser) -> None:
    """-q, -v, --log-format."""
    group = parser.add_argument_group("messages")
    group.add_argument(
        "-v", dest="verbosity", action="count", default=0, help="say more; twice: everything"
    )
    group.add_argument("-q", dest="quiet", action="store_true", help="say nothing but errors")
    group.add_argument(
        "--log-format", choices=("console", "json"), default="console", help="of standard error"
    )


def add_config_options(parser: argparse.ArgumentParser) -> None:
    """--config, --strict."""
    group = parser.add_argument_group("configuration")
    group.add_argument(
        "--config",
        action="append",
        type=path,
        default=[],
        metavar="FILE",
        help="TOML file, or a pyproject.toml with [tool.postproc]; of several the later one wins",
    )
    group.add_argument("--strict", action="store_true", help="warnings are errors")


def add_plugin_options(parser: argparse.ArgumentParser) -> None:
    """-p, --no-plugin-autoload, --strict-plugins."""
    group = parser.add_argument_group("plugins")
    group.add_argument(
        "-p",
        dest="plugins",
        action="append",
        default=[],
        metavar="[no:]NAME",
        help="use plugin NAME (installed, or a module); no:NAME blocks it",
    )
    group.add_argument("--no-plugin-autoload", action="store_true", help="load only what -p names")
    group.add_argument(
        "--strict-plugins", action="store_true", help="any plugin that cannot be loaded is an error"
    )


def log_settings(arguments: argparse.Namespace) -> log.LogSettings:
    """From -q, -v and --log-format; takes effect at once."""
    verbosity = -1 if arguments.quiet else int(arguments.verbosity)
    settings = log.LogSettings(arguments.log_format, verbosity)
    log.configure(settings)
    return settings


def load_config(arguments: argparse.Namespace) -> Config:
    """From --config and --strict.  Raises ConfigError."""
    from postproc import config

    overrides = []
    if arguments.strict:
        overrides.append(config.Setting("postproc.strict", True, "--strict"))
    if getattr(arguments, "strict_plugins", False):
        overrides.append(config.Setting("postproc.strict_plugins", True, "--strict-plugins"))
    return config.load(arguments.config, overrides)


def run_settings(arguments: argparse.Namespace, *, dry_run: bool = False) -> RunSettings:
    """All shared options together.  Raises ConfigError."""
    from postproc.pipeline.session import RunSettings
    from postproc.plugins import AUTOLOAD_VARIABLE, Selection

    loaded = load_config(arguments)
    selection = Selection.of(
        loaded,
        arguments.plugins,
        autoload=not (arguments.no_plugin_autoload or os.environ.get(AUTOLOAD_VARIABLE)),
        strict=arguments.strict_plugins,
    )
    return RunSettings(loaded, selection, dry_run, log_settings(arguments))
