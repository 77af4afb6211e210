# SPDX-License-Identifier: Apache-2.0
"""Diagnostics on standard error, through structlog; nothing is imported until something is said."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, final

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

__all__ = ["LogSettings", "configure", "is_json", "logger"]


@final
@dataclass(frozen=True, slots=True)
class LogSettings:
    """`verbosity`: -1 errors only, 0 warnings, 1 progress, 2 everything."""

    format: Literal["console", "json"] = "console"
    verbosity: int = 0


_LEVELS = {-1: 40, 0: 30, 1: 20, 2: 10}
"""Verbosity -> level of the standard library's logging."""

_settings = LogSettings()
_ready = False


def configure(settings: LogSettings) -> None:
    """Use `settings` from now on."""
    global _settings, _ready
    _settings, _ready = settings, False


def is_json() -> bool:
    """Whether messages are lines of JSON."""
    return _settings.format == "json"


def logger(**context: Any) -> FilteringBoundLogger:
    """A logger with `context` in each of its lines."""
    import structlog

    global _ready
    if not _ready:
        _configure_structlog()
        _ready = True
    bound: FilteringBoundLogger = structlog.get_logger().bind(**context)
    return bound


def _configure_structlog() -> None:
    import structlog

    level = _LEVELS[max(-1, min(2, _settings.verbosity))]
    renderer: Any
    if _settings.format == "json":
        renderer = structlog.processors.JSONRenderer(sort_keys=True)
    else:
        colors = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
        renderer = structlog.dev.ConsoleRenderer(
            colors=colors, pad_event_to=0, exception_formatter=structlog.dev.plain_traceback
        )
    stamps = (
        [structlog.processors.TimeStamper(fmt="iso", utc=True)]
        if _settings.format == "json"
        else []
    )
    structlog.configure(
        processors=[structlog.processors.add_log_level, *stamps, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
