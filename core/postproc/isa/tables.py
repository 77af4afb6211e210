# SPDX-License-Identifier: Apache-2.0
"""Reads one target's table file and lays it out for the decoder and the views.

The file is written by `tools/isagen/pack.py`: a msgpack header and zstd frames.  Arrays are used
as they lie; the records of entries are turned into `Entry` objects one at a time, when asked for.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from postproc.isa.decoding import UNKNOWN
from postproc.isa.model import (
    BitRun,
    CodedField,
    ConstantOperand,
    Entry,
    ImmediateCode,
    ImmediateField,
    LiteralCode,
    OperandClass,
    OperandCode,
    OperandSpec,
    RawByteField,
    RegisterCode,
    WidthVariant,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Runs = tuple[tuple[int, int], ...]
    RejectedCodes = Callable[[int], list[tuple[Runs, NDArray[np.intp]]]]

QUESTIONS = ("bad", "lit4", "lit8", "pair_a", "pair_b")
"""Lane masks of a pattern: operand codes that are rejected, literals of 4 and 8 bytes, and codes
that are rejected where both masks of the pair hit."""

MAGIC = b"postproc isa 1\n"

PIECES: dict[int, tuple[tuple[str, int, int], ...]] = {
    0: (("low0", 0, 16), ("high0", 16, 16)),
    1: (("low1", 0, 16), ("high1", 16, 16), ("mid1", 9, 9)),
    2: (("low2", 0, 16), ("high2", 16, 16)),
    3: (("low3", 0, 16), ("high3", 16, 16), ("mid3", 9, 9)),
}
"""Per dword: the bit ranges (name, lowest bit, length) that index a feature lane."""


class DecisionTree:
    """`root[hi16]` and `children[...]` hold pattern numbers (>= 0), -1 (nothing matches) or
    -2 - node; a node takes `mask` bits of dword `word` after a shift."""

    __slots__ = ("base", "children", "mask", "root", "shift", "word")

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.root = arrays["tree_root"]
        self.word = arrays["tree_word"].astype(np.intp)
        self.shift = arrays["tree_shift"].astype(np.uint32)
        self.mask = arrays["tree_mask"].astype(np.uint32)
        self.base = arrays["tree_base"].astype(np.uint32)
        self.children = arrays["tree_children"]


class DecoderTables:
    """The arrays of `postproc.isa.decoding`, one row a pattern unless said otherwise.

    Feature lanes of one dword are joined into one word: each piece gets bits of its own.  The
    lanes of dword 0 are uint32 (`*_near`), those of dword 1 uint64 (`*_far`).
    """

    def __init__(
        self, arrays: dict[str, NDArray[Any]], lengths: list[Any], rejected: RejectedCodes
    ) -> None:
        entry = arrays["pattern_entry"].astype(np.intp)
        self.tree = DecisionTree(arrays)
        parts = [arrays[f"guess_{part}"].astype(np.intp) for part in ("shift", "mask", "base")]
        self.guess = np.stack([*parts, np.zeros_like(parts[0])], axis=1)
        self.guess_children = arrays["guess_children"]
        self.slot = arrays["slot"]
        self.candidates = arrays["candidates"]
        self.candidate_start = arrays["candidate_start"]
        self.rejected_codes = rejected
        # row -1 stands for "nothing matches"; it can never be confirmed
        self.mask = [_with_none(arrays[f"pattern_mask{w}"], 0) for w in range(4)]
        self.value = [_with_none(arrays[f"pattern_value{w}"], 1) for w in range(4)]
        self.base_length = _with_none((arrays["base_size"] // 4)[entry], 1)
        self.entry_of_pattern = _with_none(arrays["pattern_entry"], UNKNOWN)
        self._lanes: list[tuple[tuple[int, int, NDArray[Any]], ...]] = []
        self.bad: list[NDArray[Any]] = []
        self.lit4: list[NDArray[Any]] = []
        self.lit8: list[NDArray[Any]] = []
        self.pair_a: list[NDArray[Any]] = []
        self.pair_b: list[NDArray[Any]] = []
        for word in range(4):
            self._join_lanes(arrays, entry, word)
        self.lane_low0, self.lane_high0 = (table for _, _, table in self._lanes[0])
        self.lane_low1, self.lane_high1, self.lane_mid1 = (table for _, _, table in self._lanes[1])
        self.bad_near, self.bad_far = self.bad[:2]
        self.lit4_near, self.lit4_far = self.lit4[:2]
        self.lit8_near, self.lit8_far = self.lit8[:2]
        self.estimate_low = arrays["estimate_low"]
        self.estimate_high = arrays["estimate_high"]
        self.estimate_length = arrays["estimate_length"]
        self.estimate_follow = arrays["estimate_follow"]
        self.length_variants = [
            (number, tuple(bits), np.array(sizes, np.uint8) // 4) for number, bits, sizes in lengths
        ]
        varied = np.isin(entry, [number for number, _, _ in self.length_variants])
        later = (self.mask[2] | self.mask[3]) != 0
        for word in (2, 3):
            later |= (self.bad[word] | self.lit4[word]) != 0
        later[:-1] |= varied
        self.confirm = self._confirm_rows(later)

    def _confirm_rows(self, long: NDArray[np.bool_]) -> NDArray[np.uint64]:
        """Per pattern four uint64: mask and value of the first two dwords; lanes of dword 1 that
        need a closer look; base length (bits 7:0), whether later dwords count (bit 8), and lanes
        of dword 0 (bits 63:32).  A row is gathered at once."""

        def wide(values: NDArray[Any], shift: int = 0) -> NDArray[np.uint64]:
            return values.astype(np.uint64) << np.uint64(shift)

        # of a pair, the second mask is looked at only where the first hits
        near, far = (self.bad[w] | self.lit4[w] | self.lit8[w] | self.pair_a[w] for w in (0, 1))
        return np.stack(
            [
                wide(self.mask[0]) | wide(self.mask[1], 32),
                wide(self.value[0]) | wide(self.value[1], 32),
                wide(far),
                wide(self.base_length) | wide(long, 8) | wide(near, 32),
            ],
            axis=1,
        )

    def _join_lanes(
        self, arrays: dict[str, NDArray[Any]], entry: NDArray[np.intp], word: int
    ) -> None:
        kind = np.uint64 if word % 2 else np.uint32
        joined = {label: np.zeros(entry.size + 1, kind) for label in QUESTIONS}
        lanes = []
        used = 0
        for name, low, length in PIECES[word]:
            table = arrays.get(f"lane_{name}")
            if table is None:
                table = np.zeros(1 << length, np.uint8)
            lanes.append((low, length, _shifted(table, kind, used)))
            for label, masks in joined.items():
                mine = arrays.get(f"{label}_{name}")
                if mine is not None:
                    masks[:-1] = masks[:-1] | _shifted(mine[entry], kind, used)
            used += int(table.max()).bit_length()
        if used > np.dtype(kind).itemsize * 8:
            raise ValueError(f"dword {word} needs {used} feature bits")
        self._lanes.append(tuple(lanes))
        for label, masks in joined.items():
            getattr(self, label).append(masks)

    def lanes(self, word: int, data: NDArray[np.uint32]) -> NDArray[Any]:
        """The joined feature lanes of dword number `word` of some instructions."""
        out: NDArray[Any] | None = None
        for low, length, table in self._lanes[word]:
            found = table.take((data >> np.uint32(low)) & np.uint32((1 << length) - 1))
            out = found if out is None else out | found
        return cast("NDArray[Any]", out)


def _shifted(values: NDArray[Any], kind: type[np.unsignedinteger[Any]], by: int) -> NDArray[Any]:
    return np.left_shift(values.astype(kind), kind(by))


def _with_none(values: NDArray[Any], none: int) -> NDArray[Any]:
    return np.append(values, np.array([none], values.dtype))


class TableFile:
    """One target's file: the frames of its wavefront sizes, decompressed when asked for."""

    def __init__(self, content: bytes) -> None:
        import msgspec

        if not content.startswith(MAGIC):
            raise ValueError("not an instruction table file")
        start = len(MAGIC) + 4
        size = int.from_bytes(content[len(MAGIC) : start], "little")
        header = msgspec.msgpack.decode(content[start : start + size])
        self.processor: str = header["processor"]
        self.llvm_version: str = header["llvm"]
        self.digest: str = header["digest"]
        """SHA-256 of the frames before compression, in hex."""
        self._parts: dict[str, Any] = header["parts"]
        self._frames = memoryview(content)[start + size :]

    @property
    def wavefront_sizes(self) -> tuple[int, ...]:
        return tuple(int(size) for size in self._parts)

    def index(self, wavefront_size: int) -> dict[str, tuple[str, int, int]]:
        """Per array: dtype, byte offset and length."""
        return cast("dict[str, tuple[str, int, int]]", self._parts[str(wavefront_size)][0])

    def length_variants(self, wavefront_size: int) -> list[Any]:
        """(entry, bits, byte sizes) of entries whose size some bits of the encoding select."""
        return cast("list[Any]", self._parts[str(wavefront_size)][3])

    def frame(self, wavefront_size: int, number: int) -> bytes:
        """Frame 1 holds the arrays, frame 2 the records.  The first wavefront size is the
        dictionary of the others."""
        import zstandard

        first = self.wavefront_sizes[0]
        dictionary = None
        if wavefront_size != first:
            dictionary = zstandard.ZstdCompressionDict(
                self.frame(first, number), dict_type=zstandard.DICT_TYPE_RAWCONTENT
            )
        offset, size = self._parts[str(wavefront_size)][number]
        decompressor = zstandard.ZstdDecompressor(dict_data=dictionary)
        return decompressor.decompress(self._frames[offset : offset + size])


