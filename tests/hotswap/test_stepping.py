# SPDX-License-Identifier: Apache-2.0
"""Which objects are rewritten at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from postproc.codeobject import CodeObject
from postproc.testing import assemble_object, kernel_source

if TYPE_CHECKING:
    from tests.hotswap.conftest import Run

pytestmark = pytest.mark.needs_llvm

BODY = "s_sethalt 1\nds_load_2addr_b32 v[2:3], v1 offset1:1\ns_endpgm"
EDITABLE = "s_sethalt 1\ns_endpgm"


@pytest.fixture
def marked(tmp_path: Path) -> Callable[..., CodeObject]:
    """`marked(body, "A0", "B0")`: a kernel for each revision, None for one without."""

    def build(body: str, *revisions: str | None) -> CodeObject:
        code, metadata = [], []
        for number, revision in enumerate(revisions):
            text = kernel_source(body, "gfx1250", f"k{number}")
            key = f"    .symbol: k{number}.kd\n"
            mark = "" if revision is None else f"    .gfx1250_revision: {revision}\n"
            head, _, tail = text.partition(".amdgpu_metadata\n")
            code.append(head if number == 0 else head.partition(".text\n")[2].join((".text\n", "")))
            metadata.append(tail.partition("amdhsa.kernels:\n")[2].partition("...")[0]
                            .replace(key, key + mark))  # fmt: skip
        header = "---\namdhsa.version: [1, 2]\namdhsa.target: amdgcn-amd-amdhsa--gfx1250\n"
        note = f".amdgpu_metadata\n{header}amdhsa.kernels:\n{''.join(metadata)}...\n"
        source = "".join(code) + note + ".end_amdgpu_metadata\n"
        return CodeObject.parse(assemble_object(source, "gfx1250", tmp_path), "marked.co")

    return build


Marked = Callable[..., CodeObject]
Rewritten = Callable[..., "Run"]


def unchanged(run: Run, code_object: CodeObject) -> bool:
    return run.produced is not None and bytes(run.produced.data) == bytes(code_object.data)


@pytest.mark.parametrize("revisions", [("A0",), ("A0", "A0")])
def test_an_object_for_a0_stays_as_it_is(
    revisions: tuple[str, ...], marked: Marked, rewritten: Rewritten
) -> None:
    code_object = marked(BODY, *revisions)
    run = rewritten(code_object)
    assert run.exit_status == 0
    assert unchanged(run, code_object)
    assert [(s.rule, s.status, s.reason) for s in run.sites] == [
        ("stepping", "not-applicable", "untouched: built for A0 already")
    ]


def test_a_revision_that_would_have_to_change_is_refused(
    marked: Marked, rewritten: Rewritten
) -> None:
    run = rewritten(marked(EDITABLE, "B0"))
    assert run.exit_status == 4
    assert run.reason("stepping") == (
        ".gfx1250_revision would have to become A0, and metadata cannot be edited yet"
    )


def test_one_kernel_for_b0_is_enough(marked: Marked, rewritten: Rewritten) -> None:
    run = rewritten(marked(EDITABLE, "A0", "B0"))
    assert (run.exit_status, len(run.of("stepping"))) == (4, 1)


def test_kernels_without_the_key_are_taken_for_the_source_stepping(
    marked: Marked, rewritten: Rewritten
) -> None:
    code_object = marked(EDITABLE, "A0", None)
    assert rewritten(code_object).of("sethalt") == [(0, "rewritten"), (0x100, "rewritten")]
    run = rewritten(code_object, {"source-stepping": "A0"})
    assert unchanged(run, code_object)


def test_an_unknown_revision_is_refused(marked: Marked, rewritten: Rewritten) -> None:
    run = rewritten(marked(EDITABLE, "C1"))
    assert run.exit_status == 4
    assert run.reason("stepping") == ".gfx1250_revision of kernel k0 is 'C1', not A0 or B0"


def test_nothing_is_done_for_b0(marked: Marked, rewritten: Rewritten) -> None:
    code_object = marked(BODY, None)
    run = rewritten(code_object, {"target-stepping": "B0"})
    assert unchanged(run, code_object)
    assert run.reason("stepping") == (
        "untouched: target-stepping is B0, which runs code for A0 and B0"
    )


@pytest.mark.parametrize("processor", ["gfx942", "gfx1100"])
def test_other_targets_stay_as_they_are(processor: str, corpus: Path, rewritten: Rewritten) -> None:
    for path in sorted((corpus / processor).iterdir()):
        code_object = CodeObject.parse(path.read_bytes(), path.name)
        run = rewritten(code_object)
        assert unchanged(run, code_object)
        assert run.reason("stepping") == f"untouched: {processor} has no steppings to change"


def test_the_strict_target_stays_as_it_is(corpus: Path, rewritten: Rewritten) -> None:
    for path in sorted((corpus / "gfx1250-strict").iterdir()):
        code_object = CodeObject.parse(path.read_bytes(), path.name)
        run = rewritten(code_object)
        assert unchanged(run, code_object)
        assert run.reason("stepping") == (
            "untouched: gfx1250-strict is the target of stepping A0 itself"
        )


def test_an_object_without_kernels_is_rewritten(rewritten: Rewritten, tmp_path: Path) -> None:
    source = '.amdgcn_target "amdgcn-amd-amdhsa--gfx1250"\n.text\n.globl f\n.type f,@function\n'
    source += f"f:\n{EDITABLE}\n"
    data = assemble_object(source, "gfx1250", tmp_path)
    assert rewritten(CodeObject.parse(data, "f.co")).of("sethalt") == [(0, "rewritten")]
