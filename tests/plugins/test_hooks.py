# SPDX-License-Identifier: Apache-2.0
"""Each hook does what `postproc.hookspecs` says; plugins here are objects, run in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from postproc import hookimpl
from postproc.codeobject import CodeObject, TextPosition, TextRange
from postproc.errors import PluginError, RefusedError, VerificationError
from postproc.passes import ControlFlowFact, PassContext, PassRegistry, PluginInfo, VerifyContext
from postproc.pipeline.transform import Transformation
from postproc.plugins import Plugins, Selection
from postproc.testing import site_statuses
from postproc.transaction import (
    Claim,
    ClaimMode,
    Edit,
    Proposal,
    Site,
    SiteOutcome,
    Snippet,
)

CORPUS = Path(__file__).parents[1] / "corpus" / "gfx1250"
NOP = bytes.fromhex("000080bf")

RunPlugin = Callable[..., Transformation]


@pytest.fixture(scope="module")
def code_object() -> CodeObject:
    return CodeObject.parse((CORPUS / "async1250_O3.co").read_bytes(), "k.co")


def delays(context: PassContext) -> Iterator[tuple[Site, TextRange]]:
    for section in context.code_object.executable_sections:
        decoded = context.decoded(section)
        for index in decoded.where(context.isa.match("s_delay_alu")):
            delay = decoded[index]
            window = TextRange(section.index, delay.offset, delay.offset + delay.size)
            yield context.site(section, delay, "delay"), window


class Undelay:
    """Rewrites every delay to s_nop."""

    @hookimpl
    def postproc_prepare(self, context: PassContext) -> Proposal:
        found = delays(context)
        return Proposal([Edit(site=s, window=w, snippet=Snippet(NOP)) for s, w in found])


def test_prepare_without_a_pass_object(run_plugin: RunPlugin, code_object: CodeObject) -> None:
    run = run_plugin(Undelay(), code_object)
    assert site_statuses(run) == [(o, "rewritten") for o in (0x44, 0x78, 0xE0, 0x248)]
    assert run.changed
    assert list(run.passes) == [("plugin", "plugin")]


def test_two_passes_of_one_plugin_are_reported_apart(
    run_plugin: RunPlugin, code_object: CodeObject
) -> None:
    class First:
        name = "first"

        def prepare(self, context: PassContext) -> Proposal:
            [(site, window), *_] = delays(context)
            return Proposal([Edit(site=site, window=window, snippet=Snippet(NOP))])

    class Rest:
        name = "rest"

        def prepare(self, context: PassContext) -> Proposal:
            [_, *rest] = delays(context)
            return Proposal(outcomes=[SiteOutcome(s, "preserved", "as it is") for s, _ in rest])

    class Both:
        @hookimpl
        def postproc_register_passes(self, registry: PassRegistry) -> None:
            registry.add(Rest())
            registry.add(First())

    run = run_plugin(Both(), code_object)
    assert list(run.passes) == [("plugin", "first"), ("plugin", "rest")]
    assert [o.status for o in run.passes["plugin", "rest"]] == ["preserved"] * 3


def test_recovery_runs_until_nothing_new_is_found(
    run_plugin: RunPlugin, code_object: CodeObject
) -> None:
    seen: list[int] = []

    class Recovery:
        """Finds one fact a round, three in all."""

        @hookimpl
        def postproc_recover(self, context: PassContext) -> Iterable[ControlFlowFact]:
            known = len(context.facts)
            seen.append(known)
            section = context.code_object.executable_sections[0].index
            if known < 3:
                position = TextPosition(section, 4 * known)
                yield ControlFlowFact(position, "call", (TextPosition(section, 0),), "test")

    class Reader:
        def __init__(self) -> None:
            self.facts: tuple[ControlFlowFact, ...] = ()

        @hookimpl
        def postproc_prepare(self, context: PassContext) -> Proposal:
            self.facts = context.facts
            return Proposal()

    reader = Reader()
    run_plugin({"recovery": Recovery(), "reader": reader}, code_object)
    assert seen == [0, 1, 2, 3]
    assert [fact.position.offset for fact in reader.facts] == [0, 4, 8]


def test_recovery_that_never_settles_is_named(
    run_plugin: RunPlugin, code_object: CodeObject
) -> None:
    class Endless:
        @hookimpl
        def postproc_recover(self, context: PassContext) -> list[ControlFlowFact]:
            section = context.code_object.executable_sections[0].index
            position = TextPosition(section, 4 * len(context.facts))
            return [ControlFlowFact(position, "branch", (), "test")]

        @hookimpl
        def postproc_prepare(self, context: PassContext) -> Proposal:
            return Proposal()

    with pytest.raises(PluginError, match="does not settle"):
        run_plugin(Endless(), code_object)


def test_analyses_are_shared_and_computed_once(
    run_plugin: RunPlugin, code_object: CodeObject
) -> None:
    computed: list[str] = []

    def analysis(view: Any) -> int:
        computed.append(view.code_object.name)
        return 42

    class Asking:
        @hookimpl
        def postproc_prepare(self, context: PassContext) -> Proposal:
            assert context.analysis(analysis) == 42
            return Proposal()

    run_plugin({"a": Asking(), "b": Asking()}, code_object)
    assert computed == ["k.co"]


def test_what_a_pass_is_given_cannot_be_written(
    run_plugin: RunPlugin, code_object: CodeObject
) -> None:
    class Vandal:
        @hookimpl
        def postproc_prepare(self, context: PassContext) -> Proposal:
            section = context.code_object.executable_sections[0]
            decoded = context.decoded(section)
            for array in (decoded.offset, decoded.size, decoded.opcode):
                with pytest.raises(ValueError, match="read-only"):
                    array[0] = 1
            with pytest.raises(TypeError):
                context.code_object.data[0] = 1
            with pytest.raises(AttributeError):
                context.owner = "someone else"  # type: ignore[misc]  # the test's point
            return Proposal()

    run_plugin(Vandal(), code_object)


def test_a_plugin_that_raises_half_way_through_an_iterator_is_named(
    run_plugin: RunPlugin, code_object: CodeObject
) -> None:
    class Late:
        @hookimpl
        def postproc_recover(self, context: PassContext) -> Iterator[ControlFlowFact]:
            section = context.code_object.executable_sections[0]
            instruction = context.decoded(section)[5]
            yield ControlFlowFact(TextPosition(section.index, instruction.offset), "call", (), "")
            raise KeyError("oops")

        @hookimpl
        def postproc_prepare(self, context: PassContext) -> Proposal:
            return Proposal()

    with pytest.raises(PluginError) as caught:
        run_plugin(Late(), code_object)
    error = caught.value
    assert (error.plugin, error.hook, error.kernel) == ("plugin", "postproc_recover", "k_async")
    assert error.offset is not None
    assert isinstance(error.__cause__, KeyError)


def test_a_plugin_cannot_end_the_run_by_exiting(
    run_plugin: RunPlugin, code_object: CodeObject
) -> None:
    class Leaving:
        @hookimpl
        def postproc_prepare(self, context: PassContext) -> Proposal:
            raise SystemExit(0)

    with pytest.raises(PluginError, match="raised SystemExit"):
        run_plugin(Leaving(), code_object)


@pytest.mark.parametrize("result", [None, 7, [SimpleNamespace()]], ids=str)
def test_a_pass_must_return_a_proposal(
    run_plugin: RunPlugin, code_object: CodeObject, result: object
) -> None:
    class Wrong:
        name = "wrong"

        def prepare(self, context: PassContext) -> object:
            return result

        @hookimpl
        def postproc_register_passes(self, registry: PassRegistry) -> None:
            registry.add(self)  # type: ignore[arg-type]  # the test's point

    with pytest.raises(PluginError, match="not a Proposal"):
        run_plugin(Wrong(), code_object)


def test_nobody_proposes_in_the_name_of_another(
    run_plugin: RunPlugin, code_object: CodeObject
) -> None:
    class Impostor:
        @hookimpl
        def postproc_prepare(self, context: PassContext) -> Proposal:
            span = TextRange(context.code_object.executable_sections[0].index, 0, 4)
            return Proposal(claims=[Claim("hotswap", span, ClaimMode.PIN, True, "mine")])

    with pytest.raises(PluginError, match="in the name of 'hotswap'"):
        run_plugin(Impostor(), code_object)


def test_a_required_refusal_of_a_pass_fails_the_transaction(
    run_plugin: RunPlugin, code_object: CodeObject
) -> None:
    class Refusing:
        @hookimpl
        def postproc_prepare(self, context: PassContext) -> Proposal:
            [(first, _), (second, window), *_] = delays(context)
            refusal = SiteOutcome(first, "refused", "not proven", required=True)
            return Proposal([Edit(site=second, window=window, snippet=Snippet(NOP))], [refusal])

    with pytest.raises(RefusedError) as caught:
        run_plugin(Refusing(), code_object)
    assert caught.value.offset == 0x44
    [refusal] = caught.value.refusals
    assert refusal.reason == "0x44 s_delay_alu in k_async (plugin/delay): not proven"


def test_an_optional_refusal_does_not(run_plugin: RunPlugin, code_object: CodeObject) -> None:
    class Refusing:
        @hookimpl
        def postproc_prepare(self, context: PassContext) -> Proposal:
            return Proposal(outcomes=[SiteOutcome(s, "refused", "no") for s, _ in delays(context)])

    run = run_plugin(Refusing(), code_object)
    assert not run.changed
    assert run.produced is code_object


def test_a_plugins_own_verifier_may_refuse(run_plugin: RunPlugin, code_object: CodeObject) -> None:
    class Suspicious(Undelay):
        @hookimpl
        def postproc_verify(self, context: VerifyContext) -> Iterator[str]:
            assert context.produced.data != context.original.data
            yield "s_nop at 0x44 looks bad"

    with pytest.raises(VerificationError, match="s_nop at 0x44 looks bad"):
        run_plugin(Suspicious(), code_object)


class TestRegistration:
    def load(self, plugin: object) -> Plugins:
        plugins = Plugins(Selection(autoload=False))
        plugins.register("p", plugin)
        return plugins

    def test_an_unknown_hook_is_refused_with_a_suggestion(self) -> None:
        class Misspelt:
            @hookimpl
            def postproc_prepair(self) -> None: ...

        with pytest.raises(TypeError, match="did you mean 'postproc_prepare'"):
            self.load(Misspelt())

    def test_wrappers_are_refused(self) -> None:
        class Wrapping:
            @hookimpl(wrapper=True)
            def postproc_prepare(self) -> Iterator[None]:
                yield

        with pytest.raises(TypeError, match="wrapper"):
            self.load(Wrapping())

    @pytest.mark.parametrize("api", [(0, 9), (2, 0), (1, 99)], ids=str)
    def test_another_interface_is_refused(self, api: tuple[int, int]) -> None:
        class Other:
            @hookimpl
            def postproc_plugin_info(self) -> PluginInfo:
                return PluginInfo("p", "1", api)

        with pytest.raises(TypeError, match="plugin API"):
            self.load(Other())

    def test_implementations_take_only_the_arguments_they_want(self) -> None:
        class Small:
            @hookimpl
            def postproc_report(self) -> dict[str, int]:
                return {"x": 1}

        assert self.load(Small()).call("postproc_report", report=None, config=None) == [
            ("p", {"x": 1})
        ]
