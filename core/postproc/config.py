# SPDX-License-Identifier: Apache-2.0
"""Configuration: TOML files and command-line settings, typed, with the origin of every value.

A file holds one `[postproc]` table and one `[plugin.<name>]` table for each plugin.  In a
`pyproject.toml` they are `[tool.postproc]` and `[tool.postproc.plugin.<name>]`.  Of several files
the later one wins, key by key; the command line wins over all.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, final

import msgspec

from postproc.errors import ConfigError
from postproc.paths import readable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Config", "CoreConfig", "Setting", "load", "plugin_table", "schema"]

_PYPROJECT = "pyproject.toml"
_DEFAULT = "default"

StructT = TypeVar("StructT", bound=msgspec.Struct)


@final
class CoreConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The `[postproc]` table."""

    plugins: Annotated[
        tuple[str, ...],
        msgspec.Meta(description="plugins that run; their order is irrelevant"),
    ] = ()
    targets: Annotated[
        tuple[str, ...],
        msgspec.Meta(
            description="processors to rewrite, as shell patterns (gfx12*); "
            "code objects for others stay as they are"
        ),
    ] = ("*",)
    placement: Annotated[
        Literal["auto", "in-place"],
        msgspec.Meta(description="where new code may go"),
    ] = "auto"
    strict: Annotated[bool, msgspec.Meta(description="warnings are errors")] = False
    strict_plugins: Annotated[
        bool,
        msgspec.Meta(description="a plugin that cannot be loaded is an error even if not selected"),
    ] = False


@final
@dataclass(frozen=True, slots=True)
class Setting:
    """One effective value: `key` is dotted (`postproc.plugins`), `origin` a file or option."""

    key: str
    value: object
    origin: str


@final
@dataclass(frozen=True)
class Config:
    """The effective configuration.

    `plugin_tables` are the plugins' tables as they were read: they can be checked only when the
    plugin is loaded (`plugin_table`).  `origins` maps dotted keys to where the value came from.
    """

    core: CoreConfig
    plugin_tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)

    def settings(self, plugins: Mapping[str, msgspec.Struct] | None = None) -> tuple[Setting, ...]:
        """All effective values; `plugins` are the tables of the loaded plugins, by name."""
        found = _settings("postproc", self.core, self.origins)
        for name, table in sorted((plugins or {}).items()):
            found.extend(_settings(f"plugin.{name}", table, self.origins))
        return tuple(found)


def load(files: Sequence[Path] = (), overrides: Iterable[Setting] = ()) -> Config:
    """Read and merge configuration files, then apply `overrides` (keys of `[postproc]`).

    Raises ConfigError for a file that cannot be read, is not TOML, or holds unknown keys or values
    of a wrong type.
    """
    core: dict[str, Any] = {}
    tables: dict[str, dict[str, Any]] = {}
    origins: dict[str, str] = {}
    for path in files:
        document = _read(path)
        _check_plugin_tables(document.get("plugin", {}), path)
        _check(document.get("postproc", {}), CoreConfig, "postproc", readable(path))
        for key, value in document.get("postproc", {}).items():
            core[key] = value
            origins[f"postproc.{key}"] = readable(path)
        for name, table in document.get("plugin", {}).items():
            for key, value in table.items():
                tables.setdefault(name, {})[key] = value
                origins[f"plugin.{name}.{key}"] = readable(path)
            tables.setdefault(name, {})
    for setting in overrides:
        core[setting.key.removeprefix("postproc.")] = setting.value
        origins[setting.key] = setting.origin
    return Config(_convert(core, CoreConfig, "postproc", origins), tables, origins)


def plugin_table(config: Config, name: str, schema_type: type[StructT]) -> StructT:
    """The `[plugin.<name>]` table as the plugin's own structure.  Raises ConfigError."""
    table = config.plugin_tables.get(name, {})
    prefix = f"plugin.{name}"
    origin = ", ".join(
        dict.fromkeys(o for key, o in config.origins.items() if key.startswith(prefix + "."))
    )
    _check(table, schema_type, prefix, origin)
    return _convert(table, schema_type, prefix, config.origins)


