# SPDX-License-Identifier: Apache-2.0
"""Claims that had to hold, checked in the produced object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from postproc.errors import VerificationError
from postproc.transaction.claims import ClaimMode
from postproc.verify.record import ClaimRecord, Record
from postproc.verify.text import TextMap

if TYPE_CHECKING:
    from postproc.codeobject import CodeObject

__all__ = ["check_claims"]


def check_claims(
    original: CodeObject, produced: CodeObject, record: Record, texts: Mapping[int, TextMap]
) -> None:
    """Raise VerificationError for a broken READ or PIN claim.

    `texts` are the sections that have windows; in any other nothing can have changed.
    """
    for claim in record.claims:
        if claim.mode.writes:
            continue
        if claim.kind in ("text", "register"):
            text = texts.get(claim.section)
            if text is not None:
                (_check_span if claim.kind == "text" else _check_register)(claim, text)
        elif _value(claim, original) != _value(claim, produced):
            raise VerificationError(
                f"a claim of {claim.owner} was broken",
                file=original.name,
                kernel=claim.kernel or None,
                why=f"{claim.kind} {claim.name} changed ({claim.reason})",
            )


def _check_span(claim: ClaimRecord, text: TextMap) -> None:
    """Every instruction of the span keeps its bytes; pinned ones their place as well."""
    starts = text.old.offset
    bounds = np.searchsorted(starts, (claim.start, claim.end)).tolist()
    for index in range(*bounds):
        offset, size = int(starts[index]), int(text.old.size[index])
        window = text.window_at(offset)
        if window is None:
            continue
        if claim.owner in window.owners:
            continue
        new = text.new_offset(offset)
        stays = new is not None and (claim.mode is not ClaimMode.PIN or new == offset)
        if not stays or not _same_bytes(text, offset, new, size):
            raise text.fail(f"a claim of {claim.owner} was broken", offset, claim.reason)


def _same_bytes(text: TextMap, old: int, new: int | None, size: int) -> bool:
    return new is not None and text.old_code[old : old + size] == text.new_code[new : new + size]


def _check_register(claim: ClaimRecord, text: TextMap) -> None:
    """No foreign code stands just before the point; the register arrives as it was.

    Code that a window puts before the instruction at the point must not define the register.
    """
    window = text.window_at(claim.start)
    if window is None or claim.owner in window.owners:
        return
    point = text.new_offset(claim.start)
    stop = window.new_end if point is None else point
    bounds = np.searchsorted(text.new.offset, (window.new_start, stop)).tolist()
    for index in range(*bounds):
        instruction = text.new[index]
        if claim.name in instruction.defs:
            raise text.fail(
                f"a claim of {claim.owner} was broken",
                instruction.offset,
                f"{instruction.text} writes {claim.name} ({claim.reason})",
            )


def _value(claim: ClaimRecord, code_object: CodeObject) -> object:
    """What the claimed field of `code_object` holds; None if it is missing."""
    if claim.kind == "symbol":
        found = [f for f in code_object.functions if f.name == claim.name]
        return [(f.address, f.size) for f in found]
    for kernel in code_object.kernels:
        if kernel.name != claim.kernel:
            continue
        if claim.kind == "descriptor":
            return getattr(kernel.descriptor, claim.name, None)
        return None if kernel.metadata is None else kernel.metadata.fields.get(claim.name)
    return None
