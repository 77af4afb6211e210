# SPDX-License-Identifier: Apache-2.0
"""One code object through the transaction."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from postproc import isa
from postproc.errors import PluginError, Refusal, RefusedError, VerificationError
from postproc.hook_results import problem_of_proposal
from postproc.passes import ObjectView, Pass, PassContext, PassRegistry, VerifyContext
from postproc.pipeline.session import Session
from postproc.placement import place, placements
from postproc.plugins import guarded
from postproc.transaction import (
    Arbitration,
    Claim,
    PlacedEdit,
    Plan,
    Proposal,
    RefusedEdit,
    Site,
    SiteOutcome,
    arbitrate,
    commit,
)
from postproc.verify import Record, record_of, verify

if TYPE_CHECKING:
    from postproc.codeobject import CodeObject

__all__ = ["Transformation", "transform", "view_of"]

_WITHDRAWN = "withdrawn: the file failed, nothing of it is written"

_MOST_LISTED = 40
"""Refused sites that the message of a failed transaction names."""

_MOST_ROUNDS = 1000
"""Rounds of recovery; facts only ever grow, so one that never settles is a plugin's defect."""


@final
@dataclass
class Transformation:
    """What was done to one code object, as far as it got.

    `passes` maps (plugin, pass) to the final outcomes of its sites, in order of place; `produced`
    is the output (the input itself if nothing changed), None if the transaction failed.
    """

    code_object: CodeObject
    produced: CodeObject | None = None
    passes: dict[tuple[str, str], tuple[SiteOutcome, ...]] = field(default_factory=dict)
    evidence: dict[Site, tuple[str, ...]] = field(default_factory=dict)
    arbitration: Arbitration | None = None
    record: Record = field(default_factory=Record)
    warnings: list[str] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Whether the output differs from the input."""
        produced = self.produced
        if produced is None or produced is self.code_object:
            return False
        return not np.array_equal(np.asarray(produced.data), np.asarray(self.code_object.data))

    def withdraw(self) -> None:
        """The file has failed, so nothing of it is written: no site counts as rewritten."""
        self.produced = None
        for key, outcomes in self.passes.items():
            self.passes[key] = tuple(
                SiteOutcome(item.site, "refused", _WITHDRAWN, required=item.required)
                if item.status == "rewritten"
                else item
                for item in outcomes
            )

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure one phase."""
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - start
            self.timings[name] = self.timings.get(name, 0.0) + spent


def transform(run: Transformation, session: Session) -> None:
    """Take `run.code_object` through recover ... verify; the results go into `run`.

    Raises RefusedError, VerificationError, PluginError or UnsupportedTarget; `run` then tells how
    far it got.
    """
    code_object = run.code_object
    working = session.plugins.implementing("postproc_register_passes") or (
        session.plugins.implementing("postproc_prepare")
    )
    if not working or not session.rewrites(code_object.target.processor):
        run.produced = code_object
        return
    with run.phase("recover"):
        view = view_of(code_object)
        _recover(view, session)
    with run.phase("prepare"):
        proposals = _prepare(view, session)
    run.warnings += sorted({w for p in proposals.values() for w in p.warnings})
    arbitration, plan = _plan(run, view, proposals, session)
    if not plan.placed:
        run.produced = code_object
        return
    with run.phase("commit"):
        data = commit(plan)
    with run.phase("verify"):
        run.record = record_of(plan, _held_claims(arbitration, plan))
        produced = verify(code_object, data, run.record, view.isa)
        _verify_by_plugins(session, plan, produced, view)
    run.produced = produced


def _plan(
    run: Transformation,
    view: ObjectView,
    proposals: Mapping[tuple[str, str], Proposal],
    session: Session,
) -> tuple[Arbitration, Plan]:
    """Arbitrate and place.  Raises RefusedError if anything required has no place."""
    with run.phase("arbitrate"):
        arbitration = arbitrate(proposals.values())
        run.arbitration = arbitration
    with run.phase("place"), _located(view):
        ways = placements(session.settings.config.core.placement)
        plan = place(view, arbitration.accepted, ways)
    refused = [*arbitration.refused, *plan.refused]
    _settle_outcomes(run, proposals, plan.placed, refused)
    _fail_if_refused(run, refused)
    return arbitration, plan


def view_of(code_object: CodeObject) -> ObjectView:
    """A code object with the instruction set of its target.  Raises UnsupportedTarget."""
    lanes = min(code_object.wavefront_sizes)
    return ObjectView(code_object, isa.load(code_object.target.processor, lanes))


def _recover(view: ObjectView, session: Session) -> None:
    implementing = session.plugins.implementing("postproc_recover")
    for _ in range(_MOST_ROUNDS if implementing else 0):
        grown = False
        for plugin in implementing:
            context = PassContext(view, plugin, session.tables[plugin])
            with _located(view):
                found = session.plugins.call_one(plugin, "postproc_recover", context=context)
            grown |= view.add_facts(tuple(found or ()))
        if not grown:
            return
    if implementing:
        raise PluginError(
            "control-flow recovery does not settle",
            plugin=", ".join(implementing),
            hook="postproc_recover",
            file=view.code_object.name,
        )


def _prepare(view: ObjectView, session: Session) -> dict[tuple[str, str], Proposal]:
    proposals: dict[tuple[str, str], Proposal] = {}
    for plugin in session.plugins.active:
        context = PassContext(view, plugin, session.tables[plugin])
        for item in _passes(plugin, session):
            with _located(view):
                hook = f"postproc_prepare of pass {item.name}"
                result = guarded(plugin, hook, item.prepare, context)
                proposals[plugin, item.name] = _checked(result, plugin, hook)
        with _located(view):
            hook = "postproc_prepare"
            result = session.plugins.call_one(plugin, hook, context=context)
            if result is not None and (plugin, plugin) in proposals:
                what = "has this hook and a registered pass of its own name, too"
                raise PluginError(what, plugin=plugin, hook=hook)
            if result is not None:
                proposals[plugin, plugin] = _checked(result, plugin, hook)
    return proposals


