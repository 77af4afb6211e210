# SPDX-License-Identifier: Apache-2.0
"""Run the plugin on small objects, and look for what A0 lacks without asking the plugin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from postproc.codeobject import CodeObject
    from postproc.isa import Decoded


class Site(NamedTuple):
    """One line of the report."""

    offset: int
    mnemonic: str
    rule: str
    status: str
    reason: str
    section: int


@dataclass(frozen=True)
class Run:
    """What came of one object; `code` is the first executable section of the output."""

    exit_status: int
    message: str
    sites: tuple[Site, ...]
    produced: CodeObject | None

    @property
    def rewritten(self) -> set[tuple[int, int]]:
        """(section, offset) of what was rewritten."""
        return {(s.section, s.offset) for s in self.sites if s.status == "rewritten"}

    @property
    def code(self) -> bytes:
        assert self.produced is not None, self.message
        return bytes(self.produced.code(self.produced.executable_sections[0]))

    def of(self, rule: str) -> list[tuple[int, str]]:
        """(offset, status) of the sites of a rule."""
        return [(s.offset, s.status) for s in self.sites if s.rule == rule]

    def reason(self, rule: str) -> str:
        """The reason of the only site of a rule."""
        (reason,) = (s.reason for s in self.sites if s.rule == rule)
        return reason


Policies = Mapping[str, str]
Hotswap = Callable[..., Run]


def rewrite(code_object: CodeObject, policies: Policies) -> Run:
    """The whole transaction with the plugin alone."""
    import postproc_hotswap.plugin as plugin
    from postproc.config import Config, CoreConfig
    from postproc.errors import PostprocError
    from postproc.pipeline.session import RunSettings, Session
    from postproc.pipeline.transform import Transformation, transform
    from postproc.plugins import Plugins, Selection

    config = Config(CoreConfig(), {"hotswap": dict(policies)})
    plugins = Plugins(Selection(autoload=False))
    plugins.register("hotswap", plugin)
    settings = RunSettings(config, plugins.selection)
    run = Transformation(code_object)
    exit_status, message = 0, ""
    try:
        transform(run, Session(settings, plugins, plugins.tables(config)))
    except PostprocError as error:
        exit_status, message = error.exit_code, str(error)
    sites = tuple(
        Site(
            o.site.position.offset,
            o.site.mnemonic,
            o.site.rule,
            o.status,
            o.reason,
            o.site.position.section,
        )
        for outcomes in run.passes.values()
        for o in outcomes
    )
    return Run(exit_status, message, sites, run.produced if exit_status == 0 else None)


@pytest.fixture
def hotswap(assembled: Callable[[str, str], CodeObject]) -> Hotswap:
    """`hotswap(body, clause="all")`: the run on a gfx1250 kernel of this body."""

    def run(body: str, **policies: str) -> Run:
        by_key = {key.replace("_", "-"): value for key, value in policies.items()}
        return rewrite(assembled("gfx1250", body), by_key)

    return run


@pytest.fixture
def rewritten() -> Callable[..., Run]:
    """`rewritten(code_object, policies={})`: the run on a code object."""

    def run(code_object: CodeObject, policies: Policies | None = None) -> Run:
        return rewrite(code_object, policies or {})

    return run


class Encoding(NamedTuple):
    """Instructions by raw bits: `word & mask == value` for dwords of the encoding."""

    name: str
    tests: tuple[tuple[int, int, int], ...]
    """(dword, mask, value)"""
    above: tuple[int, int, int] | None = None
    """(mask, shift, limit): a field of dword 0 that exceeds the limit"""
    unless: tuple[int, int, int] | None = None
    """(dword, mask, value) that makes it harmless"""


def _word0(name: str, mask: int, *values: int, **more: Any) -> list[Encoding]:
    return [Encoding(name, ((0, mask, value),), **more) for value in values]


_PREFIX_SOURCE2 = (1, 0x07FC0000, 0x04000000)

ENCODINGS: tuple[Encoding, ...] = (
    *_word0("ds2", 0xFFFC0000, *(0xD8DC0000, 0xD9DC0000, 0xD8E00000, 0xD9E00000)),
    *_word0("ds2", 0xFFFC0000, *(0xD8380000, 0xD9380000, 0xD83C0000, 0xD93C0000)),
    *_word0("ds2", 0xFFFC0000, *(0xD8B80000, 0xD9B80000, 0xD8BC0000, 0xD9BC0000)),
    *_word0("ds-addtid", 0xFFFC0000, 0xDAC40000, 0xDAC00000),
    *_word0("cluster-load", 0xFC3FC000, *(0xEC19C000 | op << 14 for op in range(7))),
    *_word0("clause", 0xFFFF0000, 0xBF850000),
    *_word0("sethalt", 0xFFFF0000, 0xBF820000),
    *_word0("barrier-isfirst", 0xFF80FF00, 0xBE804F00),
    *_word0("wmma-k128", 0xFFF80000, 0xCC800000),
    *_word0("wmma-f4", 0xFFFF0000, 0xCC880000),
    *_word0("wmma-f8f6f4", 0xFFFF0000, 0xCC330000),
    Encoding("wmma-scale-m32", ((0, 0xFFF00000, 0xCC300000), (2, 0xFFFF0000, 0xCC880000))),
    *(
        Encoding(
            "scale-prefix",
            ((0, 0xFFFF0000, prefix), (2, 0xFFFF0000, 0xCC330000)),
            unless=_PREFIX_SOURCE2,
        )
        for prefix in (0xCC350000, 0xCC3A0000)
    ),
    *_word0("tensor-load", 0xFFBFC000, 0xD0310000),
    *_word0("fp8-clamp", 0xFFFF8000, 0xD7698000, 0xD76B8000, 0xD5EC8000, 0xD7728000),
    *_word0("scale-select", 0xFFFF0000, *range(0xD6A80000, 0xD6AE0000, 0x10000),
            above=(0x7800, 11, 7)),
    *_word0("scale-select", 0xFFFF0000, 0xD69F0000, 0xD6A00000, 0xD6A10000,
            *range(0xD6C70000, 0xD6CD0000, 0x10000), above=(0x7800, 11, 3)),
)  # fmt: skip
"""What A0 lacks, as bits.  Typed from the assembler's output, not from the plugin's table."""


def left_for_a0(decoded: Decoded) -> list[tuple[int, str]]:
    """(offset, name) of every instruction of a text that A0 lacks or gets wrong."""
    code = bytes(decoded.code)
    found = []
    for offset, size in zip(decoded.offset.tolist(), decoded.size.tolist(), strict=True):
        words = [
            int.from_bytes(code[at : at + 4], "little") for at in range(offset, offset + size, 4)
        ]
        found += [(offset, encoding.name) for encoding in ENCODINGS if _fits(encoding, words)]
    return found


def _fits(encoding: Encoding, words: list[int]) -> bool:
    for dword, mask, value in encoding.tests:
        if dword >= len(words) or words[dword] & mask != value:
            return False
    if encoding.unless is not None:
        dword, mask, value = encoding.unless
        if words[dword] & mask == value:
            return False
    if encoding.above is not None:
        mask, shift, limit = encoding.above
        return (words[0] & mask) >> shift > limit
    return True


@pytest.fixture(name="left_for_a0")
def _left_for_a0() -> Callable[[Decoded], list[tuple[int, str]]]:
    return left_for_a0
