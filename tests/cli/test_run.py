# SPDX-License-Identifier: Apache-2.0
"""The main job: outputs, folders, exit statuses, reports."""

from __future__ import annotations

import hashlib
import json
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from postproc.write import TEMPORARY

if TYPE_CHECKING:
    from tests.cli.conftest import Run

Configured = Callable[[str], Path]


def test_without_a_plugin_the_output_is_the_input_and_a_warning_says_so(
    postproc: Run, source: Path, tmp_path: Path
) -> None:
    result = postproc(source, "-o", tmp_path / "out.co")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "out.co").read_bytes() == source.read_bytes()
    assert "no plugin is selected" in result.stderr


def test_run_is_meant_without_a_subcommand(postproc: Run, source: Path, tmp_path: Path) -> None:
    short, long = tmp_path / "1.co", tmp_path / "2.co"
    assert postproc("-p", "undelay", source, "-o", short).returncode == 0
    assert postproc("run", "-p", "undelay", source, "-o", long).returncode == 0
    assert short.read_bytes() == long.read_bytes() != source.read_bytes()


def test_permissions_are_kept(postproc: Run, source: Path, tmp_path: Path) -> None:
    source.chmod(0o750)
    postproc("-p", "undelay", source, "-o", tmp_path / "out.co")
    assert stat.S_IMODE((tmp_path / "out.co").stat().st_mode) == 0o750


def test_the_input_is_replaced_only_in_place(postproc: Run, source: Path, tmp_path: Path) -> None:
    before = source.read_bytes()
    result = postproc("-p", "undelay", source, "-o", source)
    assert result.returncode == 2
    assert "--in-place" in result.stderr
    link = tmp_path / "link.co"
    link.symlink_to(source)
    assert postproc("-p", "undelay", source, "-o", link).returncode == 2
    assert source.read_bytes() == before
    assert postproc("-p", "undelay", source, "--in-place").returncode == 0
    assert source.read_bytes() != before


def test_nowhere_to_write_is_a_usage_error(postproc: Run, source: Path) -> None:
    result = postproc("-p", "undelay", source)
    assert result.returncode == 2
    assert "--output-dir" in result.stderr


def test_a_dry_run_reports_and_writes_nothing(postproc: Run, source: Path, tmp_path: Path) -> None:
    report = tmp_path / "r.json"
    before = sorted(tmp_path.iterdir())
    result = postproc(
        "-p", "undelay", source, "-o", tmp_path / "out.co", "--dry-run", "--report", report
    )
    assert result.returncode == 0, result.stderr
    assert sorted(tmp_path.iterdir()) == sorted([*before, report])
    document = json.loads(report.read_text())
    assert document["dry_run"] is True
    assert document["files"][0]["changed"] is True
    assert document["files"][0]["output"] is None


def test_the_report_has_digests_kernels_timings_and_versions(
    postproc: Run, source: Path, tmp_path: Path
) -> None:
    out, report = tmp_path / "out.co", tmp_path / "r.json"
    postproc("-p", "undelay", source, "-o", out, "--report", report)
    document = json.loads(report.read_text())
    assert document["schema"] == "postproc.report/1"
    assert document["versions"]["plugins"] == {"undelay": ""}
    [file] = document["files"]
    for state, path in (("input", source), ("output", out)):
        assert file[state]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert file[state]["bytes"] == path.stat().st_size
    assert {"open", "recover", "prepare", "arbitrate", "place", "commit", "verify", "write"} <= (
        file["timings"].keys()
    )
    [code_object] = file["code_objects"]
    assert code_object["target"] == "amdgcn-amd-amdhsa--gfx1250"
    for kernel in code_object["kernels"]:
        assert kernel["before"] == kernel["after"]
        assert kernel["before"]["sgpr_count"] > 0
    [item] = code_object["passes"]
    assert len(item["sites"]) == 4
    for site in item["sites"]:
        assert site["section"] == ".text"
        assert site["symbol"]
        assert site["added_bytes"] == 0
        assert site["added_dynamic_instructions"] == 0


