# SPDX-License-Identifier: Apache-2.0
"""The configuration that users copy, and the options behind it."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from postproc import config
from postproc.errors import ConfigError
from postproc_hotswap.config import Config
from postproc_hotswap.defects import DEFECTS
from postproc_hotswap.rules import entry_vmem, undecodable
from postproc_hotswap.stepping import RULE as STEPPING

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "configs" / "hotswap.toml"
PAGES = ROOT / "docs" / "rules"

RULES = sorted({d.rule for d in DEFECTS} | {entry_vmem.RULE, undecodable.RULE, STEPPING})


def test_the_shipped_configuration_spells_out_the_defaults() -> None:
    loaded = config.load([SHIPPED])
    assert loaded.core.plugins == ("hotswap",)
    assert loaded.core.targets == ("gfx1250",)
    assert config.plugin_table(loaded, "hotswap", Config) == Config()
    keys = {field.encode_name for field in msgspec.structs.fields(Config)}
    assert set(loaded.plugin_tables["hotswap"]) == keys


def test_keys_are_written_with_hyphens(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text("[plugin.hotswap]\nsource_stepping = 'A0'\n")
    with pytest.raises(ConfigError, match=r"unknown key .*source_stepping") as caught:
        config.plugin_table(config.load([path]), "hotswap", Config)
    assert caught.value.hint == "did you mean 'source-stepping'?"


@pytest.mark.parametrize("key", ["wmma-k128", "fp8-clamp", "scale-select", "clause"])
def test_what_cannot_be_vouched_for_cannot_be_kept(key: str, tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(f"[plugin.hotswap]\n{key} = 'keep'\n")
    with pytest.raises(ConfigError, match=f"bad value of plugin.hotswap.{key}"):
        config.plugin_table(config.load([path]), "hotswap", Config)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_its_page(rule: str) -> None:
    page = (PAGES / f"{rule}.md").read_text()
    assert page.startswith(f"# {rule}\n")
    assert f"({rule}.md)" in (PAGES / "index.md").read_text()


def test_every_page_is_that_of_a_rule() -> None:
    assert sorted(p.stem for p in PAGES.glob("*.md")) == sorted([*RULES, "index"])


def test_pages_name_every_mnemonic_of_their_rule() -> None:
    for defect in DEFECTS:
        text = (PAGES / f"{defect.rule}.md").read_text()
        patterns = [
            re.compile(p.replace("*", "[a-z0-9_]+")) for p in re.findall(r"`([a-z0-9_*]+)`", text)
        ]
        for mnemonic in defect.mnemonics:
            assert any(p.fullmatch(mnemonic) for p in patterns), (defect.rule, mnemonic)
