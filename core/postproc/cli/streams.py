# SPDX-License-Identifier: Apache-2.0
"""Standard output and error: closed ones, full ones, readers that go away, names in any bytes."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable

from postproc.cli.failures import say

__all__ = ["abandon_output", "output_written", "prepare_streams"]

USAGE_ERROR = 2


def prepare_streams() -> None:
    """Make both streams usable whatever they are, and able to print every name."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the caller (`>&-`)
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  # for the life of the process
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def output_written(command: Callable[[], int]) -> int:
    """The exit status of `command`, whose output has left the process by then.

    Who stops reading (`| head`) has seen enough: that is no failure.  A full disk is one.
    """
    try:
        try:
            return command()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        abandon_output()
        return 0
    except OSError as error:
        if error.filename is not None:
            raise
        say(f"cannot write to standard output: {error.strerror}")
        abandon_output()
        return USAGE_ERROR


def abandon_output() -> None:
    """What is still buffered has nowhere to go."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