def test_a_required_refusal_ends_in_4_and_names_every_site(
    postproc: Run, source: Path, tmp_path: Path, configured: Configured
) -> None:
    out, report = tmp_path / "out.co", tmp_path / "r.json"
    config = configured("refuse = true")
    result = postproc("-p", "undelay", "--config", config, source, "-o", out, "--report", report)
    assert result.returncode == 4
    assert not out.exists()
    assert "4 required rewrites were refused" in result.stderr
    assert result.stderr.count("s_delay_alu in ") == 4
    assert "because I say so" in result.stderr
    [file] = json.loads(report.read_text())["files"]
    assert file["exit_status"] == 4
    assert file["error"]["kind"] == "RefusedError"
    assert {s["status"] for s in file["code_objects"][0]["passes"][0]["sites"]} == {"refused"}


def test_a_refusal_of_the_verifier_ends_in_5_and_writes_nothing(
    postproc: Run, source: Path, tmp_path: Path, configured: Configured
) -> None:
    out, report = tmp_path / "out.co", tmp_path / "r.json"
    out.write_bytes(b"old")
    config = configured("distrust = true")
    result = postproc("-p", "undelay", "--config", config, source, "-o", out, "--report", report)
    assert result.returncode == 5
    assert "I do not like it" in result.stderr
    assert out.read_bytes() == b"old"
    [file] = json.loads(report.read_text())["files"]
    assert (file["changed"], file["output"], file["exit_status"]) == (False, None, 5)
    [item] = file["code_objects"][0]["passes"]
    assert {site["status"] for site in item["sites"]} == {"refused"}
    assert all(site["reason"].startswith("withdrawn") for site in item["sites"])


def test_an_optional_edit_that_does_not_fit_is_refused_with_the_reason(
    postproc: Run, source: Path, tmp_path: Path, configured: Configured
) -> None:
    out = tmp_path / "out.co"
    result = postproc("-p", "undelay", "--config", configured("grow = true"), source, "-o", out)
    assert result.returncode == 0
    assert "needs 8 bytes where 4 are free" in result.stdout
    assert out.read_bytes() == source.read_bytes()


def test_strict_makes_warnings_errors(
    postproc: Run, source: Path, configured: Configured, tmp_path: Path
) -> None:
    config = configured("warn = true")
    loose = postproc("-p", "undelay", "--config", config, source, "--dry-run")
    assert loose.returncode == 0
    assert "nothing matches" in loose.stderr
    strict = postproc("-p", "undelay", "--config", config, source, "--dry-run", "--strict")
    assert strict.returncode == 2
    assert "nothing matches" in strict.stderr


def test_a_missing_or_malformed_input_ends_in_3(postproc: Run, tmp_path: Path) -> None:
    bad = tmp_path / "bad.co"
    bad.write_bytes(b"\x7fELF" + bytes(100))
    for path in (bad, tmp_path / "none.co"):
        result = postproc("-p", "undelay", path, "-o", tmp_path / "out.co")
        assert result.returncode == 3
        assert str(path) in result.stderr
        assert "Traceback" not in result.stderr
    assert not (tmp_path / "out.co").exists()


@pytest.fixture
def tree(source: Path, tmp_path: Path) -> Path:
    """Three code objects in folders, a note, and what a killed run left."""
    folder = tmp_path / "tree"
    (folder / "sub").mkdir(parents=True)
    for name in ("b.co", "a.hsaco", "sub/c.co"):
        shutil.copy(source, folder / name)
    (folder / "README").write_text("not a code object")
    shutil.copy(source, folder / f".a.hsaco.0123{TEMPORARY}")
    return folder


def test_folders_are_searched_and_mirrored(postproc: Run, tree: Path, tmp_path: Path) -> None:
    out, report = tmp_path / "out", tmp_path / "r.json"
    result = postproc("-p", "undelay", tree, "--output-dir", out, "--report", report)
    assert result.returncode == 0, result.stderr
    written = sorted(str(p.relative_to(out)) for p in out.rglob("*") if p.is_file())
    assert written == ["a.hsaco", "b.co", "sub/c.co"]
    names = [Path(f["input"]["path"]).name for f in json.loads(report.read_text())["files"]]
    assert names == ["a.hsaco", "b.co", "c.co"]


