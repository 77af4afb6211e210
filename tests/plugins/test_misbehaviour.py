# SPDX-License-Identifier: Apache-2.0
"""Plugins that raise, return nonsense or write where they may not: named, and nothing written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from postproc import hookimpl
from postproc.codeobject import CodeObject, TextPosition, TextRange
from postproc.errors import AssemblyError, PluginError
from postproc.passes import ControlFlowFact, PassContext, PassRegistry, PluginInfo
from postproc.pipeline.files import FileResult, Job, process_file
from postproc.pipeline.session import RunSettings, Session
from postproc.plugins import Plugins, Selection
from postproc.transaction import Claim, ClaimMode, Proposal

CORPUS = Path(__file__).parents[1] / "corpus" / "gfx1250"
SOURCE = CORPUS / "async1250_O3.co"


class Odd(BaseException):
    """No Exception."""


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("not even this")


def process(tmp_path: Path, plugin: object, source: Path = SOURCE) -> FileResult:
    """The whole run of one file with `plugin`, which is called `bad`."""
    from postproc.config import Config, CoreConfig

    plugins = Plugins(Selection(autoload=False))
    plugins.register("bad", plugin)
    config = Config(CoreConfig())
    session = Session(RunSettings(config, plugins.selection), plugins, plugins.tables(config))
    return process_file(Job(source, tmp_path / "out.co"), session)


def returning(hook: str, result: Callable[[], object]) -> object:
    """A plugin whose `hook` returns (or raises) what `result` does."""
    return SimpleNamespace(**{hook: hookimpl(lambda: result())})


def raising(error: BaseException) -> Callable[[], object]:
    def run() -> object:
        raise error

    return run


@pytest.mark.parametrize("error", [Odd("x"), GeneratorExit(), Mute(), RecursionError()])
@pytest.mark.parametrize("hook", ["register_passes", "recover", "prepare"])
def test_whatever_is_raised_is_the_plugins(tmp_path: Path, hook: str, error: BaseException) -> None:
    plugin = returning(f"postproc_{hook}", raising(error))
    if hook == "recover":
        plugin.postproc_prepare = hookimpl(lambda: Proposal())  # type: ignore[attr-defined]  # a namespace
    report = process(tmp_path, plugin).report
    assert report.exit_status == 1
    assert report.error is not None
    assert f"plugin bad, hook postproc_{hook}" in report.error.message
    assert type(error).__name__ in report.error.message
    assert not (tmp_path / "out.co").exists()


def test_bad_assembly_of_a_plugin_is_no_usage_error(tmp_path: Path) -> None:
    plugin = returning("postproc_prepare", raising(AssemblyError("no such thing")))
    assert process(tmp_path, plugin).report.exit_status == 1


POSITION = TextPosition(1, 0)
SPAN = TextRange(1, 0, 4)


@pytest.mark.parametrize(
    ("hook", "result"),
    [
        ("prepare", 5),
        ("prepare", Proposal([1])),  # type: ignore[list-item]  # the tests' point, here and below
        ("prepare", Proposal((), ["x"])),  # type: ignore[list-item]
        ("prepare", Proposal(claims=[3])),  # type: ignore[list-item]
        ("prepare", Proposal(warnings=[3])),  # type: ignore[list-item]
        ("prepare", Proposal(claims=[Claim("bad", None, ClaimMode.READ, True, "")])),  # type: ignore[arg-type]
        ("prepare", Proposal(claims=[Claim("bad", SPAN, "read", True, "")])),  # type: ignore[arg-type]
        ("recover", 5),
        ("recover", "text"),
        ("recover", [1]),
        ("recover", [ControlFlowFact("x", "branch", (), "")]),  # type: ignore[arg-type]
        ("recover", [ControlFlowFact(POSITION, "branch", [POSITION], "")]),  # type: ignore[arg-type]
        ("verify", 5),
        ("verify", "text"),
        ("verify", [None]),
        ("config_schema", 5),
        ("config_schema", int),
        ("plugin_info", 5),
        ("plugin_info", PluginInfo("bad", "1", "xx")),  # type: ignore[arg-type]
        ("plugin_info", PluginInfo("bad", "1", (1, 0), requires="hotswap")),  # type: ignore[arg-type]
    ],
)
def test_a_senseless_result_is_named(
    tmp_path: Path, run_plugin: Callable[..., Any], hook: str, result: object
) -> None:
    class Bad:
        @hookimpl
        def postproc_prepare(self, context: PassContext) -> Proposal:
            return undelay(context)

    plugin = Bad()
    setattr(plugin, f"postproc_{hook}", hookimpl(lambda: result))
    code_object = CodeObject.parse(SOURCE.read_bytes(), "k.co")
    with pytest.raises(PluginError, match=rf"plugin bad, hook postproc_{hook}.*: returned "):
        run_plugin({"bad": plugin}, code_object)


def undelay(context: PassContext) -> Proposal:
    """A sound proposal, so that the hooks behind it are reached."""
    from postproc.transaction import Edit, Snippet

    section = context.code_object.executable_sections[0]
    decoded = context.decoded(section)
    edits = []
    for index in decoded.where(context.isa.match("s_delay_alu")):
        delay = decoded[index]
        window = TextRange(section.index, delay.offset, delay.offset + delay.size)
        site = context.site(section, delay, "delay")
        edits.append(Edit(site=site, window=window, snippet=Snippet("s_nop 0")))
    return Proposal(edits)


def test_the_name_of_a_pass_is_text(
    run_plugin: Callable[..., Any],
) -> None:
    class Bad:
        name = 3

        def prepare(self, context: PassContext) -> Proposal:
            return Proposal()

        @hookimpl
        def postproc_register_passes(self, registry: PassRegistry) -> None:
            registry.add(self)  # type: ignore[arg-type]  # the test's point

    code_object = CodeObject.parse(SOURCE.read_bytes(), "k.co")
    with pytest.raises(PluginError, match="it is not a pass"):
        run_plugin(Bad(), code_object)


@pytest.mark.parametrize("result", [5, "ab", [1], {"a": object()}, {"a": "\udcff"}])
def test_a_contribution_that_fails_is_said_and_the_output_stands(
    tmp_path: Path, result: object
) -> None:
    report = process(tmp_path, returning("postproc_report", lambda: result)).report
    assert report.exit_status == 0
    assert (tmp_path / "out.co").exists()
    assert any("plugin bad, hook postproc_report" in warning for warning in report.warnings)
    msgspec.json.encode(report)


@pytest.mark.parametrize("result", [5, SimpleNamespace(name="x", tree=None, code_objects=(1,))])
def test_a_senseless_container_is_named(tmp_path: Path, result: object) -> None:
    source = tmp_path / "x"
    source.write_bytes(b"\0\1\2\3" * 99)
    report = process(tmp_path, returning("postproc_open_container", lambda: result), source).report
    assert report.exit_status == 1
    assert report.error is not None
    assert "plugin bad, hook postproc_open_container" in report.error.message


def test_what_one_plugin_sees_no_other_can_change(
    run_plugin: Callable[..., Any],
) -> None:
    def forge(context: PassContext) -> None:
        kernel = context.code_object.kernels[0]
        assert kernel.metadata is not None
        with pytest.raises(TypeError):
            kernel.metadata.fields[".sgpr_count"] = 0  # type: ignore[index]  # the test's point
        with pytest.raises(TypeError):
            context.code_object.metadata["amdhsa.target"] = ""  # type: ignore[index]
        kernels = context.code_object.metadata["amdhsa.kernels"]
        with pytest.raises(TypeError):
            kernels[0] = {}

    code_object = CodeObject.parse(SOURCE.read_bytes(), "k.co")
    run_plugin(SimpleNamespace(postproc_prepare=hookimpl(forge)), code_object)


def test_a_missing_requirement_names_who_requires_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from postproc.errors import ConfigError

    (tmp_path / "needy.py").write_text(
        "from postproc import hookimpl\n"
        "from postproc.passes import PluginInfo\n"
        "@hookimpl\n"
        "def postproc_plugin_info():\n"
        "    return PluginInfo('needy', '1', (1, 0), requires=('needy', 'absent'))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match="plugin 'needy' requires it"):
        Plugins.load_selected(Selection(forced=("needy",)))


def test_a_subcommand_may_come_from_a_module_and_its_failure_is_the_plugins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from postproc.cli import main

    (tmp_path / "commanding.py").write_text(
        "from postproc import hookimpl\n"
        "@hookimpl\n"
        "def postproc_cli(subcommands):\n"
        "    parser = subcommands.add_parser('flop')\n"
        "    parser.add_argument('-p', type=int)\n"
        "    parser.set_defaults(run=lambda arguments: 1 // arguments.p)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["-p", "commanding", "flop", "-p", "2"]) == 0
    assert main(["-p", "commanding", "flop", "-p", "0"]) == 1
    assert "plugin commanding, hook postproc_cli, flop: raised" in capsys.readouterr().err


def test_damaged_metadata_of_any_distribution_are_a_configuration_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from postproc.errors import ConfigError

    folder = tmp_path / "odd-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1\n")
    (folder / "entry_points.txt").write_text("[postproc]\nno assignment\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match="cannot be read"):
        Plugins.load_selected(Selection(wanted=("absent",)))
