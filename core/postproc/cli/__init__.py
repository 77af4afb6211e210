# SPDX-License-Identifier: Apache-2.0
"""The command line: `postproc [SUBCOMMAND] ...`; without a subcommand, `run` is meant.

Each subcommand is a module with `SUMMARY`, `add_arguments(parser)` and `run(arguments) -> int`,
imported only when it is used.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
from collections.abc import Sequence

from postproc import __version__

__all__ = ["main"]

SUBCOMMANDS = ("run", "inspect", "disasm", "sites", "verify", "plugins", "config")

RESERVED = ("cfg", "simulate")
"""Subcommands of plugins even where a folder has that name (`./cfg` is the folder)."""

USAGE_ERROR = 2
INTERRUPTED = 130

_VALUE_OPTIONS = frozenset(
    {"--config", "-p", "-j", "--jobs", "-o", "--output", "--output-dir", "--report", "--map",
     "--log-format"}
)  # fmt: skip
"""Options whose next argument is their value: it is no subcommand."""

_SUBCOMMAND_NAME = re.compile(r"[a-z][a-z0-9-]*")

_OVERVIEW = """\
usage: postproc [run] [options] IN... [-o OUT | --output-dir DIR | --in-place]
       postproc SUBCOMMAND ...

Rewrites finished AMDGPU code objects.

subcommands (postproc SUBCOMMAND --help):
  run        rewrite code objects; meant if no subcommand is given
  inspect    show what a file holds: target, kernels, resources, sections
  disasm     disassemble
  sites      list the sites that the selected plugins would rewrite
  verify     check an output against its input and map
  plugins    list plugins
  config     show the effective configuration, or the schema of its files
  cfg        show control flow (plugin long-branch)
  Plugins may add more.

exit status:
  0  done, changed or not          3  input unreadable or malformed
  1  internal error, or a plugin's 4  a required rewrite was refused, nothing written
  2  usage or configuration error  5  the verifier refused the result, nothing written

postproc run --help shows all options; postproc --version the version.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status.  Usage errors leave by SystemExit(2)."""
    from postproc.cli.streams import output_written, prepare_streams

    arguments = list(sys.argv[1:] if argv is None else argv)
    prepare_streams()
    try:
        return output_written(lambda: _run(arguments))
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["--version"]:
        print(f"postproc {__version__}")
        return 0
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_OVERVIEW, end="")
        return 0 if arguments else USAGE_ERROR
    return _dispatch(*_split(arguments))


def _split(arguments: Sequence[str]) -> tuple[str, Sequence[str], Sequence[str]]:
    """The subcommand, and what stands before and behind it; `run` if the first word is none."""
    index = 0
    while index < len(arguments):
        word = arguments[index]
        if word in _VALUE_OPTIONS:
            index += 2
        elif word == "--":
            break
        elif word.startswith("-"):
            index += 1
        else:
            if word in SUBCOMMANDS or _could_be_subcommand(word):
                return word, arguments[:index], arguments[index + 1 :]
            break
    return "run", arguments, ()


def _could_be_subcommand(word: str) -> bool:
    """A plugin's subcommand: a plain word that is no file.  (`./word` is always a file.)"""
    if word in RESERVED:
        return True
    return _SUBCOMMAND_NAME.fullmatch(word) is not None and not os.path.exists(word)


def _dispatch(name: str, before: Sequence[str], behind: Sequence[str]) -> int:
    from postproc.cli import options
    from postproc.cli.failures import reported

    if name not in SUBCOMMANDS:
        from postproc.cli.foreign import run_foreign

        return reported(lambda: run_foreign(name, before, behind))
    module = importlib.import_module(f"postproc.cli.{name}")
    parser = argparse.ArgumentParser(
        prog=f"postproc {name}", description=module.SUMMARY, allow_abbrev=False
    )
    module.add_arguments(parser)
    parsed = parser.parse_args([*before, *behind])
    if "log_format" in parsed:
        options.log_settings(parsed)
    return reported(lambda: int(module.run(parsed)), verbosity=getattr(parsed, "verbosity", 0))
