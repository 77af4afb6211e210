# SPDX-License-Identifier: Apache-2.0
"""The hooks: the reference for plugin authors.

A plugin is a module (or an object) with functions marked by `postproc.hookimpl`, announced by an
entry point of the group `postproc`::

    # pyproject.toml of the plugin
    [project.entry-points.postproc]
    my-plugin = "postproc_my_plugin"

The entry point's name is the plugin's name: what `[postproc] plugins`, `-p NAME` and
`[plugin.NAME]` say.  A plugin is imported only when a run selects it.

Rules that hold for every hook
    - An implementation may take fewer arguments than the specification, by name.  New arguments
      are only ever added last, together with a new minor of `postproc.PLUGIN_API`.
    - Implementations are called in the order of the plugins' names, whatever the order in which
      they were loaded.  `tryfirst`, `trylast` and wrappers have no place here; a plugin with a
      wrapper is not loaded.
    - What a hook is given is read-only.  A plugin proposes; it never writes bytes.
    - An exception of a plugin ends the object's transaction: nothing is written, and a
      `PluginError` (exit status 1) names plugin, hook, kernel and offset.  A
      `postproc.errors.PostprocError` keeps its own exit status.  Set `offset` and `kernel` on one,
      or raise from inside `prepare`, where the pass is known, to have the place in the message.
    - A refusal is no exception: return it, as a `SiteOutcome` or a `Refusal`.

Phases: open, recover, prepare, arbitrate, place, commit, verify, write, report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from postproc import hookspec

if TYPE_CHECKING:
    import argparse

    import msgspec

    from postproc.containers import Container
    from postproc.passes import (
        ControlFlowFact,
        PassContext,
        PassRegistry,
        PluginInfo,
        VerifyContext,
    )
    from postproc.report.document import FileReport
    from postproc.transaction import Proposal

__all__ = [
    "postproc_cli",
    "postproc_config_schema",
    "postproc_open_container",
    "postproc_plugin_info",
    "postproc_prepare",
    "postproc_recover",
    "postproc_register_passes",
    "postproc_report",
    "postproc_verify",
]


@hookspec
def postproc_plugin_info() -> PluginInfo:  # type: ignore[empty-body]  # a specification
    """Present the plugin.  Phase: loading, before any other hook.

    Without it the plugin has the version of its distribution and is taken to fit any minor of the
    current API major.  Errors: an exception, another API major or a newer minor make the plugin
    *broken*: it is not active, and a run that selected it ends (exit status 1).

    Example::

        @hookimpl
        def postproc_plugin_info() -> PluginInfo:
            return PluginInfo("my-plugin", "1.2.0", api=(1, 0), description="counts branches")
    """


@hookspec
def postproc_config_schema() -> type[msgspec.Struct]:  # type: ignore[empty-body]  # a specification
    """The type of the plugin's own `[plugin.<name>]` table.  Phase: loading.

    A `msgspec.Struct` subclass whose fields all have defaults.  Keys that it does not have are
    errors in the user's configuration (exit status 2, with a suggestion) even if the structure
    itself would ignore them.  Field docstrings do not exist at run time: describe a field with
    `Annotated[int, msgspec.Meta(description="...")]`, and `postproc config --schema` shows it.

    Example::

        class Config(msgspec.Struct, frozen=True):
            limit: Annotated[int, msgspec.Meta(ge=0, description="most edits per kernel")] = 16

        @hookimpl
        def postproc_config_schema() -> type[msgspec.Struct]:
            return Config
    """


@hookspec
def postproc_register_passes(registry: PassRegistry, config: Any) -> None:
    """Register the plugin's passes.  Phase: prepare, once an object, before any pass runs.

    `registry.add(pass_)` takes any object with a `name` and `prepare(context) -> Proposal`.
    `config` is the plugin's table as its schema's structure (a dict if it has no schema).
    Passes must keep no state between objects: objects are worked on in several processes.

    Example::

        class NoSleep:
            name = "no-sleep"

            def prepare(self, context: PassContext) -> Proposal:
                edits = []
                for section in context.code_object.executable_sections:
                    decoded = context.decoded(section)
                    for index in decoded.where(context.isa.match("s_sleep")):
                        instruction = decoded[index]
                        site = context.site(section, instruction, "no-sleep")
                        start = instruction.offset
                        window = TextRange(section.index, start, start + instruction.size)
                        edits.append(Edit(site=site, window=window, snippet=Snippet("s_nop 0")))
                return Proposal(edits)

        @hookimpl
        def postproc_register_passes(registry: PassRegistry, config: Config) -> None:
            registry.add(NoSleep())
    """


@hookspec
def postproc_prepare(context: PassContext) -> Proposal | None:
    """Propose edits without a pass object.  Phase: prepare.

    For small plugins: the same as one registered pass that is named as the plugin.  The order in
    which passes run has no influence on the result: each sees the original, none sees another's
    proposal.  Every site and claim must bear `context.owner` as its owner.

    Example::

        @hookimpl
        def postproc_prepare(context: PassContext) -> Proposal:
            ...
    """


@hookspec
def postproc_recover(context: PassContext) -> Iterable[ControlFlowFact] | None:
    """Add facts about computed branches, calls and returns.  Phase: recover.

    Called again and again, with the facts found so far in `context.facts`, until a round adds none.
    A fact is a proof: return nothing rather than a guess.  More facts must never make the plugin
    contradict what it said before.

    Example::

        @hookimpl
        def postproc_recover(context: PassContext) -> Iterable[ControlFlowFact]:
            yield ControlFlowFact(position, "call", (target,), "getpc+add", ("s[4:5] at 0x40",))
    """


@hookspec
def postproc_verify(context: VerifyContext) -> Iterable[str] | None:
    """Check the produced bytes.  Phase: verify, after the core's own verifier.

    Return one sentence for every broken rule, with its place; any sentence ends the transaction
    (exit status 5, nothing is written).  Decode the bytes anew; do not trust the plan.

    Example::

        @hookimpl
        def postproc_verify(context: VerifyContext) -> Iterable[str]:
            for section in context.produced.executable_sections:
                decoded = context.isa.decode(context.produced.code(section))
                for index in decoded.where(context.isa.match("s_sleep")):
                    yield f"s_sleep at 0x{decoded[index].offset:x} survived"
    """


@hookspec
def postproc_report(report: FileReport, config: Any) -> Mapping[str, Any] | None:
    """Add to the report.  Phase: report, after the output was written; also for failed inputs.

    The mapping (JSON values only) appears under `plugins.<name>` of the file's report.

    Example::

        @hookimpl
        def postproc_report(report: FileReport) -> Mapping[str, Any]:
            return {"sleeps": sum(len(p.sites) for o in report.code_objects for p in o.passes)}
    """


@hookspec(firstresult=True)
def postproc_open_container(data: memoryview, name: str) -> Container | None:
    """Recognise a container format that the core does not know.  Phase: open.

    Return None for anything else than your own format; look at the magic bytes only.  The first
    plugin, by name, that answers is used; the core's own formats are tried before.  Errors: raise
    `postproc.errors.MalformedInput` for a container of your format that is damaged (exit status 3).

    Example::

        @hookimpl
        def postproc_open_container(data: memoryview, name: str) -> Container | None:
            return TarOfObjects(data, name) if data[257:262] == b"ustar" else None
    """


@hookspec
def postproc_cli(subcommands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add subcommands.  Phase: command line; only when the user names one that the core lacks.

    Set `run` as a default of the parser: `run(arguments: argparse.Namespace) -> int` returns the
    exit status.

    Example::

        @hookimpl
        def postproc_cli(subcommands) -> None:
            parser = subcommands.add_parser("count", help="count branches")
            parser.add_argument("input")
            parser.set_defaults(run=count)
    """
