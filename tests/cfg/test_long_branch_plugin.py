# SPDX-License-Identifier: Apache-2.0
"""The plugin `long-branch`: facts in a run, bytes untouched, and `postproc cfg`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import postproc_long_branch.plugin
from postproc.cli import main
from postproc.cli.reading import views
from postproc.codeobject import CodeObject, TextPosition
from postproc.passes import ControlFlowFact, PassContext
from postproc_cfg import recovered

BODY = """
s_getpc_b64 s[4:5]
s_add_i32 s6, goal, 4
s_add_u32 s4, s4, s6
s_addc_u32 s5, s5, 0
s_setpc_b64 s[4:5]
goal: s_setpc_b64 s[8:9]
"""
JUMP, GOAL = 24 - 4, 24


def facts_of(code_object: CodeObject) -> list[ControlFlowFact]:
    from postproc.pipeline.transform import view_of

    context = PassContext(view_of(code_object), "long-branch", {})
    return list(postproc_long_branch.plugin.postproc_recover(context))


def test_a_fact_for_each_transfer_that_is_understood(
    assembled: Callable[..., CodeObject],
) -> None:
    code_object = assembled("gfx942", BODY)
    section = code_object.executable_sections[0].index
    [fact] = facts_of(code_object)
    assert fact.position == TextPosition(section, JUMP)
    assert fact.targets == (TextPosition(section, GOAL),)
    assert (fact.kind, fact.idiom) == ("branch", "rocisa positive")
    assert fact.evidence


def test_recovery_settles_and_changes_no_byte(
    assembled: Callable[..., CodeObject], run_plugin: Callable[..., Any]
) -> None:
    code_object = assembled("gfx942", BODY)
    run = run_plugin(postproc_long_branch.plugin, code_object)
    produced = run.produced or code_object
    assert bytes(produced.data) == bytes(code_object.data)


def test_a_fact_of_another_plugin_leads_on(assembled: Callable[..., CodeObject]) -> None:
    from postproc.pipeline.transform import view_of
    from postproc_cfg import control_flow

    code_object = assembled("gfx942", BODY + "s_nop 0\nlast: s_endpgm")
    view = view_of(code_object)
    section = code_object.executable_sections[0].index
    goal, last = TextPosition(section, GOAL), TextPosition(section, GOAL + 8)
    assert [t.reason for t in view.analysis(recovered).transfers][1]
    view.add_facts((ControlFlowFact(goal, "branch", (last,), "somebody's"),))
    assert not view.analysis(recovered).refused
    graph = view.analysis(control_flow)
    block = graph.block(int(graph.successors(graph.block_at(goal))[0]))
    assert block.range.first == last


@pytest.fixture
def document(
    assembled: Callable[..., CodeObject], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> dict[str, Any]:
    path = tmp_path / "kernel.co"
    path.write_bytes(assembled("gfx942", BODY).data)
    assert main(["cfg", "--json", str(path)]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_json_has_every_computed_transfer(document: dict[str, Any]) -> None:
    first, second = document["computed"]
    assert first["mnemonic"] == "s_setpc_b64"
    assert first["targets"] == [second["address"]]
    assert (first["kind"], first["idiom"], first["reason"]) == ("branch", "rocisa positive", "")
    assert (second["targets"], second["idiom"]) == ([], "")
    assert "s[8:9]" in second["reason"]
    assert document["complete"] is False


def test_json_has_functions_blocks_and_edges(document: dict[str, Any]) -> None:
    [function] = document["functions"]
    assert (function["name"], function["kind"]) == ("kernel", "kernel")
    assert document["edges"] == [{"source": 0, "target": 1, "kind": "computed"}]
    assert [block["instructions"] for block in document["blocks"][:2]] == [5, 1]
    assert document["loops"] == []


def test_the_tree_names_what_is_refused(
    assembled: Callable[..., CodeObject], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kernel.co"
    path.write_bytes(assembled("gfx942", BODY).data)
    assert main(["cfg", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "(rocisa positive)" in printed
    assert "refused, nothing is known of s[8:9]" in printed


def test_what_is_known_of_the_corpus(corpus_objects: tuple[Path, ...]) -> None:
    """Calls of compiled code resolve but for those by pointers from memory that may change."""
    found: Counter[tuple[str, bool]] = Counter()
    for path in corpus_objects:
        for view in views(path):
            for transfer in view.analysis(recovered).transfers:
                found[transfer.kind, not transfer.reason] += 1
    assert found["call", True] >= 10 * found["call", False]
    assert found["return", True] >= 10 * found["return", False]