def _passes(plugin: str, session: Session) -> Sequence[Pass]:
    registry = PassRegistry(plugin)
    session.plugins.call_one(
        plugin, "postproc_register_passes", registry=registry, config=session.tables[plugin]
    )
    return registry.passes


def _checked(result: object, plugin: str, hook: str) -> Proposal:
    """Only a sound proposal in the plugin's own name will do."""
    problem = guarded(plugin, hook, problem_of_proposal, result, plugin)
    if problem is not None:
        raise PluginError(f"returned {problem}", plugin=plugin, hook=hook)
    assert isinstance(result, Proposal)
    return result


@contextmanager
def _located(view: ObjectView) -> Iterator[None]:
    """Give errors of plugins the file, and the kernel around their offset."""
    try:
        yield
    except PluginError as error:
        error.file = error.file or view.code_object.name
        if error.kernel is None and error.offset is not None:
            error.kernel = _kernel_around(view, error.offset)
        raise


def _kernel_around(view: ObjectView, offset: int) -> str | None:
    from postproc.codeobject import TextPosition

    for section in view.code_object.executable_sections:
        name = view.symbol_at(TextPosition(section.index, offset))
        if name:
            return name
    return None


def _settle_outcomes(
    run: Transformation,
    proposals: Mapping[tuple[str, str], Proposal],
    placed: Iterable[PlacedEdit],
    refused: Iterable[RefusedEdit],
) -> None:
    """The final outcome of every site of every pass."""
    of_site: dict[Site, SiteOutcome] = {}
    for edit in placed:
        of_site.update((outcome.site, outcome) for outcome in _placed_outcomes(edit))
    for item in refused:
        site = item.edit.site
        run.evidence[site] = item.refusal.evidence
        of_site[site] = SiteOutcome(
            site, "refused", item.refusal.reason, required=item.edit.required
        )
    for key, proposal in proposals.items():
        outcomes = [*proposal.outcomes]
        outcomes += [of_site[site] for site in dict.fromkeys(e.site for e in proposal.edits)]
        outcomes.sort(key=lambda o: (o.site.position.section, o.site.position.offset, o.site.rule))
        run.passes[key] = tuple(outcomes)


def _placed_outcomes(placed: PlacedEdit) -> Iterator[SiteOutcome]:
    """One outcome an edit; what a merged edit costs is booked on the outermost one."""
    moved = {move.source.start: move.target.start for move in placed.moves}
    for rank, edit in enumerate(placed.merged.edits):
        yield SiteOutcome(
            site=edit.site,
            status="rewritten",
            reason=edit.reason or f"rule {edit.site.rule}",
            placement=placed.placement,
            new_offset=moved.get(edit.site.position.offset, placed.target.start),
            added_bytes=placed.added_bytes if rank == 0 else 0,
            added_dynamic_instructions=placed.added_dynamic_instructions if rank == 0 else 0,
            required=edit.required,
        )


def _fail_if_refused(run: Transformation, refused: Sequence[RefusedEdit]) -> None:
    """RefusedError that names every required site that was refused, by edits or by passes."""
    lost = [(r.edit.site, r.refusal) for r in refused if r.edit.required]
    for outcomes in run.passes.values():
        known = {site for site, _ in lost}
        lost += [
            (o.site, Refusal(o.reason))
            for o in outcomes
            if o.status == "refused" and o.required and o.site not in known
        ]
    if not lost:
        return
    lost.sort(key=lambda item: (item[0].position.section, item[0].position.offset, item[0].rule))
    site = lost[0][0]
    raise RefusedError(
        f"{len(lost)} required rewrite{'s were' if len(lost) > 1 else ' was'} refused",
        file=run.code_object.name,
        kernel=site.symbol or None,
        offset=site.position.offset,
        instruction=site.mnemonic,
        why=_listing([f"{_place(site)}: {refusal}" for site, refusal in lost]),
        refusals=tuple(
            Refusal(f"{_place(site)}: {refusal.reason}", refusal.evidence) for site, refusal in lost
        ),
    )


def _listing(lines: Sequence[str]) -> str:
    """The first lines; the report has them all."""
    more = len(lines) - _MOST_LISTED
    rest = [f"and {more} more, which --report FILE lists"] if more > 0 else []
    return "\n    ".join([*lines[:_MOST_LISTED], *rest])


def _place(site: Site) -> str:
    where = f" in {site.symbol}" if site.symbol else ""
    return f"0x{site.position.offset:x} {site.mnemonic}{where} ({site.owner}/{site.rule})"


def _held_claims(arbitration: Arbitration, plan: Plan) -> list[Claim]:
    """Claims that must hold in the output; those of edits that found no place do not."""
    gone = {claim for item in plan.refused for claim in item.edit.claims}
    kept = {claim for p in plan.placed for e in p.merged.edits for claim in e.claims}
    return [claim for claim in arbitration.claims if claim not in gone or claim in kept]


def _verify_by_plugins(
    session: Session, plan: Plan, produced: CodeObject, view: ObjectView
) -> None:
    for plugin in session.plugins.implementing("postproc_verify"):
        context = VerifyContext(view.code_object, produced, plan, view.isa, session.tables[plugin])
        with _located(view):
            problems = session.plugins.call_one(plugin, "postproc_verify", context=context)
        for problem in problems or ():
            raise VerificationError(
                f"plugin {plugin!r} refuses the output", file=view.code_object.name, why=problem
            )
