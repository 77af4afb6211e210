# SPDX-License-Identifier: Apache-2.0
"""The report, `postproc.report/1`: its structures are its schema.

docs/report.md explains it to readers; `schema()` is the JSON schema that stands beside it.  Within
version 1 fields are only ever added.  Offsets and sizes are bytes, times are seconds.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from postproc.verify.record import Record

__all__ = [
    "CodeObjectReport",
    "DecisionReport",
    "ErrorReport",
    "FileReport",
    "FileState",
    "KernelReport",
    "MapDocument",
    "MappedObject",
    "PassReport",
    "Report",
    "SiteReport",
    "Versions",
    "schema",
]

REPORT_SCHEMA = "postproc.report/1"
MAP_SCHEMA = "postproc.map/1"


def _about(text: str) -> msgspec.Meta:
    return msgspec.Meta(description=text)


class SiteReport(msgspec.Struct, frozen=True, kw_only=True):
    """One site that a rule matched."""

    offset: Annotated[int, _about("bytes from the start of the section, in the input")]
    address: Annotated[int, _about("virtual address in the input")]
    section: Annotated[str, _about("name of the section")]
    symbol: Annotated[str, _about("function or kernel around the site, or empty")]
    mnemonic: str
    rule: str
    required: Annotated[bool, _about("whether a refusal fails the whole transaction")]
    status: Literal["rewritten", "preserved", "refused", "not-applicable"]
    reason: str
    evidence: tuple[str, ...] = ()
    placement: Annotated[str | None, _about('"in-place", or null if nothing was placed')] = None
    new_offset: Annotated[int | None, _about("where the site's code is in the output")] = None
    added_bytes: int = 0
    added_dynamic_instructions: Annotated[int, _about("per execution, straight through")] = 0


class PassReport(msgspec.Struct, frozen=True, kw_only=True):
    """One pass of one plugin, with its sites in order of place."""

    plugin: str
    name: Annotated[str, _about("name of the pass")]
    sites: tuple[SiteReport, ...]


class DecisionReport(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that the arbiter decided between passes."""

    kind: Literal["merged", "composed", "ordered", "waived", "refused"]
    owners: tuple[str, ...]
    offsets: Annotated[tuple[int, ...], _about("of the sites concerned")]
    reason: str


class KernelReport(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel's resources; the keys are the metadata's, without the leading dot."""

    name: str
    before: dict[str, int]
    after: Annotated[dict[str, int] | None, _about("null if there is no output")]


class CodeObjectReport(msgspec.Struct, frozen=True, kw_only=True):
    """One code object of a file."""

    name: Annotated[str, _about("file, and the place in its container if there is one")]
    target: str
    changed: bool
    bytes_before: int
    bytes_after: int | None
    kernels: tuple[KernelReport, ...]
    passes: tuple[PassReport, ...]
    decisions: tuple[DecisionReport, ...]


class FileState(msgspec.Struct, frozen=True, kw_only=True):
    """A file's identity."""

    path: str
    sha256: str
    bytes: int


class ErrorReport(msgspec.Struct, frozen=True, kw_only=True):
    """Why a file failed."""

    kind: Annotated[str, _about("class of the error, such as RefusedError")]
    message: str


class FileReport(msgspec.Struct, frozen=True, kw_only=True):
    """One input file."""

    input: FileState | None
    output: Annotated[FileState | None, _about("null: nothing was written")]
    changed: bool
    exit_status: Annotated[int, _about("0, 1, 2, 3, 4 or 5, as the command's")]
    error: ErrorReport | None
    warnings: tuple[str, ...]
    code_objects: tuple[CodeObjectReport, ...]
    timings: Annotated[dict[str, float], _about("seconds by phase")]
    plugins: Annotated[dict[str, Any], _about("what plugins added, by name")]


class Versions(msgspec.Struct, frozen=True, kw_only=True):
    """What made the report."""

    postproc: str
    plugin_api: str
    python: str
    plugins: dict[str, str]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The whole report."""

    schema: Literal["postproc.report/1"] = "postproc.report/1"
    versions: Versions
    dry_run: bool
    exit_status: int
    files: tuple[FileReport, ...]


class MappedObject(msgspec.Struct, frozen=True, kw_only=True):
    """The record of one code object, for `--map` and `postproc verify`."""

    name: str
    record: Record


class MapDocument(msgspec.Struct, frozen=True, kw_only=True):
    """From old to new addresses: whatever no window mentions stayed where it was."""

    class File(msgspec.Struct, frozen=True, kw_only=True):
        """One input file."""

        input: str
        input_sha256: str
        output_sha256: str
        code_objects: tuple[MappedObject, ...]

    schema: Literal["postproc.map/1"] = "postproc.map/1"
    postproc: str
    files: tuple[File, ...]


def schema() -> dict[str, Any]:
    """JSON schema (2020-12) of the report."""
    document = msgspec.json.schema(Report)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": REPORT_SCHEMA,
        **document,
    }


if __name__ == "__main__":
    print(msgspec.json.format(msgspec.json.encode(schema()), indent=1).decode())
