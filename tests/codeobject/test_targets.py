# SPDX-License-Identifier: Apache-2.0
"""Targets: from e_flags of every version, and how they are written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from postproc.codeobject import PROCESSORS, CodeObject, Target
from postproc.codeobject.targets import decode_flags, disagreement

# Numbers that LLVM 22 does not have: newer (its main branch), strict, or withdrawn.
BEYOND_LLVM_22 = {
    "gfx940",
    "gfx941",
    "gfx1154",
    "gfx1170",
    "gfx1171",
    "gfx1172",
    "gfx1310",
    "gfx11-7-generic",
    "gfx12-5-generic",
    "gfx13-generic",
    "gfx1250-strict",
}


@pytest.mark.needs_llvm
def test_every_processor_of_llvm(
    patched: Callable[..., bytearray], tmp_path: Path, llvm: Callable[..., str]
) -> None:
    """LLVM names the processors in e_flags as the table does, and knows no other."""
    paths = []
    for mach in range(0x20, 0x100):
        paths.append(tmp_path / f"{mach}.co")
        paths[-1].write_bytes(patched(flags=mach))
    theirs = {}
    readings = json.loads(llvm("llvm-readelf", "--elf-output-style=JSON", "-h", *paths))
    for mach, reading in zip(range(0x20, 0x100), readings, strict=True):
        for flag in reading["ElfHeader"]["Flags"]["Flags"]:
            name = flag["Name"].removeprefix("EF_AMDGPU_MACH_AMDGCN_")
            if name != flag["Name"] and flag["Value"] == mach:
                theirs[mach] = name.lower().replace("_", "-")
    ours = {p.mach: p.name for p in PROCESSORS.values() if p.name not in BEYOND_LLVM_22}
    assert ours == theirs


@pytest.mark.parametrize(
    ("folder", "file", "expected"),
    [
        ("gfx1250", "async1250_O3.co", "amdgcn-amd-amdhsa--gfx1250"),
        ("gfx1250-strict", "triton_add.hsaco", "amdgcn-amd-amdhsa--gfx1250-strict"),
        ("gfx90a", "calls_xnack_off.co", "amdgcn-amd-amdhsa--gfx90a:xnack-"),
        (
            "gfx942",
            "atomics_sramecc_xnack_off.co",
            "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-",
        ),
        ("gfx9-4-generic", "calls_O3.co", "amdgcn-amd-amdhsa--gfx9-4-generic"),
    ],
)
def test_target_of_real_objects(corpus: Path, folder: str, file: str, expected: str) -> None:
    target = CodeObject.parse((corpus / folder / file).read_bytes(), file).target
    assert str(target) == expected
    assert target.processor == folder
    assert target.generic_version == (1 if target.is_generic else 0)


@pytest.mark.parametrize(
    ("flags", "version", "xnack", "sramecc"),
    [
        (0x30, 3, "off", "off"),
        (0x130, 3, "on", "off"),
        (0x330, 3, "on", "on"),
        (0x36, 3, "unsupported", "unsupported"),
        (0x4C, 4, "unsupported", "unsupported"),
        (0x54C, 4, "any", "any"),
        (0xA4C, 4, "off", "off"),
        (0xF4C, 5, "on", "on"),
    ],
)
def test_features_by_version(flags: int, version: int, xnack: str, sramecc: str) -> None:
    """Version 3 has one bit a feature, later ones two."""
    target = decode_flags(flags, version)
    assert target is not None
    assert (target.xnack, target.sramecc) == (xnack, sramecc)


def test_generic_version_is_the_top_byte_of_version_6() -> None:
    flags = 0x0300_0051
    versions = [decode_flags(flags, version) for version in (5, 6)]
    assert [target and target.generic_version for target in versions] == [0, 3]


def test_unknown_processor() -> None:
    assert decode_flags(0x1F, 5) is None


@pytest.mark.parametrize(
    ("identifier", "difference"),
    [
        ("amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", None),
        ("amdgcn-amd-amdhsa--gfx942:xnack-:sramecc+", None),
        ("amdgcn-amd-amdhsa--gfx942", None),
        ("amdgpu9.42-amd-amdhsa-unknown-gfx942", None),
        ("something else", None),
        ("amdgcn-amd-amdhsa--gfx90a", "e_flags say gfx942, the metadata say gfx90a"),
        ("amdgpu9.0a-amd-amdhsa-unknown-gfx90a", "e_flags say gfx942, the metadata say gfx90a"),
        (
            "amdgcn-amd-amdhsa--gfx942:xnack+",
            "e_flags say xnack-, the metadata say xnack+",
        ),
    ],
)
def test_disagreement_with_metadata(identifier: str, difference: str | None) -> None:
    target = Target("gfx942", (9, 4, 2), "off", "on", 0, 5)
    assert disagreement(target, identifier) == difference


def test_strict_is_another_processor_than_gfx1250() -> None:
    target = decode_flags(0x4EB, 5)
    assert target is not None
    assert (target.processor, target.version) == ("gfx1250-strict", (12, 5, 0))
    assert disagreement(target, "amdgpu12.50s-amd-amdhsa-unknown-gfx1250-strict") is None
    assert disagreement(target, "amdgcn-amd-amdhsa--gfx1250") is not None
