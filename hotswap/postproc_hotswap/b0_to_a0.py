# SPDX-License-Identifier: Apache-2.0
"""The pass: every site of every section, treated by its rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from postproc.transaction import Claim, Edit, Proposal, SiteOutcome
from postproc_cfg import text_flow
from postproc_hotswap import rules, stepping
from postproc_hotswap.detection import detect
from postproc_hotswap.rules import entry_vmem, undecodable
from postproc_hotswap.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from postproc.codeobject import Section
    from postproc.passes import PassContext
    from postproc_hotswap.text import Finding

__all__ = ["B0ToA0"]

_DOUBTFUL: Final = (
    "it stands among undecodable words that nothing is known to reach: it may be data"
)


@final
class B0ToA0:
    """Rewrites what stepping A0 lacks or gets wrong; see `postproc_hotswap.defects`."""

    name = "b0-to-a0"

    def prepare(self, context: PassContext) -> Proposal:
        """Edits, outcomes and claims for one code object."""
        verdict = stepping.decide(context.code_object, context.config)
        findings: list[Finding] = []
        if verdict.action != "rewrite":
            context.log.info("object left alone", reason=verdict.reason)
            line = stepping.outcome(context, verdict)
            findings += [] if line is None else [line]
        if verdict.action != "leave":
            for section in context.code_object.executable_sections:
                findings += _findings(context, section)
        return Proposal(
            edits=[f for f in findings if isinstance(f, Edit)],
            outcomes=[f for f in findings if isinstance(f, SiteOutcome)],
            claims=[f for f in findings if isinstance(f, Claim)],
        )


def _findings(context: PassContext, section: Section) -> Iterator[Finding]:
    decoded = context.decoded(section)
    flow = context.analysis(text_flow)
    text = Text(context, section, decoded, detect(decoded, context.config), flow)
    yield from undecodable.check(text)
    yield from entry_vmem.check(text)
    doubtful = undecodable.doubtful(text)
    for index, defect in text.matches:
        if doubtful[index]:
            yield text.refuse(index, defect.rule, _DOUBTFUL)
        else:
            yield from rules.treat(text, index, defect)
