# SPDX-License-Identifier: Apache-2.0
"""Subcommands that only look: disasm and inspect."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Run

FIELDS = ["offset", "address", "size", "bytes", "mnemonic", "text", "defs", "uses", "symbol"]


def test_disasm_prints_one_object_a_line(postproc: Run, source: Path) -> None:
    result = postproc("disasm", "--json", source)
    assert result.returncode == 0, result.stderr
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert all(list(line) == FIELDS for line in lines)
    first = lines[0]
    assert first["mnemonic"] == "s_setreg_imm32_b32"
    assert first["text"].startswith("s_setreg_imm32_b32 hwreg(")
    assert (first["offset"], first["address"], first["size"]) == (0, 0x1B00, 8)
    assert first["bytes"] == "410680b901000000"
    assert first["symbol"] == "k_async"
    load = next(line for line in lines if line["mnemonic"] == "s_load_b32")
    assert (load["defs"], load["uses"]) == (["s2"], ["s0", "s1"])
    for line, following in itertools.pairwise(lines):
        assert line["offset"] + line["size"] == following["offset"]


def test_disasm_of_one_symbol(postproc: Run, source: Path) -> None:
    result = postproc("disasm", "--json", "--symbol", "k_tr", source)
    assert {json.loads(line)["symbol"] for line in result.stdout.splitlines()} == {"k_tr"}


@pytest.mark.needs_llvm
def test_disasm_for_people_is_what_llvm_objdump_prints(
    postproc: Run, source: Path, llvm: Callable[..., str]
) -> None:
    ours = postproc("disasm", source).stdout
    theirs = llvm("llvm-objdump", "-d", "--mattr=+real-true16", source)
    assert ours == theirs


def test_a_closed_pipe_is_no_error(source: Path, environment: dict[str, str]) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "postproc", "disasm", "--json", *[str(source)] * 40],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


def test_inspect_prints_one_document_an_input(postproc: Run, source: Path) -> None:
    result = postproc("inspect", "--json", source, source)
    assert result.returncode == 0, result.stderr
    documents = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(documents) == 2
    assert {k["name"] for k in documents[0]["code_objects"][0]["kernels"]} == {
        "k_async",
        "k_cluster",
        "k_tr",
    }
    assert "k_cluster" in postproc("inspect", source).stdout