def schema(plugins: Mapping[str, type[msgspec.Struct]]) -> dict[str, Any]:
    """JSON schema (2020-12) of a configuration file; `plugins` are the schemas by plugin name."""
    names = sorted(plugins)
    types = [CoreConfig, *(plugins[name] for name in names)]
    references, definitions = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    by_name = dict(zip(names, references[1:], strict=True))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "postproc configuration",
        "type": "object",
        "properties": {
            "postproc": references[0],
            "plugin": {"type": "object", "properties": by_name},
        },
        "additionalProperties": False,
        "$defs": definitions,
    }


def suggestion(word: str, known: Iterable[str]) -> str:
    """`did you mean 'x'?`, or the known words if nothing is near."""
    words = sorted(known)
    near = difflib.get_close_matches(word, words, n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    return "known are: " + ", ".join(words) if words else "there are none"


def _read(path: Path) -> dict[str, Any]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            "cannot read the configuration", file=readable(path), why=error.strerror or str(error)
        ) from error
    except (ValueError, RecursionError) as error:  # bad TOML, no UTF-8, absurd numbers or nesting
        raise ConfigError(
            "the configuration is not valid TOML", file=readable(path), why=str(error)
        ) from error
    if path.name == _PYPROJECT:
        document = _of_pyproject(document, path)
    for key, value in document.items():
        if key not in ("postproc", "plugin"):
            hint = suggestion(key, ("postproc", "plugin"))
            raise ConfigError(f"unknown table [{key}]", file=readable(path), hint=hint)
        if not isinstance(value, dict):
            raise ConfigError(f"{key} must be a table", file=readable(path))
    return document


def _of_pyproject(document: Mapping[str, Any], path: Path) -> dict[str, Any]:
    tools = document.get("tool")
    table = tools.get("postproc") if isinstance(tools, dict) else None
    if not isinstance(table, dict):
        raise ConfigError("no table [tool.postproc]", file=readable(path))
    core = {key: value for key, value in table.items() if key != "plugin"}
    return {"postproc": core, "plugin": table.get("plugin", {})}


def _check_plugin_tables(tables: Mapping[str, Any], path: Path) -> None:
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise ConfigError(
                f"plugin.{name} must be a table", file=readable(path), hint=f"write [plugin.{name}]"
            )


def _check(table: object, expected: object, prefix: str, origin: str) -> None:
    """Refuse unknown keys anywhere in `table`, with a suggestion (msgspec has none to give)."""
    _check_keys(table, msgspec.inspect.type_info(expected), prefix, origin)


def _check_keys(value: object, info: msgspec.inspect.Type, prefix: str, origin: str) -> None:
    inspect = msgspec.inspect
    if isinstance(info, inspect.Metadata):
        _check_keys(value, info.type, prefix, origin)
    elif isinstance(info, inspect.StructType) and isinstance(value, dict):
        fields = {f.encode_name: f.type for f in info.fields}
        tag = {info.tag_field} if info.tag_field else set()
        for key, item in value.items():
            if key in fields:
                _check_keys(item, fields[key], f"{prefix}.{key}", origin)
            elif key not in tag:
                raise ConfigError(
                    f"unknown key {prefix}.{key}",
                    file=origin or None,
                    hint=suggestion(key, fields),
                )
    elif isinstance(info, inspect.DictType) and isinstance(value, dict):
        for key, item in value.items():
            _check_keys(item, info.value_type, f"{prefix}.{key}", origin)
    elif isinstance(info, (inspect.ListType, inspect.VarTupleType)) and isinstance(value, list):
        for rank, item in enumerate(value):
            _check_keys(item, info.item_type, f"{prefix}[{rank}]", origin)
    elif isinstance(info, inspect.UnionType):
        tables = [t for t in info.types if isinstance(t, inspect.StructType)]
        if len(tables) == 1 and isinstance(value, dict):
            _check_keys(value, tables[0], prefix, origin)


def _convert(
    table: object, expected: type[StructT], prefix: str, origins: Mapping[str, str]
) -> StructT:
    try:
        return msgspec.convert(table, expected)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        key = prefix + path.rstrip("`")
        origin = next((o for k, o in origins.items() if key.startswith(k)), None)
        raise ConfigError(f"bad value of {key}", file=origin, why=message) from error


def _settings(prefix: str, table: msgspec.Struct, origins: Mapping[str, str]) -> list[Setting]:
    return [
        Setting(key, getattr(table, name), origins.get(key, _DEFAULT))
        for name in table.__struct_fields__
        for key in (f"{prefix}.{name}",)
    ]
