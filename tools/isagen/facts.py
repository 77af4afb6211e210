# SPDX-License-Identifier: Apache-2.0
"""The facts of one target, and how they stand in `build/isagen/<target>.jsonl`.

The file holds one JSON object a line, told apart by `t`:

`head`    `cpu`, `features`, `wave`, `llvm` (version), `entries`, `classes`.
`class`   `id`, `n` (number of codes) and `runs` of codes: `[first, count, kind, ...]` with the
          kinds `"r"`, file, half, index, width (null: the operand's own), index step; `"i"`, value,
          step; `"L"`, bytes that follow (0: the shared literal); `"x"` (rejected).
`op`      one entry, in order of precedence:
          `mn` mnemonic (`mn_alt`: others that LLVM prints), `llvm` name, `fmt` format, `size` in
          bytes without literal, `enc_bytes` (bytes of the table's encoding), `pat` [[mask, value]
          in hex], `rank` (the lower wins), `must` (bits fixed beyond LLVM's table), `ign` (ignored
          bits, [[low, length]]), `canon` (hex: those of them that LLVM's encoder sets), `ops`,
          `lit` (bytes of literals it may take), `struct` (bits that select variants), `wvar` (role
          or `#size` -> [bits, widths]; null: rejected), `nvar` (LLVM opcodes folded into it),
          `idef`/`iuse` implicit registers, `fl` MCInstrDesc flags, `ts` TSFlags, `flow` (see
          `dataflow`), `src` (why an overlay entry exists), `ex` example of LLVM's text.
          Each of `ops` has `role`, `dir` ("def" or "use"), `tied` (index of the def that it shares
          its register with), `early` (clobber), `branch`, `ty` (operand type), `rc` (LLVM's
          register class) and one source: `const` (["r", file, index, width] or ["i", value]),
          `imm` ([[low, length, weight of the lowest bit]], plus `c0`; `misread` where LLVM takes
          some values for inline constants, and prints those), `bits` with `cls` and `w`,
          or `fi8` (the raw byte that selects DPP8).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .classes import IMMEDIATE, LITERAL, OWN_WIDTH, REGISTER, CodeClass
from .registers import unpack

Json = dict[str, Any]


@dataclass(frozen=True)
class OperandFacts:
    """One MCInst operand; `source` holds the JSON keys of where its value comes from."""

    role: str
    is_def: bool
    source: Json
    tied: int = -1
    early_clobber: bool = False
    branch: bool = False
    type: str = ""
    register_class: str = ""

    def to_json(self) -> Json:
        item: Json = {"role": self.role, "dir": "def" if self.is_def else "use"}
        if self.tied >= 0:
            item["tied"] = self.tied
        if self.early_clobber:
            item["early"] = 1
        if self.branch:
            item["branch"] = 1
        if self.type:
            item["ty"] = self.type
        if self.register_class:
            item["rc"] = self.register_class
        return item | self.source


@dataclass(frozen=True)
class EntryFacts:
    """One entry; see the module for the meaning of each field."""

    mnemonic: str
    llvm: str
    format: str
    size: int
    encoded_size: int
    patterns: tuple[tuple[int, int], ...]
    operands: tuple[OperandFacts, ...]
    opcodes: frozenset[int]
    """LLVM's opcodes, for checks; not written."""
    other_mnemonics: tuple[str, ...] = ()
    must: tuple[int, ...] = ()
    ignored: tuple[tuple[int, int], ...] = ()
    canonical: int = 0
    literals: tuple[int, ...] = ()
    structural: tuple[int, ...] = ()
    width_variants: dict[str, tuple[list[int], list[int | None]]] = field(default_factory=dict)
    variant_count: int = 0
    implicit_defs: tuple[str, ...] = ()
    implicit_uses: tuple[str, ...] = ()
    desc_flags: tuple[str, ...] = ()
    ts_flags: tuple[str, ...] = ()
    flow: Json = field(default_factory=dict)
    source: str = ""
    example: str = ""

    def to_json(self, rank: int) -> Json:
        item: Json = {
            "t": "op",
            "mn": self.mnemonic,
            "llvm": self.llvm,
            "fmt": self.format,
            "size": self.size,
            "enc_bytes": self.encoded_size,
            "pat": [[f"{mask:x}", f"{value:x}"] for mask, value in self.patterns],
            "rank": rank,
            "ops": [operand.to_json() for operand in self.operands],
        }
        optional: Json = {
            "mn_alt": list(self.other_mnemonics),
            "must": list(self.must),
            "ign": [list(run) for run in self.ignored],
            "canon": f"{self.canonical:x}" if self.canonical else "",
            "lit": list(self.literals),
            "struct": list(self.structural),
            "wvar": {role: list(v) for role, v in self.width_variants.items()},
            "nvar": self.variant_count,
            "idef": list(self.implicit_defs),
            "iuse": list(self.implicit_uses),
            "flow": self.flow,
            "src": self.source,
        }
        item |= {key: value for key, value in optional.items() if value}
        return item | {"fl": list(self.desc_flags), "ts": list(self.ts_flags), "ex": self.example}


