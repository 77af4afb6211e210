# SPDX-License-Identifier: Apache-2.0
"""What stays the same for all inputs of a run: settings, plugins, their tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, final

from postproc.config import Config
from postproc.log import LogSettings
from postproc.plugins import Plugins, Selection

__all__ = ["RunSettings", "Session"]


@final
@dataclass(frozen=True)
class RunSettings:
    """Everything that a worker process needs to know; pickled to it as it is."""

    config: Config
    selection: Selection
    dry_run: bool = False
    log: LogSettings = field(default_factory=LogSettings)


@final
class Session:
    """Loaded plugins and their typed configuration."""

    def __init__(self, settings: RunSettings, plugins: Plugins, tables: dict[str, Any]) -> None:
        self.settings = settings
        self.plugins = plugins
        self.tables = tables

    @classmethod
    def open(cls, settings: RunSettings) -> Session:
        """Load the selected plugins.  Raises ConfigError or PluginError."""
        plugins = Plugins.load_selected(settings.selection)
        return cls(settings, plugins, plugins.tables(settings.config))

    def rewrites(self, processor: str) -> bool:
        """Whether code objects for `processor` are to be rewritten."""
        return any(fnmatchcase(processor, p) for p in self.settings.config.core.targets)
