# SPDX-License-Identifier: Apache-2.0
"""Everything a plugin may do besides rewriting: a subcommand, a container, a part of the report."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from postproc import hookimpl
from postproc.codeobject import CodeObject
from postproc.containers import Container, ContainerNode
from postproc.report.document import FileReport

MAGIC = b"WRAPPED!"


def greet(arguments: argparse.Namespace) -> int:
    print("HELLO" if arguments.loudly else "hello")
    return 0


@hookimpl
def postproc_cli(subcommands: Any) -> None:
    parser = subcommands.add_parser("greet", help="say hello")
    parser.add_argument("--loudly", action="store_true")
    parser.set_defaults(run=greet)


@hookimpl
def postproc_report(report: FileReport) -> dict[str, int]:
    return {"sites": sum(len(p.sites) for o in report.code_objects for p in o.passes)}


@dataclass(frozen=True)
class Wrapped:
    """A code object behind eight bytes."""

    name: str
    code_objects: tuple[CodeObject, ...]

    @property
    def tree(self) -> ContainerNode:
        [code_object] = self.code_objects
        return ContainerNode("wrapped", self.name, len(MAGIC), len(code_object.data), 0)

    def rebuild(self, code_objects: Sequence[bytes]) -> bytes:
        [produced] = code_objects
        return MAGIC + produced


@hookimpl
def postproc_open_container(data: memoryview, name: str) -> Container | None:
    if data[: len(MAGIC)] != MAGIC:
        return None
    return Wrapped(name, (CodeObject.parse(data[len(MAGIC) :], name),))
