# SPDX-License-Identifier: Apache-2.0
"""From exceptions to messages and exit statuses."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable

from postproc.errors import PostprocError

__all__ = ["reported", "say"]

INTERNAL_ERROR = 1


def reported(command: Callable[[], int], verbosity: int = 0) -> int:
    """The exit status of `command`; its errors are printed to standard error."""
    try:
        return command()
    except BrokenPipeError:
        raise
    except PostprocError as error:
        say(str(error))
        if verbosity > 0:
            traceback.print_exc()
        return error.exit_code
    except Exception as error:  # the outermost boundary: no traceback unless it was asked for
        say(f"internal error: {type(error).__name__}: {error}\n  help: -v shows the traceback")
        if verbosity > 0:
            traceback.print_exc()
        return INTERNAL_ERROR


def say(message: str) -> None:
    """Print one error to standard error."""
    print(f"postproc: error: {message}", file=sys.stderr)
