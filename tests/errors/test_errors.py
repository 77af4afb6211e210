# SPDX-License-Identifier: Apache-2.0
"""Errors say what, where, why, and what now; each has its exit status."""

from __future__ import annotations

import pickle

import pytest

from postproc.errors import (
    AssemblyError,
    ConfigError,
    MalformedInput,
    PluginError,
    PostprocError,
    Refusal,
    RefusedError,
    UsageError,
    VerificationError,
)

ERRORS = [
    PostprocError("it broke"),
    UsageError("no", file="a.co"),
    ConfigError("bad key", file="a.toml", hint="did you mean 'key'?"),
    MalformedInput("a.co", 16, "cut off", kernel="k", hint="get another"),
    RefusedError("cannot", (Refusal("no room", ("v1 is live",)), Refusal("too far"))),
    VerificationError("changed", file="a.co", kernel="k", offset=4, instruction="s_nop 0"),
    PluginError("it raised", plugin="p", hook="postproc_prepare", file="a.co", why="KeyError: 1"),
    AssemblyError("no such instruction", source="s_nothing", line=2, column=1),
]
STATUSES = [1, 2, 2, 3, 4, 5, 1, 2]
MESSAGES = [
    "it broke",
    "a.co: no",
    "a.toml: bad key\n  help: did you mean 'key'?",
    "a.co, kernel k, file offset 0x10: cut off\n  help: get another",
    "cannot\n  because: no room; v1 is live\n    too far",
    "a.co, kernel k, offset 0x4, instruction `s_nop 0`: changed",
    "plugin p, hook postproc_prepare, a.co: it raised\n  because: KeyError: 1",
    "line 2, column 1, `s_nothing`: no such instruction",
]


@pytest.mark.parametrize(("error", "status"), list(zip(ERRORS, STATUSES, strict=True)))
def test_exit_status(error: PostprocError, status: int) -> None:
    assert error.exit_code == status


@pytest.mark.parametrize(("error", "message"), list(zip(ERRORS, MESSAGES, strict=True)))
def test_message(error: PostprocError, message: str) -> None:
    assert str(error) == message


@pytest.mark.parametrize("error", ERRORS)
def test_errors_cross_processes_whole(error: PostprocError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert vars(copy) == vars(error)
    assert str(copy) == str(error)


def test_the_place_may_be_told_later() -> None:
    error = VerificationError("changed")
    error.file = "a.co"
    error.offset = 8
    assert str(error) == "a.co, offset 0x8: changed"


def test_reason_of_a_malformed_input() -> None:
    assert MalformedInput("a.co", None, "cut off").reason == "cut off"
    assert str(MalformedInput("a.co", None, "cut off")) == "a.co: cut off"
