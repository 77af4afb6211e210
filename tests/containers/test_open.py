# SPDX-License-Identifier: Apache-2.0
"""What opens, and what the owner of any other file is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from postproc.containers import Container, map_file, open_code_objects, open_container
from postproc.errors import MalformedInput

X86_HEADER = b"\x7fELF\x02\x01\x01\0" + bytes(8) + b"\x01\0\x3e\0"


@pytest.fixture(scope="session")
def sample_path(corpus: Path) -> Path:
    """A linked gfx1250 object."""
    return corpus / "gfx1250" / "async1250_O3.co"


def test_bare_file(sample_path: Path) -> None:
    data = sample_path.read_bytes()
    container = open_container(data, "k.co")
    assert isinstance(container, Container)
    (code_object,) = container.code_objects
    assert code_object.name == container.name == "k.co"
    assert code_object.data == data
    assert (container.tree.format, container.tree.size, container.tree.code_object) == (
        "elf",
        len(data),
        0,
    )
    assert container.rebuild([b"other"]) == b"other"
    with pytest.raises(ValueError, match="not enough values"):
        container.rebuild([])


def test_by_path_or_by_bytes(sample_path: Path) -> None:
    by_path = open_code_objects(sample_path)
    by_text = open_code_objects(str(sample_path))
    by_bytes = open_code_objects(sample_path.read_bytes(), "k.co")
    assert [o.name for o in (*by_path, *by_text, *by_bytes)] == [
        str(sample_path),
        str(sample_path),
        "k.co",
    ]
    assert by_path[0].data == by_bytes[0].data


@pytest.mark.parametrize(
    ("data", "reason", "hint"),
    [
        (b"", "the file is empty", None),
        (
            b"__CLANG_OFFLOAD_BUNDLE__\1",
            "this is an offload bundle, no code object",
            "clang-offload-bundler --unbundle",
        ),
        (b"CCOB\3\0\1\0", "this is a compressed offload bundle (CCOB)", "--unbundle"),
        (b"\x10\xff\x10\xad\1", "this is an LLVM offload binary", "llvm-offload-binary"),
        (b"!<arch>\nfoo", "this is an archive", "llvm-ar x"),
        (b"BC\xc0\xde5", "this is LLVM bitcode", "link it"),
        (b"\xde\xc0\x17\x0b", "this is LLVM bitcode", "link it"),
        (b"KPAK\1", "this is a kpack archive", "rocm-kpack"),
        (b"\x28\xb5\x2f\xfd", "this is zstd-compressed data", "zstd -d"),
        (b"\x1f\x8b\x08", "this is gzip-compressed data", "gunzip"),
        (b"PK\x03\x04", "this is a zip archive", "unzip"),
        (b"s_endpgm\n", "this is text, no code object", "assemble and link it"),
        ("// größer\n".encode(), "this is text, no code object", "assemble"),
        (b"\0\1\2\3", "this is no ELF file", "give an AMDGPU code object"),
        (X86_HEADER, "this is an ELF file for machine 62, not for AMDGPU", None),
        (
            X86_HEADER + bytes(40) + b"\0.hip_fatbin\0.hipFatBinSegment\0",
            "this is a host ELF file (machine 62) with .hip_fatbin and .hipFatBinSegment",
            "llvm-objdump --offloading",
        ),
        (
            X86_HEADER + bytes(40) + b"\0.llvm.offloading\0",
            "this is a host ELF file (machine 62) with .llvm.offloading",
            "llvm-objdump --offloading",
        ),
    ],
)
def test_other_files(data: bytes, reason: str, hint: str | None) -> None:
    with pytest.raises(MalformedInput) as caught:
        open_container(data, "file.bin")
    assert caught.value.reason.startswith(reason)
    assert caught.value.file == "file.bin"
    assert (caught.value.hint is None) == (hint is None)
    if hint is not None:
        assert hint in (caught.value.hint or "")


def test_a_truncated_code_object_is_damaged_rather_than_foreign(sample_path: Path) -> None:
    with pytest.raises(MalformedInput, match="reaches past the end of the file"):
        open_container(sample_path.read_bytes()[:19], "k.co")


def test_large_files_are_mapped(sample_path: Path, tmp_path: Path) -> None:
    large = tmp_path / "large.co"
    large.write_bytes(sample_path.read_bytes() + bytes(1 << 20))
    data = map_file(large)
    assert type(data.obj).__name__ == "mmap"
    assert data.readonly
    (code_object,) = open_code_objects(large)
    assert len(code_object.kernels) == 3
    assert isinstance(map_file(sample_path).obj, bytes)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="the file cannot be read: No such file"):
        open_code_objects(tmp_path / "missing.co")
    with pytest.raises(MalformedInput, match="the file cannot be read: Is a directory"):
        open_code_objects(tmp_path)
    empty = tmp_path / "empty.co"
    empty.touch()
    with pytest.raises(MalformedInput, match="the file is empty"):
        open_code_objects(empty)
