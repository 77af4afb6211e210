# SPDX-License-Identifier: Apache-2.0
"""Configuration files: what is accepted, what is refused with which words, and origins."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import pytest

from postproc.config import Config, Setting, load, plugin_table, schema
from postproc.errors import ConfigError


class Point(msgspec.Struct, frozen=True):
    select: str
    required: bool = False


class PluginConfig(msgspec.Struct, frozen=True):
    policy: Annotated[str, msgspec.Meta(description="what to prove")] = "prove"
    limit: Annotated[int, msgspec.Meta(ge=0)] = 4
    points: tuple[Point, ...] = ()


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "some.toml"


def loaded(path: Path, text: str) -> Config:
    path.write_text(text)
    return load([path])


def test_without_a_file_everything_is_default() -> None:
    config = load()
    assert config.core.plugins == ()
    assert {s.origin for s in config.settings()} == {"default"}


def test_values_know_their_file(written: Path) -> None:
    config = loaded(written, '[postproc]\nplugins = ["b", "a"]\n')
    assert config.core.plugins == ("b", "a")
    [setting] = [s for s in config.settings() if s.key == "postproc.plugins"]
    assert setting == Setting("postproc.plugins", ("b", "a"), str(written))


def test_of_two_files_the_later_one_wins_key_by_key(tmp_path: Path) -> None:
    first, second = tmp_path / "a.toml", tmp_path / "b.toml"
    first.write_text('[postproc]\nstrict = true\n[plugin.x]\npolicy = "all"\nlimit = 1\n')
    second.write_text("[plugin.x]\nlimit = 2\n")
    config = load([first, second])
    assert config.core.strict
    assert plugin_table(config, "x", PluginConfig) == PluginConfig("all", 2)
    assert config.origins["plugin.x.limit"] == str(second)
    assert config.origins["plugin.x.policy"] == str(first)


def test_the_command_line_wins(written: Path) -> None:
    written.write_text("[postproc]\nstrict = false\n")
    config = load([written], [Setting("postproc.strict", True, "--strict")])
    assert config.core.strict
    assert config.origins["postproc.strict"] == "--strict"


def test_a_pyproject_keeps_everything_below_tool(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text('[project]\nname = "x"\n[tool.postproc]\nstrict = true\n'
                    "[tool.postproc.plugin.x]\nlimit = 7\n")  # fmt: skip
    config = load([path])
    assert config.core.strict
    assert plugin_table(config, "x", PluginConfig).limit == 7


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("[postproc]\nplugin = []", "unknown key postproc.plugin", "did you mean 'plugins'?"),
        ("[postprok]\n", "unknown table [postprok]", "did you mean 'postproc'?"),
        ("[plugin]\nx = 1", "plugin.x must be a table", "write [plugin.x]"),
        ("postproc = 1", "postproc must be a table", ""),
    ],
    ids=["key", "table", "plugin", "type"],
)
def test_what_is_not_known_is_an_error_with_a_suggestion(
    written: Path, text: str, what: str, hint: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(written, text)
    message = str(caught.value)
    assert what in message
    assert hint in message
    assert str(written) in message


def test_bad_values_name_key_and_file(written: Path) -> None:
    with pytest.raises(ConfigError, match=r"postproc\.strict") as caught:
        loaded(written, '[postproc]\nstrict = "yes"\n')
    assert str(written) in str(caught.value)


def test_bad_toml_names_the_line(written: Path) -> None:
    with pytest.raises(ConfigError, match="line 1"):
        loaded(written, "[postproc\n")


@pytest.mark.parametrize(
    "data",
    [b"\xff", b"\xef\xbb\xbf[postproc]\n", b"x=" + b"[" * 20_000, b"x=" + b"9" * 10_000],
    ids=["no UTF-8", "byte order mark", "deep", "long number"],
)
def test_no_file_is_too_odd_for_a_config_error(written: Path, data: bytes) -> None:
    written.write_bytes(data)
    with pytest.raises(ConfigError, match="not valid TOML"):
        load([written])


@pytest.mark.parametrize("text", ["tool = 1", "[tool]\nx = 1", "[tool]\npostproc = 1", ""])
def test_a_pyproject_may_hold_anything_in_our_place(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match="no table"):
        load([path])


def test_a_missing_file_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        load([tmp_path / "none.toml"])


def test_a_pyproject_without_our_table_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text('[project]\nname = "x"\n')
    with pytest.raises(ConfigError, match=r"tool\.postproc"):
        load([path])


def test_plugin_tables_are_checked_against_the_plugins_own_structure(written: Path) -> None:
    config = loaded(written, '[plugin.x]\npolicy = "all"\n[[plugin.x.points]]\nselekt = "v_*"\n')
    with pytest.raises(ConfigError) as caught:
        plugin_table(config, "x", PluginConfig)
    assert "unknown key plugin.x.points[0].selekt" in str(caught.value)
    assert "did you mean 'select'?" in str(caught.value)
    assert str(written) in str(caught.value)


def test_constraints_of_the_plugin_hold(written: Path) -> None:
    config = loaded(written, "[plugin.x]\nlimit = -1\n")
    with pytest.raises(ConfigError, match=r"plugin\.x\.limit"):
        plugin_table(config, "x", PluginConfig)


def test_settings_show_plugin_values_too(written: Path) -> None:
    config = loaded(written, "[plugin.x]\nlimit = 1\n")
    table = plugin_table(config, "x", PluginConfig)
    found = {s.key: (s.value, s.origin) for s in config.settings({"x": table})}
    assert found["plugin.x.limit"] == (1, str(written))
    assert found["plugin.x.policy"] == ("prove", "default")


def test_the_schema_describes_core_and_plugins() -> None:
    document = schema({"x": PluginConfig})
    assert document["additionalProperties"] is False
    definitions = document["$defs"]
    assert definitions["CoreConfig"]["additionalProperties"] is False
    assert definitions["PluginConfig"]["properties"]["policy"]["description"] == "what to prove"
    assert document["properties"]["plugin"]["properties"]["x"] == {"$ref": "#/$defs/PluginConfig"}
