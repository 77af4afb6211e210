# SPDX-License-Identifier: Apache-2.0
"""Turns the generator's facts of one target into the compact table file that ships.

The runtime identifies an instruction in two steps, both vectorised (`postproc.isa.decoding`):

1. a *decision tree* over bit fields, whose root is indexed by the upper half of the first dword,
   names an entry;
2. the entry's full mask and value, and *feature lanes* (see `Lanes`) for rejected operand codes
   and literals, confirm it and give its size.

There are two ways to name it.  The *guess* looks at the first dword only; where that leaves
several candidates it names one that step 2 confirms only if no candidate of higher precedence
matches.  What it cannot confirm goes to the *tree*, which looks at all bits in which candidates
differ; and what that cannot confirm is decided by trying all candidates of the root slot in order
of precedence.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import zstandard

from .decision import build_tree
from .estimate import estimate_arrays
from .facts import Facts, Pattern, read_facts
from .guess import Guesser
from .lanes import PIECES, Lanes, entry_checks
from .records import entry_records, length_variants

__all__ = ["Facts", "Part", "pack", "read_facts", "records_of", "table_file"]

MAGIC = b"postproc isa 1\n"


def decoder_arrays(facts: Facts) -> dict[str, np.ndarray]:
    """The arrays that `postproc.isa.tables.DecoderTables` reads."""
    patterns: list[Pattern] = [
        (int(mask, 16), int(value, 16), number)
        for number, entry in enumerate(facts.entries)
        for mask, value in entry["pat"]
    ]
    tree = build_tree(patterns)
    lanes = Lanes()
    checks = entry_checks(facts, lanes)
    arrays: dict[str, np.ndarray] = {
        "tree_root": tree.root.astype(np.int16),
        "tree_word": np.array(tree.word, np.uint8),
        "tree_shift": np.array(tree.shift, np.uint8),
        "tree_mask": np.array(tree.mask, np.uint16),
        "tree_base": np.array(tree.base, np.uint32),
        "tree_children": np.array(tree.children, np.int16),
        "slot": tree.slot,
        "candidates": np.array(tree.candidates, np.uint16),
        "candidate_start": np.array(tree.candidate_start, np.uint32),
        "pattern_entry": np.array([p[2] for p in patterns], np.uint16),
        "base_size": np.array([e["size"] for e in facts.entries], np.uint8),
    }
    for word in range(4):
        shift = 32 * word
        arrays[f"pattern_mask{word}"] = np.array(
            [p[0] >> shift & 0xFFFFFFFF for p in patterns], np.uint32
        )
        arrays[f"pattern_value{word}"] = np.array(
            [p[1] >> shift & 0xFFFFFFFF for p in patterns], np.uint32
        )
    for name, _, size in PIECES:
        if lanes.questions[name]:
            arrays[f"lane_{name}"] = _narrow(lanes.table(name, size))
            asked = {
                "bad": checks.bad,
                "lit4": checks.literal4,
                "lit8": checks.literal8,
                "pair_a": checks.pair_a,
                "pair_b": checks.pair_b,
            }
            for label, masks in asked.items():
                if masks[name].any():
                    arrays[f"{label}_{name}"] = _narrow(masks[name])
    arrays |= Guesser(patterns, facts, checks).arrays(tree)
    arrays |= estimate_arrays(facts, patterns, tree, lanes, checks)
    return arrays


def _narrow(values: np.ndarray) -> np.ndarray:
    for kind in (np.uint8, np.uint16, np.uint32):
        if not values.size or values.max() <= np.iinfo(kind).max:
            return values.astype(kind)
    return values


@dataclass(frozen=True)
class Part:
    """One wavefront size, before compression."""

    index: dict[str, tuple[str, int, int]]
    arrays: bytes
    records: bytes
    lengths: list[Any]


def pack(facts: Facts) -> Part:
    """Everything about one wavefront size, before compression."""
    arrays = decoder_arrays(facts)
    index: dict[str, tuple[str, int, int]] = {}
    content = bytearray()
    for name, values in sorted(arrays.items()):
        content += bytes(-len(content) % 8)
        index[name] = (values.dtype.str, len(content), values.size)
        content += values.tobytes()
    return Part(index, bytes(content), records_of(facts), length_variants(facts))


def records_of(facts: Facts) -> bytes:
    """The frame of records; the entries must be in order of precedence."""
    return msgspec.msgpack.encode(entry_records(facts))


def table_file(processor: str, llvm: str, parts: dict[int, Part]) -> bytes:
    """The file that ships: a small header and zstd frames, per wavefront size one of the arrays
    and one of the records.  The second size is compressed against the first.  The header's digest
    is the SHA-256 of all frames before compression, in order."""
    header: dict[str, Any] = {"processor": processor, "llvm": llvm, "parts": {}}
    digest = hashlib.sha256()
    frames = bytearray()
    base: Part | None = None
    for size, part in sorted(parts.items()):
        places = []
        for content, known in (
            (part.arrays, base.arrays if base else None),
            (part.records, base.records if base else None),
        ):
            frame = compress(content, known)
            places.append((len(frames), len(frame)))
            frames += frame
            digest.update(content)
        header["parts"][str(size)] = (part.index, *places, part.lengths)
        base = base or part
    header["digest"] = digest.hexdigest()
    encoded = msgspec.msgpack.encode(header)
    return MAGIC + len(encoded).to_bytes(4, "little") + encoded + bytes(frames)


def compress(content: bytes, known: bytes | None) -> bytes:
    parameters = zstandard.ZstdCompressionParameters.from_level(
        19, source_size=len(content), window_log=24, enable_ldm=True
    )
    dictionary = None
    if known is not None:
        dictionary = zstandard.ZstdCompressionDict(known, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    compressor = zstandard.ZstdCompressor(dict_data=dictionary, compression_params=parameters)
    return compressor.compress(content)
