# SPDX-License-Identifier: Apache-2.0
"""From exceptions to messages and exit statuses."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable

from postproc import log
from postproc.errors import PostprocError
from postproc.paths import printable

__all__ = ["reported", "say", "worst"]

INTERNAL_ERROR = 1

_LAYOUT = "\n\t"
"""Control characters that messages use themselves."""

_GRAVITY = (1, 5, 4, 3, 2)
"""Exit statuses from worst to mildest."""


def reported(command: Callable[[], int], verbosity: int = 0) -> int:
    """The exit status of `command`; its errors are printed to standard error."""
    try:
        return command()
    except PostprocError as error:
        say(str(error))
        if verbosity > 0:
            traceback.print_exc()
        return error.exit_code
    except Exception as error:  # the outermost boundary: no traceback unless it was asked for
        if isinstance(error, OSError) and error.filename is None:  # a stream: no file has failed
            raise
        say(f"internal error: {type(error).__name__}: {error}\n  help: -v shows the traceback")
        if verbosity > 0:
            traceback.print_exc()
        return INTERNAL_ERROR


def worst(statuses: Iterable[int]) -> int:
    """The exit status of many inputs: that of the one which failed worst."""
    found = set(statuses)
    return next((status for status in _GRAVITY if status in found), 0)


def say(message: str) -> None:
    """Print one error to standard error; as a JSON line if all messages are."""
    if log.is_json():
        log.logger().error(message)
        return
    print(f"postproc: error: {printable(message, keep=_LAYOUT)}", file=sys.stderr)
