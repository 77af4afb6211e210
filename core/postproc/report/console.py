# SPDX-License-Identifier: Apache-2.0
"""The report for people: a short table of what happened to the sites, by rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from postproc.report.document import FileReport, SiteReport

__all__ = ["console_for", "print_files"]

_STATUSES = ("rewritten", "preserved", "refused", "not-applicable")
_STYLES = {"rewritten": "green", "preserved": "cyan", "refused": "red", "not-applicable": "dim"}
_MOST_REFUSALS = 10
"""Refused sites that are shown one by one, for each file; the JSON report has all."""


def console_for(stream: object = None) -> Console:
    """A console on standard output; without colour where NO_COLOR or no terminal says so."""
    from rich.console import Console

    class Patient(Console):
        def on_broken_pipe(self) -> None:
            """Leave it to the command line, which knows the exit status (rich would exit)."""
            raise BrokenPipeError

    plain_width = 200
    console = Patient(file=stream, highlight=False, soft_wrap=True)  # type: ignore[arg-type]  # IO[str]
    if not console.is_terminal:
        console.width = plain_width
    return console


def print_files(files: Sequence[FileReport], *, dry_run: bool) -> None:
    """Print what happened to each file, and one table of all sites."""
    from rich.markup import escape
    from rich.table import Table

    console = console_for()
    for file in files:
        if file.error is None:
            console.print(escape(_headline(file, dry_run)))
        for site in _refused(file)[:_MOST_REFUSALS] if file.error is None else ():
            console.print(escape(f"  refused 0x{site.offset:x} {site.mnemonic}: {site.reason}"))
    counts = _counts(files)
    if not counts:
        return
    table = Table("plugin", "rule", *(_header(s) for s in _STATUSES), box=None, pad_edge=False)
    for column in table.columns[2:]:
        column.justify = "right"
    for plugin, rule in sorted(counts):
        numbers = counts[plugin, rule]
        cells = (f"[{_STYLES[s]}]{numbers[s]}[/]" if numbers[s] else "-" for s in _STATUSES)
        table.add_row(escape(plugin), escape(rule), *cells)
    console.print(table)


def _header(status: str) -> str:
    return status.replace("not-applicable", "n/a")


def _headline(file: FileReport, dry_run: bool) -> str:
    name = "?" if file.input is None else file.input.path
    if not file.changed:
        verdict = "unchanged"
    else:
        number = sum(1 for site in _sites(file) if site.status == "rewritten")
        verdict = f"{number} site{'s' if number != 1 else ''} rewritten, verified"
    if file.output is not None:
        return f"{name} -> {file.output.path}: {verdict}"
    return f"{name}: {verdict}{' (dry run, nothing written)' if dry_run else ''}"


def _sites(file: FileReport) -> Iterable[SiteReport]:
    return (s for o in file.code_objects for p in o.passes for s in p.sites)


def _refused(file: FileReport) -> list[SiteReport]:
    return [site for site in _sites(file) if site.status == "refused"]


def _counts(files: Iterable[FileReport]) -> dict[tuple[str, str], Counter[str]]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    for file in files:
        for code_object in file.code_objects:
            for item in code_object.passes:
                for site in item.sites:
                    key = (item.plugin, site.rule)
                    counts.setdefault(key, Counter())[site.status] += 1
    return counts
