# SPDX-License-Identifier: Apache-2.0
"""The command in a process of its own, a real input, and a small plugin module to run on it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

CORPUS = Path(__file__).parents[1] / "corpus" / "gfx1250"

PLUGIN = '''
"""Delay hints become s_nop; `refuse` files a required refusal for each instead."""
import msgspec
from postproc import hookimpl
from postproc.codeobject import TextRange
from postproc.transaction import Edit, Proposal, SiteOutcome, Snippet

class Config(msgspec.Struct, frozen=True):
    refuse: bool = False
    grow: bool = False
    warn: bool = False
    distrust: bool = False

@hookimpl
def postproc_config_schema():
    return Config

@hookimpl
def postproc_prepare(context):
    edits, outcomes, config = [], [], context.config
    for section in context.code_object.executable_sections:
        decoded = context.decoded(section)
        for index in decoded.where(context.isa.match("s_delay_alu")):
            delay = decoded[index]
            site = context.site(section, delay, "delay")
            window = TextRange(section.index, delay.offset, delay.offset + delay.size)
            snippet = Snippet("s_nop 0\\ns_nop 0" if config.grow else "s_nop 0")
            if config.refuse:
                outcomes.append(SiteOutcome(site, "refused", "because I say so", required=True))
            else:
                edits.append(
                    Edit(site=site, window=window, snippet=snippet, required=not config.grow)
                )
    return Proposal(edits, outcomes, warnings=["nothing matches"] if config.warn else [])

@hookimpl
def postproc_verify(context):
    return ["I do not like it"] if context.config.distrust else []
'''

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A real gfx1250 code object with four `s_delay_alu`."""
    path = tmp_path / "k.co"
    path.write_bytes((CORPUS / "async1250_O3.co").read_bytes())
    return path


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Variables under which the plugin module `undelay` can be imported."""
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "undelay.py").write_text(PLUGIN)
    path = os.pathsep.join([str(modules), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}


@pytest.fixture
def postproc(environment: dict[str, str], tmp_path: Path) -> Run:
    """`postproc(ARGUMENT, ...)` with captured output."""

    def run(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "postproc", *map(str, arguments)],
            env={**environment, **variables},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


@pytest.fixture
def configured(tmp_path: Path) -> Callable[[str], Path]:
    """`configured("refuse = true")`: a file that runs `undelay` so."""

    def write(table: str) -> Path:
        path = tmp_path / "c.toml"
        path.write_text(f"[plugin.undelay]\n{table}\n")
        return path

    return write
