# SPDX-License-Identifier: Apache-2.0
"""For the tests of plugins: build a small code object, run passes on it, look at the sites.

In a plugin's `conftest.py`::

    pytest_plugins = ["postproc.testing"]

and in a test::

    def test_sleeps_go_away(assembled, run_plugin):
        run = run_plugin(my_plugin, assembled("gfx1250", "s_sleep 1\ns_endpgm"))
        assert site_statuses(run) == [(0x0, "rewritten")]

`assembled` needs LLVM's `llvm-mc` and `ld.lld` (22); a test that uses it is skipped, with that
reason, where they are missing.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from postproc.codeobject import TextPosition, TextRange
from postproc.transaction import Claim, ClaimMode, Edit, Piece, Resource, Site, Snippet

if TYPE_CHECKING:
    from postproc.codeobject import CodeObject
    from postproc.pipeline.transform import Transformation

__all__ = [
    "assemble_object",
    "assembled",
    "find_tool",
    "kernel_source",
    "make_claim",
    "make_edit",
    "make_site",
    "run_plugin",
    "site_statuses",
    "span",
]

LLVM_VERSION = 22

SECTION = 1
"""The section index of `span`, `make_site` and `make_edit`, where none is given."""


def find_tool(name: str) -> str | None:
    """The path of an LLVM tool (`llvm-mc`), preferring the versioned name; None if missing."""
    return shutil.which(f"{name}-{LLVM_VERSION}") or shutil.which(name)


def kernel_source(body: str, processor: str, name: str = "kernel") -> str:
    """Assembly of a code object with one kernel, its descriptor and metadata."""
    accumulators = processor in ("gfx90a", "gfx942", "gfx950", "gfx9-4-generic")
    return f"""\
.amdgcn_target "amdgcn-amd-amdhsa--{processor}"
.amdhsa_code_object_version 5
.text
.globl {name}
.p2align 8
.type {name},@function
{name}:
{body}
.L{name}_end:
.size {name}, .L{name}_end-{name}
.rodata
.p2align 6
.amdhsa_kernel {name}
  .amdhsa_next_free_vgpr 32
  .amdhsa_next_free_sgpr 32
{"  .amdhsa_accum_offset 32" if accumulators else ""}
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--{processor}
amdhsa.kernels:
  - .name: {name}
    .symbol: {name}.kd
    .sgpr_count: 32
    .vgpr_count: 32
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 32
    .max_flat_workgroup_size: 1024
...
.end_amdgpu_metadata
"""


def assemble_object(source: str, processor: str, folder: Path) -> bytes:
    """Assemble and link with LLVM.  Raises FileNotFoundError without it, and
    subprocess.CalledProcessError for bad source."""
    mc, lld = find_tool("llvm-mc"), find_tool("ld.lld")
    if mc is None or lld is None:
        raise FileNotFoundError("llvm-mc or ld.lld")
    relocatable, linked = folder / "source.o", folder / "source.co"
    options = ["-triple=amdgcn-amd-amdhsa", f"-mcpu={processor}", "-filetype=obj"]
    subprocess.run(
        [mc, *options, "-o", str(relocatable)], input=source.encode(), check=True, timeout=60
    )
    subprocess.run([lld, "-shared", "-o", str(linked), str(relocatable)], check=True, timeout=60)
    return linked.read_bytes()


@pytest.fixture
def assembled(tmp_path: Path) -> Callable[..., CodeObject]:
    """`assembled(processor, body)`: a code object with one kernel `kernel` of this body."""
    if find_tool("llvm-mc") is None or find_tool("ld.lld") is None:
        pytest.skip("needs llvm-mc and ld.lld of LLVM 22")

    def build(processor: str, body: str) -> CodeObject:
        from postproc.codeobject import CodeObject

        data = assemble_object(kernel_source(body, processor), processor, tmp_path)
        return CodeObject.parse(data, "assembled.co")

    return build


@pytest.fixture
def run_plugin() -> Callable[..., Transformation]:
    """`run_plugin(plugin, code_object, config={})`: the transformation, up to and with verify.

    `plugin` is a module or an object with hook implementations, or a dict of several by name; a
    single one is called "plugin".  `config` is the `[plugin.plugin]` table, or a dict of tables.
    Errors come through as they are; `transformation.produced` is the output.
    """

    def run(
        plugin: object, code_object: CodeObject, config: Mapping[str, Any] | None = None
    ) -> Transformation:
        from postproc.config import Config, CoreConfig
        from postproc.pipeline.session import RunSettings, Session
        from postproc.pipeline.transform import Transformation, transform
        from postproc.plugins import Plugins, Selection

        named = plugin if isinstance(plugin, dict) else {"plugin": plugin}
        tables = config or {}
        configuration = Config(
            CoreConfig(), tables if isinstance(plugin, dict) else {"plugin": tables}
        )
        plugins = Plugins(Selection(autoload=False))
        for name, item in named.items():
            plugins.register(name, item)
        settings = RunSettings(configuration, plugins.selection)
        transformation = Transformation(code_object)
        transform(transformation, Session(settings, plugins, plugins.tables(configuration)))
        return transformation

    return run


def site_statuses(run: Transformation) -> list[tuple[int, str]]:
    """(offset, status) of every site of every pass, in order of place."""
    return sorted(
        (outcome.site.position.offset, outcome.status)
        for outcomes in run.passes.values()
        for outcome in outcomes
    )


def span(start: int, end: int, section: int = SECTION) -> TextRange:
    """A text range."""
    return TextRange(section, start, end)


def make_site(owner: str, offset: int, rule: str = "rule") -> Site:
    """A site of `owner` in a kernel called `kernel`."""
    return Site(owner, rule, TextPosition(SECTION, offset), "v_thing", "kernel")


def make_edit(
    owner: str,
    start: int,
    end: int,
    *pieces: Piece,
    rule: str = "rule",
    required: bool = False,
    composes: str | None = None,
    claims: tuple[Claim, ...] = (),
) -> Edit:
    """An edit of `owner` whose site begins its window."""
    return Edit(
        site=make_site(owner, start, rule),
        window=span(start, end),
        snippet=Snippet(*pieces),
        claims=claims,
        required=required,
        composes=composes,
    )


def make_claim(
    owner: str, mode: ClaimMode, resource: Resource, *, required: bool = True, reason: str = "why"
) -> Claim:
    """A claim, required unless said otherwise."""
    return Claim(owner, resource, mode, required, reason)
