# SPDX-License-Identifier: Apache-2.0
"""Everything that postproc raises on purpose, and the refusal, which is a value and no exception.

    PostprocError           exit status 1
    ├── UsageError          2   the command line
    │   └── ConfigError     2   a configuration
    ├── MalformedInput      3   an input that cannot be read
    ├── RefusedError        4   a required edit cannot be made
    ├── VerificationError   5   the verifier refused the result
    ├── PluginError         1   a plugin raised
    └── AssemblyError       2   assembly text that cannot be encoded

`postproc.isa.UnsupportedTarget` belongs to these, with exit status 3.

An error says what went wrong, where, why, and what the user can do, in this order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

__all__ = [
    "AssemblyError",
    "ConfigError",
    "MalformedInput",
    "PluginError",
    "PostprocError",
    "Refusal",
    "RefusedError",
    "UsageError",
    "VerificationError",
]


class PostprocError(Exception):
    """What went wrong, where, why, and what now.

    `file` is a path or the name of a code object within one; `offset` is in bytes, from the start
    of the section unless a subclass says otherwise; `instruction` is its text or mnemonic.  All may
    be set later by who knows more.
    """

    exit_code: ClassVar[int] = 1

    def __init__(
        self,
        what: str,
        *,
        file: str | None = None,
        kernel: str | None = None,
        offset: int | None = None,
        instruction: str | None = None,
        why: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.file = file
        self.kernel = kernel
        self.offset = offset
        self.instruction = instruction
        self.why = why
        self.hint = hint

    @property
    def where(self) -> str:
        """The place in words, from the file inwards; empty if nothing is known."""
        parts = []
        if self.file:
            parts.append(self.file)
        if self.kernel:
            parts.append(f"kernel {self.kernel}")
        if self.offset is not None:
            parts.append(f"{self._offset_name} 0x{self.offset:x}")
        if self.instruction:
            parts.append(f"instruction `{self.instruction}`")
        return ", ".join(parts)

    _offset_name: ClassVar[str] = "offset"

    def __reduce__(self) -> tuple[object, ...]:
        """Errors cross process boundaries whole."""
        return _restore, (type(self), self.args, dict(self.__dict__))

    def __str__(self) -> str:
        lines = [f"{self.where}: {self.what}" if self.where else self.what]
        if self.why:
            lines.append(f"  because: {self.why}")
        if self.hint:
            lines.append(f"  help: {self.hint}")
        return "\n".join(lines)


def _restore(
    kind: type[PostprocError], arguments: tuple[object, ...], state: dict[str, object]
) -> PostprocError:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    error.__dict__.update(state)
    return error


class UsageError(PostprocError):
    """The command line asks for something that cannot be."""

    exit_code = 2


class ConfigError(UsageError):
    """A configuration is wrong."""


class MalformedInput(PostprocError):
    """An input is no code object, is damaged, or is of a kind that postproc does not read.

    `offset` is the file offset in bytes of the offending field; `reason` says what is wrong there.
    """

    exit_code = 3
    _offset_name = "file offset"

    def __init__(
        self,
        file: str,
        offset: int | None,
        reason: str,
        *,
        kernel: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(reason, file=file, kernel=kernel, offset=offset, hint=hint)

    @property
    def reason(self) -> str:
        """What is wrong."""
        return self.what


@final
@dataclass(frozen=True, slots=True)
class Refusal:
    """Why something is not done.

    `reason` is one clause; `evidence` lists what it rests on, such as the instructions concerned.
    """

    reason: str
    evidence: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "; ".join((self.reason, *self.evidence))


class RefusedError(PostprocError):
    """A required edit cannot be made, so that nothing is written."""

    exit_code = 4

    def __init__(
        self,
        what: str,
        refusals: tuple[Refusal, ...] = (),
        *,
        file: str | None = None,
        kernel: str | None = None,
        offset: int | None = None,
        instruction: str | None = None,
        why: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(
            what,
            file=file,
            kernel=kernel,
            offset=offset,
            instruction=instruction,
            why=why or "\n    ".join(str(refusal) for refusal in refusals) or None,
            hint=hint,
        )
        self.refusals = refusals


class VerificationError(PostprocError):
    """The produced bytes are not what was meant, so that nothing is written."""

    exit_code = 5


class PluginError(PostprocError):
    """A plugin raised, or did what no plugin may; the original exception is `__cause__`."""

    def __init__(
        self,
        what: str,
        *,
        plugin: str,
        hook: str | None,
        file: str | None = None,
        kernel: str | None = None,
        offset: int | None = None,
        instruction: str | None = None,
        why: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(
            what,
            file=file,
            kernel=kernel,
            offset=offset,
            instruction=instruction,
            why=why,
            hint=hint,
        )
        self.plugin = plugin
        self.hook = hook

    @property
    def where(self) -> str:
        """The place in words; the plugin and its hook stand first."""
        origin = f"plugin {self.plugin}" + (f", hook {self.hook}" if self.hook else "")
        place = super().where
        return f"{origin}, {place}" if place else origin


class AssemblyError(PostprocError):
    """Assembly text cannot be encoded.

    `source` is the offending line; `line` and `column` count from 1.
    """

    exit_code = 2

    def __init__(
        self,
        what: str,
        *,
        source: str | None = None,
        line: int | None = None,
        column: int | None = None,
        file: str | None = None,
        why: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(what, file=file, why=why, hint=hint)
        self.source = source
        self.line = line
        self.column = column

    @property
    def where(self) -> str:
        """File, line, column and the line's text, as far as they are known."""
        parts = [] if self.file is None else [self.file]
        if self.line is not None:
            parts.append(f"line {self.line}")
        if self.column is not None:
            parts.append(f"column {self.column}")
        if self.source is not None:
            parts.append(f"`{self.source}`")
        return ", ".join(parts)
