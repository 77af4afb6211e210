# SPDX-License-Identifier: Apache-2.0
"""From the paths of a command line to jobs: which files, and where each output goes."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from postproc.errors import MalformedInput, UsageError
from postproc.paths import identity, readable
from postproc.pipeline.files import Job
from postproc.write import TEMPORARY

__all__ = ["Destination", "find_inputs", "plan_jobs"]

_ELF_MAGIC = b"\x7fELF"
_EM_AMDGPU = 224
_MACHINE = struct.Struct("<H")
_MACHINE_OFFSET = 18
"""Bytes; `e_machine` lies there in both ELF classes."""


@final
@dataclass(frozen=True, slots=True)
class Destination:
    """Where outputs go: to one file, into a folder, over the inputs, or (none of them) nowhere."""

    file: Path | None = None
    folder: Path | None = None
    in_place: bool = False


@final
@dataclass(frozen=True, slots=True)
class Input:
    """A file to read; `relative` is its path below the folder that was named, or its name."""

    path: Path
    relative: Path


def find_inputs(paths: Sequence[Path], leave_out: Path | None = None) -> list[Input]:
    """The files that `paths` name, in this order; a folder stands for the code objects below it.

    Files named directly are taken whatever they hold.  In folders, `leave_out` (the output folder),
    temporary files of a killed run, and everything that is no code object are passed over.  Raises
    MalformedInput for a path that is missing or cannot be looked at.
    """
    found: dict[str, Input] = {}

    def add(item: Input) -> None:
        """One input for each name; a link is a name of its own."""
        folder, name = os.path.split(item.path)
        found.setdefault(os.path.join(os.path.realpath(folder), name), item)

    for path in paths:
        if stat.S_ISDIR(_mode(path)):
            for file in _walk(path, leave_out):
                add(Input(file, file.relative_to(path)))
        else:
            add(Input(path, Path(path.name)))
    return list(found.values())


def plan_jobs(
    inputs: Sequence[Input],
    destination: Destination,
    documents: Sequence[Path] = (),
    also_read: Sequence[Path] = (),
) -> list[Job]:
    """One job an input; of several names of one file only the first, unless each gets an output.

    `documents` are files that the run writes besides the outputs, `also_read` files that it reads
    besides the inputs.  Raises UsageError if two of what is written are one file, or if anything
    that is written is also read.
    """
    make_folder = destination.folder is not None
    if not make_folder:
        files = {os.path.realpath(item.path): item for item in reversed(inputs)}
        inputs = [item for item in inputs if files[os.path.realpath(item.path)] is item]
    jobs = [Job(item.path, _output(item, destination), make_folder) for item in inputs]
    if destination.file is not None and len(jobs) > 1:
        raise UsageError(
            f"{len(jobs)} inputs cannot go to one output",
            file=readable(destination.file),
            hint="use --output-dir DIR",
        )
    read = _Files([*(item.path for item in inputs), *also_read])
    taken: dict[str, Path] = {}
    for job in jobs:
        if job.output is None:
            continue
        rival = taken.setdefault(os.path.realpath(job.output), job.input)
        if rival != job.input:
            raise UsageError(
                f"{readable(rival)} and {readable(job.input)} would both be written to "
                f"{readable(job.output)}",
                hint="name their common folder as the input: paths below it are kept",
            )
        if not destination.in_place and job.output in read:
            raise UsageError(
                "the output is an input",
                file=readable(job.output),
                hint="use --in-place to allow it",
            )
    _check_documents(documents, read, _Files([job.output for job in jobs if job.output]))
    return jobs


@final
class _Files:
    """A set of files, which a path is in under any of their names."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._names = {os.path.realpath(path) for path in paths}
        self._identities = {identity(path) for path in paths} - {None}

    def __contains__(self, path: Path) -> bool:
        return os.path.realpath(path) in self._names or identity(path) in self._identities


def _check_documents(documents: Sequence[Path], read: _Files, written: _Files) -> None:
    """Raise UsageError for a document that would replace another file of the run, or that plainly
    cannot be written: the outputs would stand without it."""
    for rank, path in enumerate(documents):
        if path in read:
            raise UsageError("this file is read, it cannot be written too", file=readable(path))
        if path in written or path in _Files(documents[:rank]):
            raise UsageError("two results would be written to this file", file=readable(path))
        if not os.path.isdir(os.path.dirname(os.path.realpath(path))):
            raise UsageError("there is no such folder", file=readable(path.parent))


def _output(item: Input, destination: Destination) -> Path | None:
    if destination.in_place:
        return item.path
    if destination.folder is not None:
        return destination.folder / item.relative
    return destination.file


def _walk(folder: Path, leave_out: Path | None) -> Iterator[Path]:
    unwanted = None if leave_out is None else identity(leave_out)
    for root, folders, files in os.walk(folder, onerror=_refuse_to_skip):
        here = Path(root)
        if unwanted is not None:
            folders[:] = [name for name in folders if identity(here / name) != unwanted]
        folders.sort()
        for name in sorted(files):
            if not name.endswith(TEMPORARY) and _is_code_object(here / name):
                yield here / name


def _refuse_to_skip(error: OSError) -> None:
    """What cannot be listed may hold code objects that were meant to be rewritten."""
    raise _unreadable(Path(error.filename), error) from error


def _mode(path: Path) -> int:
    """What a path is, through links.  Raises MalformedInput."""
    try:
        return path.stat().st_mode
    except FileNotFoundError as error:
        raise MalformedInput(readable(path), None, "there is no such file") from error
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> MalformedInput:
    return MalformedInput(readable(path), None, f"it cannot be read: {error.strerror or error}")


def _is_code_object(path: Path) -> bool:
    """Whether a file begins as an AMDGPU ELF; an unreadable one is left to its own error."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return False
        with path.open("rb") as file:
            head = file.read(_MACHINE_OFFSET + _MACHINE.size)
    except FileNotFoundError:  # a link to nothing, or a file that has gone
        return False
    except OSError:
        return True
    if len(head) < _MACHINE_OFFSET + _MACHINE.size or not head.startswith(_ELF_MAGIC):
        return False
    (machine,) = _MACHINE.unpack_from(head, _MACHINE_OFFSET)
    return bool(machine == _EM_AMDGPU)
