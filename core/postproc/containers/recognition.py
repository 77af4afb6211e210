# SPDX-License-Identifier: Apache-2.0
"""What a file that is no code object looks like, and what its owner can do.

Sources: clang/docs/ClangOffloadBundler.rst (bundles, CCOB); llvm/include/llvm/Object/
OffloadBinary.h; System V ABI; LLVM Bitcode File Format.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Final, NamedTuple

from postproc.errors import MalformedInput

__all__ = ["not_a_code_object"]

_UNBUNDLE: Final = (
    "take the code object out with `clang-offload-bundler --unbundle --type=o --targets=ID "
    "--input=FILE --output=OUT` (`--list` shows the IDs)"
)
_DUMP: Final = "`llvm-objdump --offloading FILE` writes the code objects in it to files"


class _Magic(NamedTuple):
    start: bytes
    what: str
    hint: str | None


_MAGICS: Final[Sequence[_Magic]] = (
    _Magic(b"__CLANG_OFFLOAD_BUNDLE__", "an offload bundle", _UNBUNDLE),
    _Magic(b"CCOB", "a compressed offload bundle (CCOB)", _UNBUNDLE),
    _Magic(
        b"\x10\xff\x10\xad",
        "an LLVM offload binary",
        "extract its images with `llvm-offload-binary FILE --image=file=OUT,...`",
    ),
    _Magic(b"!<arch>\n", "an archive", "extract its members with `llvm-ar x FILE`"),
    _Magic(b"!<thin>\n", "a thin archive", "name its members themselves"),
    _Magic(b"BC\xc0\xde", "LLVM bitcode", "link it into a code object first"),
    _Magic(b"\xde\xc0\x17\x0b", "LLVM bitcode", "link it into a code object first"),
    _Magic(b"KPAK", "a kpack archive", "extract the code objects with the rocm-kpack tools"),
    _Magic(b"\x28\xb5\x2f\xfd", "zstd-compressed data", "decompress it with `zstd -d`"),
    _Magic(b"\x1f\x8b", "gzip-compressed data", "decompress it with `gunzip`"),
    _Magic(b"PK\x03\x04", "a zip archive", "extract it with `unzip`"),
    _Magic(b"MZ", "a PE file", None),
)
_ELF_MAGIC: Final = b"\x7fELF"
_EM_AMDGPU: Final = 224
_FAT_SECTIONS: Final = (b".hip_fatbin", b".hipFatBinSegment", b".llvm.offloading")
_SAMPLE: Final = 4096


def not_a_code_object(data: memoryview, name: str) -> MalformedInput | None:
    """The error for `data` if it is of another kind than an AMDGPU ELF; None if it is one."""
    if not len(data):
        return MalformedInput(name, 0, "the file is empty")
    head = bytes(data[:_SAMPLE])
    if head.startswith(_ELF_MAGIC):
        return _foreign_elf(data, head, name)
    for magic in _MAGICS:
        if head.startswith(magic.start):
            return MalformedInput(name, 0, f"this is {magic.what}, no code object", hint=magic.hint)
    if _is_text(head):
        return MalformedInput(
            name, 0, "this is text, no code object", hint="assemble and link it first"
        )
    return MalformedInput(name, 0, "this is no ELF file", hint="give an AMDGPU code object")


def _is_text(head: bytes) -> bool:
    """Whether `head`, which may end within a character, is UTF-8 without control characters."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return all(character.isprintable() or character.isspace() for character in text)


def _foreign_elf(data: memoryview, head: bytes, name: str) -> MalformedInput | None:
    machine = int.from_bytes(head[18:20], "big" if head[5:6] == b"\x02" else "little")
    if machine == _EM_AMDGPU or len(head) < 20:
        return None
    text = bytes(data)
    found = [section.decode() for section in _FAT_SECTIONS if section + b"\0" in text]
    if found:
        reason = f"this is a host ELF file (machine {machine}) with {' and '.join(found)}"
        return MalformedInput(name, 18, reason, hint=_DUMP)
    return MalformedInput(name, 18, f"this is an ELF file for machine {machine}, not for AMDGPU")
