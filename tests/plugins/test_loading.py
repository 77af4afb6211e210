# SPDX-License-Identifier: Apache-2.0
"""Which plugins are found, imported, active, blocked or broken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.plugins.conftest import Run


def listed(postproc: Run, *arguments: str, **keywords: Any) -> dict[str, dict[str, Any]]:
    result = postproc("plugins", "--json", *arguments, **keywords)
    assert result.returncode == 0, result.stderr
    return {record["name"]: record for record in json.loads(result.stdout)}


def test_installed_plugins_are_listed_with_all_that_is_known_of_them(postproc: Run) -> None:
    plugins = listed(postproc)
    assert plugins["sample"] == {
        "name": "sample",
        "version": "3.1.4",
        "source": "entry point postproc_sample of postproc-sample 3.1.4",
        "hooks": ["postproc_config_schema", "postproc_prepare"],
        "status": "available",
        "reason": "not selected",
        "description": "",
    }
    assert plugins["rival"]["version"] == "0.5"
    assert plugins["rival"]["description"] == "competes with sample"


def test_broken_plugins_are_listed_with_the_reason_and_warned_of(postproc: Run) -> None:
    plugins = listed(postproc)
    assert plugins["broken"]["status"] == "broken"
    assert "a_module_that_nobody_has" in plugins["broken"]["reason"]
    assert plugins["future"]["status"] == "broken"
    assert "plugin API 2.0, this postproc has 1.0" in plugins["future"]["reason"]
    assert "warning: plugin broken" in postproc("plugins").stderr


def test_strict_plugins_makes_a_broken_one_an_error(postproc: Run) -> None:
    result = postproc("plugins", "--strict-plugins")
    assert result.returncode == 1
    assert "plugin broken: cannot be loaded" in result.stderr


def test_selection_shows_in_the_status(postproc: Run) -> None:
    plugins = listed(postproc, "-p", "sample", "-p", "no:rival")
    assert plugins["sample"]["status"] == "active"
    assert plugins["rival"]["status"] == "blocked"
    assert plugins["rival"]["reason"] == "blocked by -p no:rival"


def test_without_autoload_nothing_is_imported_but_what_p_names(postproc: Run) -> None:
    for keywords in (
        {"environment": {"POSTPROC_DISABLE_PLUGIN_AUTOLOAD": "1"}},
        {"arguments": ["--no-plugin-autoload"]},
    ):
        options = keywords.pop("arguments", [])
        plugins = listed(postproc, "-p", "rival", *options, **keywords)
        assert plugins["rival"]["status"] == "active"
        assert plugins["sample"]["status"] == "available"
        assert plugins["sample"]["hooks"] == []
        assert plugins["broken"]["status"] == "available"


def test_a_plugin_may_be_named_by_its_module(postproc: Run) -> None:
    plugins = listed(postproc, "-p", "postproc_rival", "--no-plugin-autoload")
    assert plugins["postproc_rival"]["status"] == "active"
    assert plugins["postproc_rival"]["source"] == "module postproc_rival"


def test_a_plugin_that_does_not_exist_is_an_error_with_a_suggestion(postproc: Run) -> None:
    result = postproc("config", "-p", "sampel")
    assert result.returncode == 2
    assert "there is no plugin 'sampel'" in result.stderr
    assert "did you mean 'sample'?" in result.stderr


def test_a_selected_plugin_that_is_broken_ends_the_run(postproc: Run) -> None:
    """A run that goes on without it would pass on what was meant to be rewritten."""
    result = postproc("config", "-p", "broken")
    assert result.returncode == 1
    assert "plugin broken: cannot be loaded" in result.stderr
    assert "a_module_that_nobody_has" in result.stderr


def test_a_run_imports_only_what_it_selects(postproc: Run) -> None:
    """`broken` is installed, too: it would fail if it were imported."""
    result = postproc("config", "-p", "sample", "--strict-plugins")
    assert result.returncode == 0, result.stderr
    assert "plugin.sample.required = false  # default" in result.stdout


def test_a_configuration_is_not_silently_ignored_without_autoload(
    postproc: Run, tmp_path: Any
) -> None:
    config = tmp_path / "c.toml"
    config.write_text('[postproc]\nplugins = ["sample"]\n')
    result = postproc("config", "--config", config, "--no-plugin-autoload")
    assert result.returncode == 2
    assert "add -p sample" in result.stderr
    assert postproc("config", "--config", config).returncode == 0
    forced = postproc("config", "--config", config, "--no-plugin-autoload", "-p", "sample")
    assert forced.returncode == 0


def test_a_table_of_a_plugin_that_is_not_there_is_an_error(postproc: Run, tmp_path: Any) -> None:
    config = tmp_path / "c.toml"
    config.write_text("[plugin.sampel]\nfail = true\n")
    result = postproc("config", "--config", config)
    assert result.returncode == 2
    assert "did you mean 'sample'?" in result.stderr


def test_config_shows_origins_and_the_schema_has_the_plugins_tables(
    postproc: Run, tmp_path: Any
) -> None:
    config = tmp_path / "c.toml"
    config.write_text('[postproc]\nplugins = ["sample"]\n[plugin.sample]\nfail = true\n')
    shown = postproc("config", "--show", "--config", config, "--strict").stdout
    assert f'postproc.plugins = ["sample"]  # {config}' in shown
    assert "postproc.strict = true  # --strict" in shown
    assert f"plugin.sample.fail = true  # {config}" in shown
    assert "plugin.sample.required = false  # default" in shown
    schema = json.loads(postproc("config", "--schema").stdout)
    assert "sample" in schema["properties"]["plugin"]["properties"]


@pytest.mark.parametrize("word", ["inspekt", "conifg"])
def test_an_unknown_subcommand_is_an_error_with_a_suggestion(postproc: Run, word: str) -> None:
    result = postproc(word)
    assert result.returncode == 2
    assert "did you mean" in result.stderr
