# SPDX-License-Identifier: Apache-2.0
"""Reports from transformations."""

from __future__ import annotations

import hashlib
import platform
from typing import TYPE_CHECKING

from postproc import PLUGIN_API, __version__
from postproc.report.document import (
    CodeObjectReport,
    DecisionReport,
    FileState,
    KernelReport,
    PassReport,
    SiteReport,
    Versions,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from postproc.codeobject import CodeObject, Kernel
    from postproc.pipeline.transform import Transformation
    from postproc.transaction import Decision, SiteOutcome

__all__ = ["code_object_report", "file_state", "site_report", "versions"]


def file_state(path: str, data: bytes | memoryview) -> FileState:
    """Identity of a file's content."""
    return FileState(path=path, sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))


def versions(plugins: Mapping[str, str]) -> Versions:
    """Versions of everything that had a part in the output."""
    return Versions(
        postproc=__version__,
        plugin_api=".".join(map(str, PLUGIN_API)),
        python=platform.python_version(),
        plugins=dict(plugins),
    )


def code_object_report(run: Transformation) -> CodeObjectReport:
    """The report of one code object, as far as its transaction got."""
    before, after = run.code_object, run.produced
    decisions = () if run.arbitration is None else run.arbitration.decisions
    return CodeObjectReport(
        name=before.name,
        target=str(before.target),
        changed=run.changed,
        bytes_before=len(before.data),
        bytes_after=None if after is None else len(after.data),
        kernels=_kernels(before, after),
        passes=tuple(
            PassReport(
                plugin=plugin, name=name, sites=tuple(site_report(run, item) for item in outcomes)
            )
            for (plugin, name), outcomes in sorted(run.passes.items())
        ),
        decisions=tuple(map(_decision, decisions)),
    )


def site_report(run: Transformation, outcome: SiteOutcome) -> SiteReport:
    """One site, with its address and section in the input."""
    site = outcome.site
    index = site.position.section
    section = next(s for s in run.code_object.executable_sections if s.index == index)
    return SiteReport(
        offset=site.position.offset,
        address=section.address + site.position.offset,
        section=section.name,
        symbol=site.symbol,
        mnemonic=site.mnemonic,
        rule=site.rule,
        required=outcome.required,
        status=outcome.status,
        reason=outcome.reason,
        evidence=run.evidence.get(site, ()),
        placement=outcome.placement,
        new_offset=outcome.new_offset,
        added_bytes=outcome.added_bytes,
        added_dynamic_instructions=outcome.added_dynamic_instructions,
    )


def _decision(decision: Decision) -> DecisionReport:
    return DecisionReport(
        kind=decision.kind,
        owners=decision.owners,
        offsets=tuple(site.position.offset for site in decision.sites),
        reason=decision.reason,
    )


def _kernels(before: CodeObject, after: CodeObject | None) -> tuple[KernelReport, ...]:
    new = {} if after is None else {kernel.name: kernel for kernel in after.kernels}
    return tuple(
        KernelReport(
            name=kernel.name,
            before=_resources(kernel),
            after=_resources(new[kernel.name]) if kernel.name in new else None,
        )
        for kernel in before.kernels
    )


def _resources(kernel: Kernel) -> dict[str, int]:
    return {} if kernel.metadata is None else dict(kernel.metadata.resources)
