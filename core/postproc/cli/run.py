# SPDX-License-Identifier: Apache-2.0
"""`postproc [run]`: the main job."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from postproc import log
from postproc.cli import options
from postproc.cli.failures import say, worst
from postproc.cli.streams import output_written
from postproc.errors import UsageError

if TYPE_CHECKING:
    from postproc.pipeline.files import FileResult
    from postproc.pipeline.session import RunSettings, Session

SUMMARY = "Rewrite code objects."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `run`."""
    parser.add_argument(
        "inputs",
        nargs="+",
        type=options.path,
        metavar="IN",
        help="file, or a folder: all code objects below it",
    )
    where = parser.add_argument_group("output").add_mutually_exclusive_group()
    where.add_argument("-o", "--output", type=options.path, metavar="OUT", help="write here")
    where.add_argument(
        "--output-dir", type=options.path, metavar="DIR", help="write below this folder"
    )
    where.add_argument("--in-place", action="store_true", help="replace the inputs")
    parser.add_argument(
        "--dry-run", action="store_true", help="prepare and verify, but write no output"
    )
    parser.add_argument(
        "--report", type=options.path, metavar="FILE", help="write a report as JSON"
    )
    parser.add_argument(
        "--map", type=options.path, metavar="FILE", help="write the address map as JSON"
    )
    parser.add_argument(
        "-j",
        "--jobs",
        type=_positive,
        default=1,
        metavar="N",
        help="work on N inputs at once (at most four a processor)",
    )
    options.add_config_options(parser)
    options.add_plugin_options(parser)
    options.add_log_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Rewrite, report, and return the worst exit status."""
    from postproc.pipeline.batch import run_batch
    from postproc.pipeline.inputs import Destination, find_inputs, plan_jobs
    from postproc.pipeline.session import Session

    destination = Destination(arguments.output, arguments.output_dir, arguments.in_place)
    if not arguments.dry_run and destination == Destination():
        raise UsageError(
            "nowhere to write to", hint="give -o OUT, --output-dir DIR, --in-place or --dry-run"
        )
    settings = options.run_settings(arguments, dry_run=arguments.dry_run)
    session = Session.open(settings)
    inputs = find_inputs(arguments.inputs, leave_out=arguments.output_dir)
    documents = [path for path in (arguments.report, arguments.map) if path is not None]
    jobs = plan_jobs(inputs, destination, documents, also_read=arguments.config)
    _warn_of_idle_run(session, len(jobs))
    with _progress_bar(len(jobs), arguments.quiet) as advance:
        results = run_batch(jobs, settings, session, arguments.jobs, advance)
    status = worst(result.report.exit_status for result in results)
    shown = output_written(lambda: _show(results, settings, arguments))
    _write_documents(arguments, session, results, status)
    return status or shown


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("must be a whole number of at least 1")
    return int(text)


def _warn_of_idle_run(session: Session, inputs: int) -> None:
    if not inputs:
        log.logger().warning("no code object found")
    if not session.plugins.active:
        log.logger().warning("no plugin is selected: nothing will change")


def _write_documents(
    arguments: argparse.Namespace, session: Session, results: Sequence[FileResult], status: int
) -> None:
    from postproc import __version__
    from postproc.report.build import versions
    from postproc.report.document import MapDocument, Report

    if arguments.report is not None:
        report = Report(
            versions=versions(session.plugins.versions),
            dry_run=arguments.dry_run,
            exit_status=status,
            files=tuple(result.report for result in results),
        )
        _write_json(arguments.report, report)
    if arguments.map is not None:
        maps = tuple(result.map for result in results if result.map is not None)
        _write_json(arguments.map, MapDocument(postproc=__version__, files=maps))


def _write_json(path: Path, document: object) -> None:
    import msgspec

    from postproc.write import write_atomically

    text = msgspec.json.format(msgspec.json.encode(document), indent=1)
    write_atomically(path, text + b"\n")


def _show(
    results: Sequence[FileResult], settings: RunSettings, arguments: argparse.Namespace
) -> int:
    """Print warnings, errors and the summary; returns 0."""
    for result in results:
        for warning in result.report.warnings:
            name = "" if result.report.input is None else result.report.input.path
            log.logger(file=name).warning(warning)
        if result.report.error is not None:
            say(result.report.error.message)
            if settings.log.verbosity > 0:
                print(result.trace, file=sys.stderr, end="")
    if not arguments.quiet:
        from postproc.report.console import print_files

        print_files([result.report for result in results], dry_run=arguments.dry_run)
    return 0


@contextmanager
def _progress_bar(total: int, quiet: bool) -> Iterator[Callable[[FileResult], None]]:
    """A bar on standard error, for several files and a terminal only."""
    if total < 2 or quiet or not sys.stderr.isatty():
        yield lambda result: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("rewriting", total=total)
        yield lambda result: bar.advance(task)
