# SPDX-License-Identifier: Apache-2.0
"""The document of `postproc inspect`: a public interface."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from postproc.containers import open_container
from postproc.report.inspect import InspectDocument, inspect_document, render, schema

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def document(corpus: Path) -> InspectDocument:
    """The document of an object with three kernels."""
    data = (corpus / "gfx1250" / "async1250_O3.co").read_bytes()
    return inspect_document(open_container(data, "k.co"))


def test_container_and_target(document: InspectDocument) -> None:
    found = msgspec.to_builtins(document)
    assert (found["schema"], found["file"]) == ("postproc.inspect/1", "k.co")
    assert found["container"] == {
        "format": "elf",
        "name": "k.co",
        "offset": 0,
        "size": 6544,
        "code_object": 0,
        "children": (),
    }
    (code_object,) = found["code_objects"]
    assert code_object["target"] == {
        "id": "amdgcn-amd-amdhsa--gfx1250",
        "processor": "gfx1250",
        "xnack": "any",
        "sramecc": "any",
        "generic_version": 0,
        "code_object_version": 6,
        "e_flags": 0x549,
    }
    assert {key: code_object[key] for key in ("type", "functions", "entries", "symbols")} == {
        "type": "shared",
        "functions": 3,
        "entries": 3,
        "symbols": 27,
    }


def test_kernel_with_its_resources(document: InspectDocument) -> None:
    kernel: dict[str, Any] = msgspec.to_builtins(document.code_objects[0].kernels[0])
    bits = kernel["descriptor"].pop("bits")
    assert bits["user_sgpr_count"] == 2
    assert bits["enable_wavefront_size32"] == 1
    assert kernel == {
        "name": "k_async",
        "section": ".text",
        "offset": 0,
        "address": 0x1B00,
        "wavefront_size": 32,
        "registers": {
            "vgprs": 16,
            "vgpr_granule": 16,
            "accum_offset": None,
            "sgprs": None,
            "sgpr_granule": None,
        },
        "descriptor": {
            "file_offset": 0xA40,
            "address": 0xA40,
            "group_segment_fixed_size": 5120,
            "private_segment_fixed_size": 0,
            "kernarg_size": 28,
            "kernel_code_entry_byte_offset": 0x10C0,
        },
        "metadata": {
            "group_segment_fixed_size": 5120,
            "private_segment_fixed_size": 0,
            "kernarg_segment_size": 28,
            "kernarg_segment_align": 8,
            "wavefront_size": 32,
            "sgpr_count": 10,
            "vgpr_count": 13,
            "sgpr_spill_count": 0,
            "vgpr_spill_count": 0,
            "max_flat_workgroup_size": 64,
        },
    }


def test_section(document: InspectDocument) -> None:
    (text,) = [s for s in document.code_objects[0].sections if s.name == ".text"]
    assert msgspec.to_builtins(text) == {
        "index": 7,
        "name": ".text",
        "type": "PROGBITS",
        "flags": "AX",
        "address": 0x1B00,
        "offset": 0xB00,
        "size": 0x500,
        "alignment": 256,
        "executable": True,
    }


def test_every_object_fits_the_schema(corpus_object: Path) -> None:
    document = inspect_document(open_container(corpus_object.read_bytes(), str(corpus_object)))
    encoded = msgspec.json.encode(document)
    assert msgspec.json.decode(encoded, type=InspectDocument) == document
    assert json.loads(encoded)["schema"] == "postproc.inspect/1"


def test_schema_of_the_documentation_is_current() -> None:
    """To write it anew: `python -m postproc.report.inspect > docs/inspect.schema.json`."""
    assert json.loads((DOCS / "inspect.schema.json").read_text()) == schema()


def test_schema_describes_each_structure() -> None:
    described = schema()
    assert described["title"] == "postproc.inspect/1"
    kernel = described["$defs"]["KernelDocument"]["properties"]
    assert kernel["offset"]["description"] == "of its entry, from the start of the section"


def test_sgprs_and_accumulation_registers(corpus: Path) -> None:
    path = corpus / "gfx90a" / "mfma_O3.co"
    document = inspect_document(open_container(path.read_bytes(), "k.co"))
    registers = document.code_objects[0].kernels[0].registers
    assert (registers.vgpr_granule, registers.sgpr_granule) == (8, 8)
    assert registers.accum_offset is not None
    assert registers.sgprs is not None


def test_for_people(document: InspectDocument) -> None:
    stream = io.StringIO()
    Console(file=stream, width=120).print(render(document))
    lines = stream.getvalue().splitlines()
    assert lines[0] == (
        "k.co: amdgcn-amd-amdhsa--gfx1250, code object version 6, shared, 6544 bytes"
    )
    assert lines[2].split() == ["k_async", ".text+0x0", "32", "16", "-", "5120", "0", "28"]
    assert any(line.split()[:3] == [".text", "PROGBITS", "AX"] for line in lines)


def test_names_with_markup_are_shown_as_they_are(corpus: Path) -> None:
    path = corpus / "gfx1250" / "async1250_O3.co"
    document = inspect_document(open_container(path.read_bytes(), "[red]k[/].co"))
    stream = io.StringIO()
    Console(file=stream, width=120).print(render(document))
    assert stream.getvalue().startswith("[red]k[/].co: ")
