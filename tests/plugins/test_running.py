# SPDX-License-Identifier: Apache-2.0
"""Plugins of a stranger at work: they rewrite, claim, conflict, fail, and are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.plugins.conftest import Run

INPUT = Path(__file__).parents[1] / "corpus" / "gfx1250" / "async1250_O3.co"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "k.co"
    path.write_bytes(INPUT.read_bytes())
    return path


def configured(folder: Path, text: str) -> Path:
    path = folder / "c.toml"
    path.write_text(text)
    return path


def sites(report: Path, plugin: str) -> list[dict[str, Any]]:
    document = json.loads(report.read_text())
    [file] = document["files"]
    return [
        site
        for code_object in file["code_objects"]
        for item in code_object["passes"]
        if item["plugin"] == plugin
        for site in item["sites"]
    ]


def test_the_sample_rewrites_and_reports_every_site(
    postproc: Run, source: Path, tmp_path: Path
) -> None:
    out, report = tmp_path / "out.co", tmp_path / "r.json"
    result = postproc(source, "-p", "sample", "-o", out, "--report", report)
    assert result.returncode == 0, result.stderr
    found = sites(report, "sample")
    assert found
    assert {site["status"] for site in found} == {"rewritten"}
    assert {site["mnemonic"] for site in found} == {"s_delay_alu"}
    assert {site["placement"] for site in found} == {"in-place"}
    assert all(site["new_offset"] == site["offset"] for site in found)
    before, after = source.read_bytes(), out.read_bytes()
    changed = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    assert len({i // 4 for i in changed}) == len(found)


def test_a_second_run_changes_nothing(postproc: Run, source: Path, tmp_path: Path) -> None:
    once, twice = tmp_path / "1.co", tmp_path / "2.co"
    assert postproc(source, "-p", "sample", "-o", once).returncode == 0
    assert postproc(once, "-p", "sample", "-o", twice).returncode == 0
    assert twice.read_bytes() == once.read_bytes()


def test_of_two_optional_rivals_one_is_refused_and_both_are_named(
    postproc: Run, source: Path, tmp_path: Path
) -> None:
    report = tmp_path / "r.json"
    result = postproc(
        source, "-p", "sample", "-p", "rival", "-o", tmp_path / "out.co", "--report", report
    )
    assert result.returncode == 0, result.stderr
    refused = [s for s in sites(report, "sample") + sites(report, "rival")
               if s["status"] == "refused"]  # fmt: skip
    assert refused
    for site in refused:
        assert "conflict between rival and sample" in site["reason"]
    document = json.loads(report.read_text())
    decisions = document["files"][0]["code_objects"][0]["decisions"]
    assert {"rival", "sample"} == {owner for d in decisions for owner in d["owners"]}


def test_the_order_of_selection_has_no_influence(
    postproc: Run, source: Path, tmp_path: Path
) -> None:
    one, other = tmp_path / "1.co", tmp_path / "2.co"
    postproc(source, "-p", "sample", "-p", "rival", "-o", one)
    postproc(source, "-p", "rival", "-p", "sample", "-o", other)
    assert one.read_bytes() == other.read_bytes()


def test_a_required_rewrite_beats_an_optional_rival(
    postproc: Run, source: Path, tmp_path: Path
) -> None:
    report = tmp_path / "r.json"
    config = configured(tmp_path, '[postproc]\nplugins = ["rival", "sample"]\n'
                                  "[plugin.sample]\nrequired = true\n")  # fmt: skip
    result = postproc(source, "--config", config, "--dry-run", "--report", report)
    assert result.returncode == 0, result.stderr
    assert {site["status"] for site in sites(report, "sample")} == {"rewritten"}
    assert {site["status"] for site in sites(report, "rival")} == {"refused"}


def test_a_plugin_that_raises_is_named_with_hook_kernel_and_offset(
    postproc: Run, source: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.co"
    config = configured(tmp_path, '[postproc]\nplugins = ["sample"]\n'
                                  "[plugin.sample]\nfail = true\n")  # fmt: skip
    result = postproc(source, "--config", config, "-o", out)
    assert result.returncode == 1
    message = result.stderr
    assert "plugin sample, hook postproc_prepare" in message
    assert str(source) in message
    assert "kernel " in message
    assert "offset 0x" in message
    assert "ZeroDivisionError: the sample was told to fail" in message
    assert "Traceback" not in message
    assert not out.exists()


def test_a_traceback_is_shown_on_demand(postproc: Run, source: Path, tmp_path: Path) -> None:
    config = configured(tmp_path, '[postproc]\nplugins = ["sample"]\n'
                                  "[plugin.sample]\nfail = true\n")  # fmt: skip
    result = postproc(source, "--config", config, "--dry-run", "-v")
    assert "Traceback" in result.stderr
    assert "postproc_sample.py" in result.stderr


def test_a_plugin_may_add_a_subcommand(postproc: Run) -> None:
    assert postproc("greet").stdout == "hello\n"
    assert postproc("greet", "--loudly").stdout == "HELLO\n"
    assert postproc("greet", environment={"POSTPROC_DISABLE_PLUGIN_AUTOLOAD": "1"}).returncode == 2


def test_a_plugin_may_open_its_own_container(postproc: Run, source: Path, tmp_path: Path) -> None:
    wrapped, plain = tmp_path / "k.wrapped", source
    wrapped.write_bytes(b"WRAPPED!" + plain.read_bytes())
    outputs = tmp_path / "1", tmp_path / "2"
    assert postproc(wrapped, "-p", "sample", "-o", outputs[0]).returncode == 3
    result = postproc(wrapped, "-p", "sample", "-p", "extras", "-o", outputs[0])
    assert result.returncode == 0, result.stderr
    assert postproc(plain, "-p", "sample", "-o", outputs[1]).returncode == 0
    assert outputs[0].read_bytes() == b"WRAPPED!" + outputs[1].read_bytes()


def test_a_plugin_may_add_to_the_report(postproc: Run, source: Path, tmp_path: Path) -> None:
    report = tmp_path / "r.json"
    postproc(source, "-p", "rival", "-p", "extras", "--dry-run", "--report", report)
    assert json.loads(report.read_text())["files"][0]["plugins"] == {"extras": {"sites": 4}}
