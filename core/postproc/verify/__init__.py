# SPDX-License-Identifier: Apache-2.0
"""The verifier: an independent reader of the produced bytes.

It re-parses and re-decodes the output and checks it against the input and the record of what was
meant.  It shares no code with placement and commit: a mistake there is to be found here.

    image       every byte outside the rewritten windows is the input's
    text        every original instruction is there, or lies in a window and is accounted for by
                it; every window holds exactly what its pieces say; nothing else was added
    flow        every entry and every direct branch lands on the instruction that the map says
    claims      what was claimed to stay did stay
    resources   kernels, descriptors and metadata agree
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from postproc.codeobject import CodeObject
from postproc.errors import MalformedInput, VerificationError
from postproc.verify.claims import check_claims
from postproc.verify.flow import check_flow, transfers_between_sections
from postproc.verify.image import check_image
from postproc.verify.record import Record, record_of
from postproc.verify.resources import check_resources
from postproc.verify.text import TextMap, check_text

if TYPE_CHECKING:
    from postproc.isa import Isa

__all__ = ["Record", "record_of", "verify"]


def verify(original: CodeObject, produced: bytes, record: Record, isa: Isa) -> CodeObject:
    """Check `produced` against `original`; returns the produced bytes as a code object.

    Raises VerificationError that says what is wrong, where.
    """
    try:
        result = CodeObject.parse(produced, original.name)
    except MalformedInput as error:
        raise VerificationError(
            "the produced code object cannot be read", file=original.name, why=str(error)
        ) from error
    check_image(original, result, record)
    if not record.windows:
        return result
    touched = {window.section for window in record.windows}
    maps = {
        section.index: TextMap.of(section, original, result, record, isa)
        for section in original.executable_sections
        if section.index in touched
    }
    strays = transfers_between_sections(original, isa)
    for text_map in maps.values():
        check_text(text_map, isa)
        check_flow(text_map, original, isa, strays)
    check_claims(original, result, record, maps)
    check_resources(original, result)
    return result
