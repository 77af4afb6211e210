# SPDX-License-Identifier: Apache-2.0
"""Plugins: finding them without importing them, loading the selected ones, calling their hooks.

Selection
    - *Available* is every entry point of the group `postproc`.  Reading that list imports nothing.
    - *Selected* are the names in `[postproc] plugins` and after `-p`, and what they require.
      `-p` also takes the name of an importable module.  `-p no:NAME` blocks a plugin.
    - With `--no-plugin-autoload` (or `POSTPROC_DISABLE_PLUGIN_AUTOLOAD` set and not empty) only
      what `-p` names is loaded.  A configuration that names more is then an error: silence would
      pass objects through that were meant to be rewritten.
    - A selected plugin that is missing or *broken* (does not import, other API) is an error.  One
      that was only looked at (`postproc plugins`, an unknown subcommand) is inactive, with a
      warning, unless `--strict-plugins` is given.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, final

import pluggy

from postproc import PLUGIN_API, PROJECT
from postproc.config import Config, plugin_table, suggestion
from postproc.errors import AssemblyError, ConfigError, PluginError, PostprocError
from postproc.hook_results import problem_of

if TYPE_CHECKING:
    import msgspec

    from postproc.passes import PluginInfo

__all__ = ["AUTOLOAD_VARIABLE", "PluginRecord", "Plugins", "Selection"]

AUTOLOAD_VARIABLE = "POSTPROC_DISABLE_PLUGIN_AUTOLOAD"

Status = Literal["active", "available", "blocked", "broken"]


@final
@dataclass(frozen=True, slots=True)
class Selection:
    """What the user asked for: `wanted` by the configuration, `forced` by `-p`."""

    wanted: tuple[str, ...] = ()
    forced: tuple[str, ...] = ()
    blocked: frozenset[str] = frozenset()
    autoload: bool = True
    strict: bool = False

    @classmethod
    def of(
        cls,
        config: Config,
        options: Iterable[str] = (),
        *,
        autoload: bool = True,
        strict: bool = False,
    ) -> Selection:
        """From a configuration and the values of `-p` (`NAME` or `no:NAME`, the last one wins)."""
        forced: dict[str, None] = {}
        blocked: set[str] = set()
        for option in options:
            if option.startswith("no:"):
                name = option[len("no:") :]
                blocked.add(name)
                forced.pop(name, None)
            else:
                forced[option] = None
                blocked.discard(option)
        return cls(
            wanted=tuple(sorted(set(config.core.plugins))),
            forced=tuple(sorted(forced)),
            blocked=frozenset(blocked),
            autoload=autoload,
            strict=strict or config.core.strict_plugins,
        )


@final
@dataclass(frozen=True, slots=True)
class PluginRecord:
    """One plugin in the list of `postproc plugins`."""

    name: str
    version: str
    source: str
    hooks: tuple[str, ...]
    status: Status
    reason: str
    description: str = ""


class Plugins:
    """The plugins of one run."""

    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        self._pluggy = pluggy.PluginManager(PROJECT)
        self._pluggy.add_hookspecs(importlib.import_module("postproc.hookspecs"))
        self._entry_points: Mapping[str, importlib.metadata.EntryPoint] | None = None
        self._records: dict[str, PluginRecord] = {}

    @classmethod
    def load_selected(cls, selection: Selection) -> Plugins:
        """Load what `selection` selects.  Raises ConfigError or PluginError."""
        plugins = cls(selection)
        plugins._refuse_silent_loss()
        chosen = {*selection.wanted, *selection.forced} - selection.blocked
        queue: dict[str, str | None] = dict.fromkeys(sorted(chosen))
        while queue:
            for name, required_by in queue.items():
                plugins.load(name, required_by)
            queue = plugins._missing_requirements()
        return plugins

    @property
    def active(self) -> tuple[str, ...]:
        """Names of the loaded plugins, sorted."""
        return tuple(sorted(n for n, r in self._records.items() if r.status == "active"))

    @property
    def versions(self) -> dict[str, str]:
        """Versions of the loaded plugins, by name."""
        return {name: self._records[name].version for name in self.active}

    def load_available(self) -> tuple[str, ...]:
        """Load everything that is installed; returns a warning for each broken plugin."""
        warnings = []
        for name in sorted(self._available()):
            if name in self._records or name in self.selection.blocked:
                continue
            try:
                self.load(name)
            except PluginError as error:
                if self.selection.strict:
                    raise
                warnings.append(str(error))
        return tuple(warnings)

    def records(self) -> tuple[PluginRecord, ...]:
        """Every plugin that is known, by name."""
        found = dict(self._records)
        idle = "not selected" if self.selection.autoload else "not selected; autoload is off"
        for name, entry in self._available().items():
            blocked = name in self.selection.blocked
            status: Status = "blocked" if blocked else "available"
            reason = f"blocked by -p no:{name}" if blocked else idle
            record = PluginRecord(name, _version(entry), _source(entry), (), status, reason)
            found.setdefault(name, record)
        return tuple(found[name] for name in sorted(found))

    def as_listed(self, selected: Iterable[str]) -> tuple[PluginRecord, ...]:
        """`records`, with plugins outside `selected` shown as available instead of active."""
        chosen = set(selected)
        return tuple(
            record
            if record.status != "active" or record.name in chosen
            else replace(record, status="available", reason="not selected")
            for record in self.records()
        )

    def schemas(self) -> dict[str, type[msgspec.Struct]]:
        """Configuration schemas of the active plugins that have one.  Raises PluginError."""
        return dict(self.call("postproc_config_schema"))

    def tables(self, config: Config) -> dict[str, Any]:
        """The typed table of every active plugin (its raw table if it has no schema).

        Raises ConfigError for bad tables, and for the table of a plugin that does not exist.
        """
        schemas = self.schemas()
        for name in sorted(set(config.plugin_tables) - set(self.active)):
            if name not in self._available() and name not in self.selection.blocked:
                raise ConfigError(
                    f"[plugin.{name}]: there is no plugin {name!r}",
                    hint=suggestion(name, {*self._available(), *self.active}),
                )
        return {
            name: plugin_table(config, name, schemas[name])
            if name in schemas
            else dict(config.plugin_tables.get(name, {}))
            for name in self.active
        }

    def call(self, hook: str, **arguments: Any) -> list[tuple[str, Any]]:
        """Call `hook` of every active plugin, by name; (plugin, result) where it is not None."""
        results = []
        for implementation in self._implementations(hook):
            result = _invoke(implementation, hook, arguments)
            if result is not None:
                results.append((implementation.plugin_name, result))
        return results

    def call_one(self, plugin: str, hook: str, **arguments: Any) -> Any:
        """Call `hook` of one plugin; None if it does not implement it."""
        for implementation in self._implementations(hook):
            if implementation.plugin_name == plugin:
                return _invoke(implementation, hook, arguments)
        return None

    def implementing(self, hook: str) -> tuple[str, ...]:
        """Names of the active plugins that implement `hook`."""
        return tuple(item.plugin_name for item in self._implementations(hook))

    def _implementations(self, hook: str) -> list[pluggy.HookImpl]:
        caller = getattr(self._pluggy.hook, hook)
        return sorted(caller.get_hookimpls(), key=lambda item: item.plugin_name)

    def _available(self) -> Mapping[str, importlib.metadata.EntryPoint]:
        if self._entry_points is None:
            found: dict[str, importlib.metadata.EntryPoint] = {}
            for entry in _installed():
                known = found.setdefault(entry.name, entry)
                if known.value != entry.value:
                    raise ConfigError(
                        f"two plugins are called {entry.name!r}",
                        why=f"{_source(known)} and {_source(entry)}",
                        hint="uninstall one of them",
                    )
            self._entry_points = found
        return self._entry_points

    def _refuse_silent_loss(self) -> None:
        chosen = self.selection
        if chosen.autoload:
            return
        lost = sorted(set(chosen.wanted) - set(chosen.forced) - chosen.blocked)
        if lost:
            raise ConfigError(
                f"the configuration names {', '.join(lost)}, but plugin autoload is off",
                hint="add " + " ".join(f"-p {name}" for name in lost),
            )

    def _missing_requirements(self) -> dict[str, str | None]:
        """Plugins that are required and not there yet, each with one that requires it."""
        needed: dict[str, str | None] = {}
        for name, info in self.call("postproc_plugin_info"):
            for required in info.requires:
                if required in self.selection.blocked:
                    raise ConfigError(f"plugin {name!r} requires {required!r}, which is blocked")
                if required not in self._records:
                    needed.setdefault(required, name)
        return needed

    def load(self, name: str, required_by: str | None = None) -> None:
        """Import and register one plugin; on failure its record says broken, and it raises."""
        if name in self._records:
            return
        entry = self._available().get(name)
        source = f"module {name}" if entry is None else _source(entry)
        version = "" if entry is None else _version(entry)
        try:
            self.register(name, self._import(name, entry, required_by), version, source)
        except (ConfigError, KeyboardInterrupt):
            raise
        except BaseException as error:  # the import runs foreign code: whatever it raises, it did
            if self._pluggy.has_plugin(name):
                self._pluggy.unregister(name=name)
            reason = _in_words(error)
            self._records[name] = PluginRecord(name, version, source, (), "broken", reason)
            raise PluginError(
                "cannot be loaded",
                plugin=name,
                hook=None,
                why=reason,
                hint=f"it comes from {source}; leave it out with -p no:{name}",
            ) from error

    def register(self, name: str, plugin: object, version: str = "", source: str = "") -> None:
        """Make `plugin` (a module or an object with hook implementations) active.

        Raises TypeError, ValueError or pluggy's PluginValidationError if it does not fit.
        """
        info = self._fit(name, plugin)
        hooks = tuple(sorted(c.name for c in self._pluggy.get_hookcallers(plugin) or ()))
        self._records[name] = PluginRecord(
            name,
            version if info is None else info.version,
            source,
            hooks,
            "active",
            "",
            "" if info is None else info.description,
        )

    def _import(
        self, name: str, entry: importlib.metadata.EntryPoint | None, required_by: str | None
    ) -> object:
        if entry is not None:
            return entry.load()
        if name in self.selection.forced:
            try:
                return importlib.import_module(name)
            except ModuleNotFoundError as error:
                if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                    raise
        raise ConfigError(
            f"there is no plugin {name!r}",
            why=None if required_by is None else f"plugin {required_by!r} requires it",
            hint=suggestion(name, self._available()),
        )

    def _fit(self, name: str, plugin: object) -> PluginInfo | None:
        self._pluggy.register(plugin, name=name)
        for caller in self._pluggy.get_hookcallers(plugin) or ():
            if not caller.has_spec():
                known = [hook for hook in dir(self._pluggy.hook) if hook.startswith(PROJECT)]
                known.remove(caller.name)
                raise TypeError(f"unknown hook {caller.name}; {suggestion(caller.name, known)}")
            for implementation in caller.get_hookimpls():
                if implementation.wrapper or implementation.hookwrapper:
                    raise TypeError(f"{caller.name} is a wrapper, which postproc does not call")
        info: PluginInfo | None = self.call_one(name, "postproc_plugin_info")
        if info is not None and (info.api[0] != PLUGIN_API[0] or info.api[1] > PLUGIN_API[1]):
            theirs, ours = (".".join(map(str, api)) for api in (info.api, PLUGIN_API))
            raise TypeError(f"it was made for plugin API {theirs}, this postproc has {ours}")
        return info


def _invoke(implementation: pluggy.HookImpl, hook: str, arguments: Mapping[str, Any]) -> Any:
    given = [arguments[name] for name in implementation.argnames]
    plugin = implementation.plugin_name
    result = guarded(plugin, hook, implementation.function, *given)
    problem = None if result is None else guarded(plugin, hook, problem_of, hook, result)
    if problem is not None:
        raise PluginError(f"returned {problem}", plugin=plugin, hook=hook)
    return result


def guarded(plugin: str, hook: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """`function(*arguments)`, which is a plugin's code.

    An iterator is used up here, where its errors can be named.  Raises PluginError in place of
    any exception that is not one of `postproc.errors`, which say enough (but for AssemblyError:
    assembly in a plugin is no matter of the user's).
    """
    try:
        result = function(*arguments)
        return tuple(result) if isinstance(result, Iterator) else result
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # foreign code, whatever it raises, is reported under its name
        if isinstance(error, PostprocError) and not isinstance(error, AssemblyError):
            raise  # it says in the plugin's words what is wrong with the input or its settings
        raise PluginError(
            f"raised {_in_words(error)}",
            plugin=plugin,
            hook=hook,
            offset=offset_in_flight(error),
            hint=f"report it to the plugin's author, or leave it out with -p no:{plugin}",
        ) from error


def _in_words(error: BaseException) -> str:
    """Kind and message; the message of a foreign exception may itself raise."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # foreign code again
        return type(error).__name__


def offset_in_flight(error: BaseException) -> int | None:
    """The section offset of the instruction that the failing code held, if it held one.

    The innermost frame of the traceback with a local variable that is an instruction, a site or a
    text position tells; a plugin has to do nothing for that.
    """
    from postproc.codeobject import TextPosition
    from postproc.isa import Instruction
    from postproc.transaction import Site

    frames = []
    trace = error.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    for frame in reversed(frames):
        for value in reversed(list(frame.f_locals.values())):
            if isinstance(value, Site):
                return value.position.offset
            if isinstance(value, (Instruction, TextPosition)):
                return value.offset
    return None


def _installed() -> importlib.metadata.EntryPoints:
    """All entry points of the group.  ConfigError: some distribution's metadata are damaged."""
    try:
        return importlib.metadata.entry_points(group=PROJECT)
    except Exception as error:  # the library reads every distribution there is, and checks none
        raise ConfigError(
            "the list of installed plugins cannot be read",
            why=_in_words(error),
            hint="the entry_points.txt or METADATA of an installed distribution are damaged",
        ) from error


def _source(entry: importlib.metadata.EntryPoint) -> str:
    dist = entry.dist
    where = "" if dist is None else f" of {dist.metadata['Name']} {dist.version}"
    return f"entry point {entry.value}{where}"


def _version(entry: importlib.metadata.EntryPoint) -> str:
    return "" if entry.dist is None else entry.dist.version or ""  # METADATA may be missing
