# SPDX-License-Identifier: Apache-2.0
"""What a plugin meets: its description, the pass protocol, the registry and the read-only view.

`postproc.hookspecs` says when each of these is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, final, runtime_checkable

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

    from postproc.codeobject import CodeObject, Function, Section, TextPosition
    from postproc.isa import Decoded, Instruction, Isa
    from postproc.transaction import Plan, Proposal, Site

__all__ = [
    "Analysis",
    "ControlFlowFact",
    "ObjectView",
    "Pass",
    "PassContext",
    "PassRegistry",
    "PluginInfo",
    "VerifyContext",
]

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True)
class PluginInfo:
    """How a plugin presents itself.

    `api` is the `postproc.PLUGIN_API` it was written for.  `requires` names plugins that are loaded
    with it (control-flow recovery that its proofs need, say).
    """

    name: str
    version: str
    api: tuple[int, int]
    description: str = ""
    requires: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class ControlFlowFact:
    """Something a plugin proved about one computed transfer.

    `targets` are all places it can go; `evidence` says from what that follows.
    """

    position: TextPosition
    kind: Literal["branch", "call", "return"]
    targets: tuple[TextPosition, ...]
    idiom: str
    evidence: tuple[str, ...] = ()


@runtime_checkable
class Pass(Protocol):
    """One rewriting pass of a plugin."""

    @property
    def name(self) -> str:
        """The pass's name in reports; unique in its plugin."""

    def prepare(self, context: PassContext) -> Proposal:
        """Propose edits for one code object; the object is seen as it was read."""


@final
class PassRegistry:
    """Where one plugin registers its passes."""

    def __init__(self, plugin: str) -> None:
        self.plugin = plugin
        self._passes: dict[str, Pass] = {}

    def add(self, item: Pass) -> None:
        """Register a pass.  TypeError: it is none; ValueError: its name is taken."""
        name: object = getattr(item, "name", None)
        if not isinstance(name, str) or not isinstance(item, Pass):
            raise TypeError(f"{item!r} has no name and prepare(context): it is not a pass")
        if item.name in self._passes:
            raise ValueError(f"pass {item.name!r} is registered twice")
        self._passes[item.name] = item

    @property
    def passes(self) -> tuple[Pass, ...]:
        """All passes, by name."""
        return tuple(self._passes[name] for name in sorted(self._passes))


Analysis = Callable[["ObjectView"], T]
"""Computes something from one code object; must depend on nothing but the view."""


@final
class ObjectView:
    """One code object under rewrite, read-only, with what was computed about it so far.

    Decoded sections are cached for good, analyses per revision: a new control-flow fact makes a new
    revision.
    """

    def __init__(self, code_object: CodeObject, isa: Isa) -> None:
        self.code_object = code_object
        self.isa = isa
        self._facts: tuple[ControlFlowFact, ...] = ()
        self._decoded: dict[int, Decoded] = {}
        self._analyses: dict[Analysis[Any], tuple[int, object]] = {}
        self._functions: dict[int, tuple[list[int], list[Function]]] = {}

    @property
    def facts(self) -> tuple[ControlFlowFact, ...]:
        """Control-flow facts found so far, sorted by position."""
        return self._facts

    @property
    def revision(self) -> int:
        """Changes whenever a fact is added."""
        return len(self._facts)

    def add_facts(self, facts: tuple[ControlFlowFact, ...]) -> bool:
        """Record facts (the pipeline does, nobody else); whether any was new."""
        merged = set(self._facts).union(facts)
        grown = len(merged) > len(self._facts)
        self._facts = tuple(
            sorted(merged, key=lambda f: (f.position.section, f.position.offset, repr(f)))
        )
        return grown

    def decoded(self, section: Section) -> Decoded:
        """The instructions of an executable section; its arrays are not writeable."""
        found = self._decoded.get(section.index)
        if found is None:
            found = self.isa.decode(
                self.code_object.code(section),
                self.code_object.symbol_offsets(section),
                self.code_object.labels(section),
            )
            for array in (found.offset, found.size, found.opcode):
                array.flags.writeable = False
            self._decoded[section.index] = found
        return found

    def analysis(self, compute: Analysis[T]) -> T:
        """`compute(view)`, once a revision."""
        known = self._analyses.get(compute)
        if known is not None and known[0] == self.revision:
            result: T = known[1]  # type: ignore[assignment]  # stored below under the same key
            return result
        result = compute(self)
        self._analyses[compute] = (self.revision, result)
        return result

    def function_at(self, position: TextPosition) -> Function | None:
        """The function that holds `position`, else the unsized one that begins last before it."""
        import bisect

        found = self._functions.get(position.section)
        if found is None:
            here = [f for f in self.code_object.functions if f.section_index == position.section]
            here.sort(key=lambda f: (f.offset, f.size, f.name))
            found = ([f.offset for f in here], here)
            self._functions[position.section] = found
        offsets, functions = found
        rank = bisect.bisect_right(offsets, position.offset) - 1
        if rank < 0:
            return None
        candidate = functions[rank]
        inside = not candidate.sized or position.offset < candidate.offset + candidate.size
        return candidate if inside else None

    def symbol_at(self, position: TextPosition) -> str:
        """The name of `function_at`, or ""."""
        function = self.function_at(position)
        return "" if function is None else function.name


@final
@dataclass(frozen=True)
class PassContext:
    """What a pass sees of one code object.  Nothing of it can be changed.

    `owner` is the plugin's name; `config` its own `[plugin.<name>]` table as its schema's structure
    (a dict if the plugin has no schema).
    """

    view: ObjectView
    owner: str
    config: Any

    @property
    def log(self) -> FilteringBoundLogger:
        """A structlog logger that knows plugin and object."""
        from postproc import log

        return log.logger(plugin=self.owner, file=self.view.code_object.name)

    @property
    def code_object(self) -> CodeObject:
        return self.view.code_object

    @property
    def isa(self) -> Isa:
        return self.view.isa

    @property
    def facts(self) -> tuple[ControlFlowFact, ...]:
        return self.view.facts

    def decoded(self, section: Section) -> Decoded:
        """The instructions of an executable section, decoded once."""
        return self.view.decoded(section)

    def analysis(self, compute: Analysis[T]) -> T:
        """The result of an analysis (`compute(view)`), shared by all passes."""
        return self.view.analysis(compute)

    def site(self, section: Section, instruction: Instruction, rule: str) -> Site:
        """The `Site` of an instruction that `rule` of this plugin matched."""
        from postproc.codeobject import TextPosition
        from postproc.transaction import Site

        position = TextPosition(section.index, instruction.offset)
        symbol = self.view.symbol_at(position)
        return Site(self.owner, rule, position, instruction.mnemonic, symbol)


@final
@dataclass(frozen=True)
class VerifyContext:
    """What `postproc_verify` sees: the object before, the bytes after, and the plan between."""

    original: CodeObject
    produced: CodeObject
    plan: Plan
    isa: Isa
    config: Any


Contributions = Mapping[str, Any]
"""What `postproc_report` returns: JSON-able values for the plugin's part of the report."""
