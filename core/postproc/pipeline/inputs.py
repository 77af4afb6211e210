# SPDX-License-Identifier: Apache-2.0
"""From the paths of a command line to jobs: which files, and where each output goes."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from postproc.errors import MalformedInput, UsageError
from postproc.pipeline.files import Job
from postproc.write import TEMPORARY, identity

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
    MalformedInput for a path that is missing.
    """
    found: dict[str, Input] = {}
    for path in paths:
        if path.is_dir():
            for file in _walk(path, leave_out):
                found.setdefault(os.path.realpath(file), Input(file, file.relative_to(path)))
        elif path.exists():
            found.setdefault(os.path.realpath(path), Input(path, Path(path.name)))
        else:
            raise MalformedInput(str(path), None, "there is no such file")
    return list(found.values())


def plan_jobs(inputs: Sequence[Input], destination: Destination) -> list[Job]:
    """One job an input.  Raises UsageError if outputs would collide or hit an input."""
    make_folder = destination.folder is not None
    jobs = [Job(item.path, _output(item, destination), make_folder) for item in inputs]
    if destination.file is not None and len(jobs) > 1:
        raise UsageError(
            f"{len(jobs)} inputs cannot go to one output",
            file=str(destination.file),
            hint="use --output-dir DIR",
        )
    read = {identity(item.path) for item in inputs} - {None}
    taken: dict[Path, Path] = {}
    for job in jobs:
        if job.output is None:
            continue
        rival = taken.setdefault(job.output, job.input)
        if rival != job.input:
            raise UsageError(
                f"{rival} and {job.input} would both be written to {job.output}",
                hint="name their common folder as the input: paths below it are kept",
            )
        if not destination.in_place and identity(job.output) in read:
            raise UsageError(
                "the output is an input", file=str(job.output), hint="use --in-place to allow it"
            )
    return jobs


def _output(item: Input, destination: Destination) -> Path | None:
    if destination.in_place:
        return item.path
    if destination.folder is not None:
        return destination.folder / item.relative
    return destination.file


def _walk(folder: Path, leave_out: Path | None) -> Iterator[Path]:
    unwanted = None if leave_out is None else identity(leave_out)
    for root, folders, files in os.walk(folder):
        here = Path(root)
        if unwanted is not None:
            folders[:] = [name for name in folders if identity(here / name) != unwanted]
        folders.sort()
        for name in sorted(files):
            if not name.endswith(TEMPORARY) and _is_code_object(here / name):
                yield here / name


def _is_code_object(path: Path) -> bool:
    """Whether a file begins as an AMDGPU ELF; an unreadable one is left to its own error."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            head = file.read(_MACHINE_OFFSET + _MACHINE.size)
    except OSError:
        return True
    if len(head) < _MACHINE_OFFSET + _MACHINE.size or not head.startswith(_ELF_MAGIC):
        return False
    (machine,) = _MACHINE.unpack_from(head, _MACHINE_OFFSET)
    return bool(machine == _EM_AMDGPU)