def test_the_output_folder_may_lie_in_the_input_folder(postproc: Run, tree: Path) -> None:
    for _ in range(2):
        result = postproc("-p", "undelay", tree, "--output-dir", tree / "out")
        assert result.returncode == 0, result.stderr
    assert not (tree / "out" / "out").exists()


@pytest.mark.parametrize("workers", ["1", "2", "3"])
def test_the_number_of_workers_has_no_influence(
    postproc: Run, tree: Path, tmp_path: Path, workers: str
) -> None:
    alone, many = tmp_path / "alone", tmp_path / f"many{workers}"
    postproc("-p", "undelay", tree, "--output-dir", alone)
    result = postproc("-p", "undelay", tree, "--output-dir", many, "-j", workers)
    assert result.returncode == 0, result.stderr
    for path in alone.rglob("*.*co"):
        assert (many / path.relative_to(alone)).read_bytes() == path.read_bytes()


def test_one_bad_input_does_not_stop_the_others(postproc: Run, tree: Path, tmp_path: Path) -> None:
    bad = tree / "a.hsaco"
    bad.write_bytes(bad.read_bytes()[:700])
    out = tmp_path / "out"
    result = postproc("-p", "undelay", tree, "--output-dir", out, "-j", "2")
    assert result.returncode == 3
    assert sorted(p.name for p in out.rglob("*.*co")) == ["b.co", "c.co"]


def test_outputs_must_not_collide(postproc: Run, tree: Path, tmp_path: Path) -> None:
    shutil.copy(tree / "b.co", tree / "sub" / "b.co")
    result = postproc(
        "-p", "undelay", tree / "b.co", tree / "sub" / "b.co", "--output-dir", tmp_path / "out"
    )
    assert result.returncode == 2
    assert "would both be written" in result.stderr


def test_targets_that_are_not_wanted_stay_as_they_are(
    postproc: Run, source: Path, tmp_path: Path
) -> None:
    config = tmp_path / "t.toml"
    config.write_text('[postproc]\ntargets = ["gfx9*"]\n')
    out = tmp_path / "out.co"
    result = postproc("-p", "undelay", "--config", config, source, "-o", out)
    assert result.returncode == 0, result.stderr
    assert out.read_bytes() == source.read_bytes()


def test_quiet_says_nothing_and_colour_is_for_terminals(
    postproc: Run, source: Path, tmp_path: Path
) -> None:
    quiet = postproc("-q", "-p", "undelay", source, "-o", tmp_path / "1.co")
    assert (quiet.stdout, quiet.stderr) == ("", "")
    loud = postproc("-p", "undelay", source, "-o", tmp_path / "2.co")
    assert "undelay" in loud.stdout
    assert "\x1b[" not in loud.stdout


def test_log_lines_can_be_json(postproc: Run, source: Path, tmp_path: Path) -> None:
    result = postproc(source, "-o", tmp_path / "1.co", "--log-format", "json")
    [line] = result.stderr.splitlines()
    assert json.loads(line)["level"] == "warning"


def test_verify_checks_an_output_with_its_map(postproc: Run, source: Path, tmp_path: Path) -> None:
    out, address_map = tmp_path / "out.co", tmp_path / "m.json"
    postproc("-p", "undelay", source, "-o", out, "--map", address_map)
    good = postproc("verify", source, out, "--map", address_map)
    assert good.returncode == 0, good.stderr
    assert "4 rewritten windows" in good.stdout
    assert postproc("verify", source, source).returncode == 0
    assert postproc("verify", source, out).returncode == 5
    data = bytearray(out.read_bytes())
    data[-1] ^= 1
    out.write_bytes(data)
    assert postproc("verify", source, out, "--map", address_map).returncode == 5


def test_sites_lists_what_would_happen(postproc: Run, source: Path) -> None:
    result = postproc("sites", "-p", "undelay", source, "--json")
    assert result.returncode == 0, result.stderr
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(lines) == 4
    assert {line["rule"] for line in lines} == {"delay"}
    assert postproc("sites", "-p", "undelay", source).stdout.count("rewritten") == 4
