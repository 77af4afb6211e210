# SPDX-License-Identifier: Apache-2.0
"""Commit: apply a plan to a private copy of the code object's bytes."""

from __future__ import annotations

from postproc.codeobject import TextRange
from postproc.transaction.plan import Plan

__all__ = ["commit"]


def commit(plan: Plan) -> bytes:
    """The bytes of the code object with every patch of `plan` applied.

    The input is never touched; without a placed edit the result equals it.  Raises ValueError if
    two patches overlap or one leaves its section: a plan like that is a defect of placement.
    """
    original = plan.code_object.data
    if not plan.placed:
        return bytes(original)
    produced = bytearray(original)
    sections = {section.index: section for section in plan.code_object.executable_sections}
    patches = [patch for edit in plan.placed for patch in edit.patches]
    end_of_last = (-1, 0)
    for patch in sorted(patches, key=lambda p: (p.span.section, p.span.start)):
        section = sections[patch.span.section]
        _check(patch.span, len(patch.data), section.size, end_of_last)
        start = section.offset + patch.span.start
        produced[start : start + len(patch.data)] = patch.data
        end_of_last = (patch.span.section, patch.span.end)
    return bytes(produced)


def _check(span: TextRange, size: int, limit: int, end_of_last: tuple[int, int]) -> None:
    if size != span.end - span.start or not 0 <= span.start < span.end <= limit:
        raise ValueError(f"patch of {size} bytes for {span} does not fit a section of {limit}")
    if end_of_last[0] == span.section and span.start < end_of_last[1]:
        raise ValueError(f"patch for {span} overlaps the one before it")
