# SPDX-License-Identifier: Apache-2.0
"""`postproc verify`: check an output against its input, with the map of the run that made it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from postproc.cli import options
from postproc.errors import UsageError, VerificationError
from postproc.paths import readable

if TYPE_CHECKING:
    from postproc.report.document import MapDocument

SUMMARY = "Check an output against its input and the map that `run --map` wrote."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `verify`."""
    parser.add_argument("original", type=options.path, metavar="INPUT")
    parser.add_argument("produced", type=options.path, metavar="OUTPUT")
    parser.add_argument(
        "--map", type=options.path, metavar="FILE", help="without it the two must be identical"
    )
    options.add_log_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Exit status 0 if all is as the map says, 5 if not."""
    import hashlib

    from postproc.containers import map_file

    options.log_settings(arguments)
    before, after = map_file(arguments.original), map_file(arguments.produced)
    if arguments.map is None:
        if before != after:
            hint = "give the map of the run that made it: --map FILE"
            raise VerificationError(
                "the files differ", file=readable(arguments.produced), hint=hint
            )
        print(f"{arguments.produced}: identical to {arguments.original}")
        return 0
    digests = (hashlib.sha256(before).hexdigest(), hashlib.sha256(after).hexdigest())
    windows = _verify(arguments, _entry(arguments.map, digests))
    print(f"{arguments.produced}: verified, {windows} rewritten windows")
    return 0


def _entry(path: Path, digests: tuple[str, str]) -> MapDocument.File:
    import msgspec

    from postproc.report.document import MapDocument

    try:
        document = msgspec.json.decode(path.read_bytes(), type=MapDocument)
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise UsageError("the map cannot be read", file=readable(path), why=str(error)) from error
    for entry in document.files:
        if entry.input_sha256 == digests[0]:
            if entry.output_sha256 != digests[1]:
                raise VerificationError(
                    "this is not the output that the map was written for", file=readable(path)
                )
            return entry
    raise UsageError("the map does not know this input", file=readable(path))


def _verify(arguments: argparse.Namespace, entry: MapDocument.File) -> int:
    from postproc.cli.reading import code_objects, views
    from postproc.verify import verify

    originals = list(views(arguments.original))
    results = code_objects(arguments.produced)
    if not len(originals) == len(results) == len(entry.code_objects):
        raise VerificationError(
            "the number of code objects differs", file=readable(arguments.produced)
        )
    for view, produced, mapped in zip(originals, results, entry.code_objects, strict=True):
        verify(view.code_object, bytes(produced.data), mapped.record, view.isa)
    return sum(len(mapped.record.windows) for mapped in entry.code_objects)