class Tables:
    """One target and wavefront size: decoder arrays, entries and operand classes."""

    def __init__(self, file: TableFile, wavefront_size: int) -> None:
        self.processor = file.processor
        self.llvm_version = file.llvm_version
        self.wavefront_size = wavefront_size
        self._file = file
        self._entries: dict[int, Entry] = {}
        self._classes: dict[int, OperandClass] = {}
        self._specs: dict[int, OperandSpec] = {}
        self._rejected: dict[int, list[tuple[Runs, NDArray[np.intp]]]] = {}

    @cached_property
    def _arrays(self) -> dict[str, NDArray[Any]]:
        content = self._file.frame(self.wavefront_size, 1)
        return {
            name: np.frombuffer(content, kind, count, offset)
            for name, (kind, offset, count) in self._file.index(self.wavefront_size).items()
        }

    @cached_property
    def _data(self) -> dict[str, Any]:
        import msgspec

        return cast(
            "dict[str, Any]", msgspec.msgpack.decode(self._file.frame(self.wavefront_size, 2))
        )

    @cached_property
    def decoder(self) -> DecoderTables:
        lengths = self._file.length_variants(self.wavefront_size)
        return DecoderTables(self._arrays, lengths, self.rejected_codes)

    def rejected_codes(self, number: int) -> list[tuple[Runs, NDArray[np.intp]]]:
        """The coded fields of entry `number` as (runs, rejected codes)."""
        found = self._rejected.get(number)
        if found is None:
            found = self._rejected[number] = []
            for spec in self.entry(number).operands:
                if isinstance(spec.source, CodedField):
                    codes = self.operand_class(spec.source.class_id)
                    bad = np.array([i for i, code in enumerate(codes) if code is None], np.intp)
                    if bad.size:
                        runs = tuple((run.low, run.length) for run in spec.source.runs)
                        found.append((runs, bad))
        return found

    def __len__(self) -> int:
        return int(self._arrays["base_size"].size)

    @cached_property
    def mnemonics(self) -> list[str]:
        """Mnemonic of each entry."""
        strings = self._data["strings"]
        return [strings[record[0]] for record in self._data["entries"]]

    def entry(self, number: int) -> Entry:
        found = self._entries.get(number)
        if found is None:
            found = self._entries[number] = self._build_entry(number)
        return found

    def _build_entry(self, number: int) -> Entry:
        data = self._data
        mnemonic, name, form, layout, template, flags, extra = data["entries"][number]
        ignored, base, variants = data["extras"][extra]
        desc, ts, defs, uses = data["flags"][flags]
        strings = data["strings"]
        patterns = np.flatnonzero(self._arrays["pattern_entry"] == number)
        return Entry(
            index=number,
            mnemonic=strings[mnemonic],
            llvm_name=strings[name],
            format=strings[form],
            base_size=int(self._arrays["base_size"][number]),
            patterns=tuple(
                (self._wide("mask", p), self._wide("value", p)) for p in patterns.tolist()
            ),
            operands=tuple(self._spec(s) for s in data["layouts"][layout]),
            ignored=tuple(BitRun(low, length) for low, length in ignored),
            implicit_defs=tuple(defs),
            implicit_uses=tuple(uses),
            desc_flags=frozenset(desc),
            ts_flags=frozenset(ts),
            width_variants=tuple(WidthVariant(r, tuple(b), tuple(w)) for r, b, w in variants),
            template=tuple(data["templates"][template]),
            base=int.from_bytes(base, "little"),
        )

    def _wide(self, what: str, pattern: int) -> int:
        words = (self._arrays[f"pattern_{what}{word}"] for word in range(4))
        return sum(int(word[pattern]) << 32 * place for place, word in enumerate(words))

    def _spec(self, number: int) -> OperandSpec:
        found = self._specs.get(number)
        if found is None:
            role, is_def, kind, tied, register_class, branch, payload = self._data["specs"][number]
            found = self._specs[number] = OperandSpec(
                role=role,
                is_def=is_def,
                source=_source(payload),
                operand_type=kind,
                tied=None if tied < 0 else tied,
                register_class=register_class,
                is_branch_target=branch,
            )
        return found

    def operand_class(self, number: int) -> OperandClass:
        found = self._classes.get(number)
        if found is None:
            size, runs = self._data["classes"][number]
            found = self._classes[number] = _expand(size, runs)
        return found


def _source(payload: list[Any]) -> ConstantOperand | ImmediateField | RawByteField | CodedField:
    match payload:
        case ["const", ["r", file, index, width]]:
            return ConstantOperand(RegisterCode(file, 0, index, width))
        case ["const", ["i", value]]:
            return ConstantOperand(ImmediateCode(value))
        case ["byte", low]:
            return RawByteField(low)
        case ["imm", runs, base]:
            return ImmediateField(tuple(BitRun(*run) for run in runs), base)
        case ["code", runs, class_id, width]:
            return CodedField(tuple(BitRun(*run) for run in runs), class_id, width)
    raise ValueError(f"unknown operand source {payload!r}")


def _expand(size: int, runs: list[list[Any]]) -> OperandClass:
    out: list[OperandCode] = [None] * size
    for run in runs:
        start, count, kind = run[:3]
        for k in range(count):
            if kind == "r":
                file, half, index, width, step = run[3:]
                out[start + k] = RegisterCode(file, half, index + step * k, width)
            elif kind == "i":
                out[start + k] = ImmediateCode(run[3] + run[4] * k)
            elif kind == "L":
                out[start + k] = LiteralCode(run[3])
    return tuple(out)
