# SPDX-License-Identifier: Apache-2.0
"""One input file: read, transform its code objects, write, report."""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from msgspec.structs import replace

from postproc.containers import map_file, open_container
from postproc.errors import MalformedInput, PluginError, PostprocError, UsageError
from postproc.paths import readable
from postproc.pipeline.session import Session
from postproc.pipeline.transform import Transformation, transform
from postproc.plugins import guarded
from postproc.report.build import code_object_report, file_state
from postproc.report.document import ErrorReport, FileReport, FileState, MapDocument, MappedObject
from postproc.write import make_folder, write_atomically

if TYPE_CHECKING:
    from collections.abc import Sequence

    from postproc.codeobject import CodeObject
    from postproc.containers import Container, ContainerNode

__all__ = ["FileResult", "Job", "lost_file", "open_input", "process_file"]

INTERNAL_ERROR = 1


@final
@dataclass(frozen=True, slots=True)
class Job:
    """One input and where its output goes (None: nowhere); `make_folder`: create its folder."""

    input: Path
    output: Path | None
    make_folder: bool = False


@final
@dataclass(frozen=True)
class FileResult:
    """What came of one job; `trace` is the traceback of a failure, for those who ask for it."""

    report: FileReport
    map: MapDocument.File | None
    trace: str = ""


@dataclass
class _Progress:
    """How far a file got; what the report is made from even when it failed."""

    input: FileState | None = None
    output: FileState | None = None
    runs: tuple[Transformation, ...] = ()
    open_seconds: float = 0.0
    write_seconds: float = 0.0


def open_input(data: memoryview, name: str, session: Session) -> Container:
    """The container in `data`: a format of the core, else of the first plugin that knows it.

    Raises MalformedInput.
    """
    try:
        return open_container(data, name)
    except MalformedInput:
        for plugin in session.plugins.implementing("postproc_open_container"):
            found: Container | None = session.plugins.call_one(
                plugin, "postproc_open_container", data=data, name=name
            )
            if found is not None:
                return _Foreign(plugin, found, found.name, found.tree, found.code_objects)
        raise


@final
@dataclass(frozen=True)
class _Foreign:
    """A plugin's container: what goes wrong when it is rebuilt is the plugin's."""

    plugin: str
    container: Container
    name: str
    tree: ContainerNode
    code_objects: tuple[CodeObject, ...]

    def rebuild(self, code_objects: Sequence[bytes]) -> bytes:
        """The plugin's bytes.  Raises PluginError if it raises or returns anything else."""
        hook = "rebuild of its container"
        data: object = guarded(self.plugin, hook, self.container.rebuild, code_objects)
        if not isinstance(data, bytes):
            what = f"returned {type(data).__name__}, not bytes"
            raise PluginError(what, plugin=self.plugin, hook=hook, file=self.name)
        return data


def process_file(job: Job, session: Session) -> FileResult:
    """Take one file through the whole pipeline.  Errors end in the result, not in an exception."""
    progress = _Progress()
    error: Exception | None = None
    try:
        _process(job, session, progress)
    except Exception as caught:  # one file's failure must not end the batch; it is reported
        error = caught
    return _result(job, session, progress, error)


def lost_file(job: Job, error: Exception) -> FileResult:
    """The result of a file whose worker process died."""
    message = f"{readable(job.input)}: the process that worked on it, or on another file, died"
    failure = ErrorReport(kind=type(error).__name__, message=f"{message}\n  because: {error}")
    report = FileReport(
        input=None,
        output=None,
        changed=False,
        exit_status=INTERNAL_ERROR,
        error=failure,
        warnings=(),
        code_objects=(),
        timings={},
        plugins={},
    )
    return FileResult(report, None)


def _process(job: Job, session: Session, progress: _Progress) -> None:
    started = time.perf_counter()
    data, name = map_file(job.input), readable(job.input)
    progress.input = file_state(name, data)
    container = open_input(data, name, session)
    progress.runs = tuple(Transformation(item) for item in container.code_objects)
    progress.open_seconds = time.perf_counter() - started
    for run in progress.runs:
        transform(run, session)
    _refuse_warnings(session, progress)
    produced = [run.produced for run in progress.runs]
    changed = any(run.changed for run in progress.runs)
    result = (
        container.rebuild([bytes(p.data) for p in produced if p is not None]) if changed else data
    )
    if job.output is not None and not session.settings.dry_run:
        started = time.perf_counter()
        if job.make_folder:
            make_folder(job.output.parent)
        write_atomically(job.output, result, mode_from=job.input)
        progress.write_seconds = time.perf_counter() - started
        progress.output = file_state(readable(job.output), result)


def _refuse_warnings(session: Session, progress: _Progress) -> None:
    warnings = [w for run in progress.runs for w in run.warnings]
    if warnings and session.settings.config.core.strict:
        raise UsageError(
            warnings[0],
            file=progress.runs[0].code_object.name,
            hint="strictness was asked for: without it this is a warning",
        )


def _result(job: Job, session: Session, progress: _Progress, error: Exception | None) -> FileResult:
    runs = progress.runs
    if error is not None:
        for run in runs:
            run.withdraw()
    report = FileReport(
        input=progress.input,
        output=progress.output,
        changed=any(run.changed for run in runs),
        exit_status=_exit_status(error),
        error=None if error is None else _error_report(job, error),
        warnings=tuple(w for run in runs for w in run.warnings),
        code_objects=tuple(map(code_object_report, runs)),
        timings=_timings(progress),
        plugins={},
    )
    additions = {}
    for plugin in session.plugins.implementing("postproc_report"):
        try:
            found = session.plugins.call_one(
                plugin, "postproc_report", report=report, config=session.tables[plugin]
            )
        except PostprocError as failure:  # the output stands by now: it is said, no more
            found = {"error": str(failure)}
            report = replace(report, warnings=(*report.warnings, str(failure)))
        if found is not None:
            additions[plugin] = dict(found)
    trace = "" if error is None else "".join(traceback.format_exception(error))
    return FileResult(replace(report, plugins=additions), _map(progress), trace)


def _error_report(job: Job, error: Exception) -> ErrorReport:
    kind = type(error).__name__
    if isinstance(error, PostprocError):
        return ErrorReport(kind=kind, message=str(error))
    message = f"{readable(job.input)}: internal error: {kind}: {error}"
    return ErrorReport(kind=kind, message=f"{message}\n  help: -v shows the traceback")


def _exit_status(error: Exception | None) -> int:
    if error is None:
        return 0
    return error.exit_code if isinstance(error, PostprocError) else INTERNAL_ERROR


def _timings(progress: _Progress) -> dict[str, float]:
    timings = {"open": progress.open_seconds}
    for run in progress.runs:
        for phase, seconds in run.timings.items():
            timings[phase] = timings.get(phase, 0.0) + seconds
    timings["write"] = progress.write_seconds
    return {phase: round(seconds, 6) for phase, seconds in timings.items()}


def _map(progress: _Progress) -> MapDocument.File | None:
    if progress.input is None or progress.output is None:
        return None
    return MapDocument.File(
        input=progress.input.path,
        input_sha256=progress.input.sha256,
        output_sha256=progress.output.sha256,
        code_objects=tuple(
            MappedObject(name=run.code_object.name, record=run.record) for run in progress.runs
        ),
    )
