# SPDX-License-Identifier: Apache-2.0
"""The report's documents: the schema that is shipped is the one that the code has."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec

from postproc.report import document

DOCS = Path(__file__).parents[2] / "docs"


def test_the_shipped_schema_is_up_to_date() -> None:
    """To write it anew: `python -m postproc.report.document > docs/report.schema.json`."""
    assert json.loads((DOCS / "report.schema.json").read_text()) == json.loads(
        msgspec.json.encode(document.schema())
    )


def test_every_field_of_the_report_is_explained() -> None:
    """docs/report.md names every field of every structure of the report."""
    words = set(re.findall(r"`([a-z_0-9]+)`", (DOCS / "report.md").read_text()))
    words |= {
        word
        for phrase in re.findall(r"`([a-z_ ]+)`", (DOCS / "report.md").read_text())
        for word in phrase.split()
    }
    structures = (
        document.Report,
        document.FileReport,
        document.FileState,
        document.CodeObjectReport,
        document.PassReport,
        document.SiteReport,
        document.DecisionReport,
        document.KernelReport,
        document.ErrorReport,
        document.MapDocument,
        document.MapDocument.File,
        document.MappedObject,
    )
    fields = {name for structure in structures for name in structure.__struct_fields__}
    assert fields - words == set()
