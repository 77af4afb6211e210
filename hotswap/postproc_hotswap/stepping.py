# SPDX-License-Identifier: Apache-2.0
"""Whether a code object is to be rewritten at all.

gfx1250 has two steppings that share processor name and ELF machine.  The only mark is the optional
metadata key `.gfx1250_revision` of a kernel, "A0" or "B0" (ROCm's LLVM writes it, L#1644).  Kernels
without it are taken for `source-stepping`.  gfx1250-strict is a target of its own that means A0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, final

from postproc.codeobject import TextPosition
from postproc.transaction import Site, SiteOutcome

if TYPE_CHECKING:
    from postproc.codeobject import CodeObject, Kernel
    from postproc.passes import PassContext
    from postproc_hotswap.config import Config

__all__ = ["PROCESSOR", "REVISION_KEY", "RULE", "Verdict", "decide", "outcome", "untouched_target"]

RULE: Final = "stepping"
PROCESSOR: Final = "gfx1250"
REVISION_KEY: Final = ".gfx1250_revision"
_KNOWN: Final = ("A0", "B0")


@final
@dataclass(frozen=True, slots=True)
class Verdict:
    """`rewrite`, or why not; `kernel` is the one that the reason speaks of, if it is one."""

    action: Literal["rewrite", "leave", "refuse"]
    reason: str = ""
    kernel: Kernel | None = None


def untouched_target(processor: str) -> str | None:
    """Why code objects for `processor` are left alone; None if they are not."""
    if processor == PROCESSOR:
        return None
    if processor == "gfx1250-strict":
        return "untouched: gfx1250-strict is the target of stepping A0 itself"
    return f"untouched: {processor} has no steppings to change"


def decide(code_object: CodeObject, config: Config) -> Verdict:
    """What to do with a code object."""
    other = untouched_target(code_object.target.processor)
    if other is not None:
        return Verdict("leave", other)
    if config.target_stepping == "B0":
        return Verdict("leave", "untouched: target-stepping is B0, which runs code for A0 and B0")
    revisions = [(kernel, _revision(kernel)) for kernel in code_object.kernels]
    for kernel, revision in revisions:
        if revision not in (None, *_KNOWN):
            known = f"{REVISION_KEY} of kernel {kernel.name} is {revision!r}, not A0 or B0"
            return Verdict("refuse", known, kernel)
    effective = {revision or config.source_stepping for _, revision in revisions}
    if (effective or {config.source_stepping}) == {"A0"}:
        return Verdict("leave", "untouched: built for A0 already")
    for kernel, revision in revisions:
        if revision == "B0":
            why = f"{REVISION_KEY} would have to become A0, and metadata cannot be edited yet"
            return Verdict("refuse", why, kernel)
    return Verdict("rewrite")


def outcome(context: PassContext, verdict: Verdict) -> SiteOutcome | None:
    """The verdict as one line of the report; None for an object without code."""
    code_object = context.code_object
    kernels, sections = code_object.kernels, code_object.executable_sections
    kernel = verdict.kernel or (kernels[0] if kernels else None)
    if kernel is None and not sections:
        return None
    at = TextPosition(sections[0].index, 0) if kernel is None else kernel.position
    site = Site(context.owner, RULE, at, "", "" if kernel is None else kernel.name)
    if verdict.action == "refuse":
        return SiteOutcome(site, "refused", verdict.reason, required=True)
    return SiteOutcome(site, "not-applicable", verdict.reason)


def _revision(kernel: Kernel) -> str | None:
    """The kernel's key; None without one."""
    if kernel.metadata is None or REVISION_KEY not in kernel.metadata.fields:
        return None
    return str(kernel.metadata.fields[REVISION_KEY])