@dataclass
class TargetFacts:
    """All entries of one target and wavefront size, in order of precedence."""

    name: str
    processor: str
    features: str
    wavefront_size: int
    llvm_version: str
    classes: list[CodeClass]
    entries: list[EntryFacts]

    def lines(self) -> Iterator[Json]:
        yield {
            "t": "head",
            "cpu": self.processor,
            "features": self.features,
            "wave": self.wavefront_size,
            "llvm": self.llvm_version,
            "entries": len(self.entries),
            "classes": len(self.classes),
        }
        for number, codes in enumerate(self.classes):
            yield {"t": "class", "id": number, "n": len(codes.kind), "runs": code_runs(codes)}
        for rank, entry in enumerate(self.entries):
            yield entry.to_json(rank)

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.jsonl"
        with path.open("w", encoding="utf-8") as out:
            for line in self.lines():
                out.write(json.dumps(line, separators=(",", ":")) + "\n")
        return path


def bit_runs(bits: list[int]) -> list[list[int]]:
    """Bits, lowest first, as [low, length] runs of ascending neighbours."""
    runs: list[list[int]] = []
    for bit in bits:
        if runs and runs[-1][0] + runs[-1][1] == bit:
            runs[-1][1] += 1
        else:
            runs.append([bit, 1])
    return runs


def weighted_runs(weights: dict[int, int]) -> list[list[int]]:
    """Bits with weights as [low, length, weight of the lowest]; a sign bit is its own run."""
    runs: list[list[int]] = []
    for bit in sorted(weights, key=lambda b: (abs(weights[b]), b)):
        weight = weights[bit]
        if runs:
            low, length, first = runs[-1]
            if low + length == bit and weight == first << length:
                runs[-1][1] += 1
                continue
        runs.append([bit, 1, weight])
    return runs


def _code(kind: int, value: int) -> list[Any]:
    if kind == REGISTER:
        register = unpack(value)
        width = None if register.width == OWN_WIDTH else register.width
        return ["r", register.file, register.half, register.index, width, 0]
    if kind == IMMEDIATE:
        return ["i", value, 0]
    return ["L", value] if kind == LITERAL else ["x"]


_STEPPED = {"r": 3, "i": 1}
"""Place of the value that may rise from code to code; the step stands last."""


def code_runs(codes: CodeClass) -> list[list[Any]]:
    """Runs of codes whose register or value rises by the same step."""
    runs: list[list[Any]] = []
    for first, (kind, value) in enumerate(
        zip(codes.kind.tolist(), codes.value.tolist(), strict=True)
    ):
        code = _code(kind, value)
        if not (runs and _extend(runs[-1], code)):
            runs.append([first, 1, *code])
    return runs


def _extend(run: list[Any], code: list[Any]) -> bool:
    count, known = run[1], run[2:]
    if known[0] != code[0]:
        return False
    place = _STEPPED.get(code[0])
    if place is None:
        same = known == code
    else:
        step = code[place] - known[place] if count == 1 else known[-1]
        same = (
            known[1:place] == code[1:place]
            and known[place + 1 : -1] == code[place + 1 : -1]
            and known[place] + step * count == code[place]
        )
        if same:
            run[-1] = step
    if same:
        run[1] += 1
    return same


def expand(runs: list[list[Any]], count: int) -> CodeClass:
    """The inverse of `code_runs`."""
    kind, value = np.zeros(count, np.uint8), np.zeros(count, np.int64)
    files = {"-": 0, "s": 1, "v": 2, "a": 3}
    for run in runs:
        codes = slice(run[0], run[0] + run[1])
        steps = np.arange(run[1])
        if run[2] == "r":
            width = OWN_WIDTH if run[6] is None else run[6]
            kind[codes] = REGISTER
            value[codes] = (
                (files[run[3]] << 24 | run[4] << 20 | width << 12) + run[5] + steps * run[7]
            )
        elif run[2] == "i":
            kind[codes], value[codes] = IMMEDIATE, run[3] + steps * run[4]
        elif run[2] == "L":
            kind[codes], value[codes] = LITERAL, run[3]
    return CodeClass(kind, value)
