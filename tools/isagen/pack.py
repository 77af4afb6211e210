# SPDX-License-Identifier: Apache-2.0
"""Turns the generator's facts of one target into the compact table file that ships.

The runtime identifies an instruction in two steps, both vectorised (`postproc.isa.decoding`):

1. a *decision tree* over bit fields, whose root is indexed by the upper half of the first dword,
   names an entry;
2. the entry's full mask and value, and *feature lanes* (see `Lanes`) for rejected operand codes
   and literals, confirm it and give its size.

There are two ways to name it.  The *guess* looks at the first dword only; where that leaves several candidates it names one that step 2 confirms only if no
candidate of higher precedence matches.  What it cannot confirm goes to the *tree*, which looks at
all bits in which candidates differ; and what that cannot confirm is decided by trying all
candidates of the root slot in order of precedence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import zstandard

MAGIC = b"postproc isa 1\n"

Pattern = tuple[int, int, int]
"""mask, value (128 bits each), entry."""

FIELD_LIMIT = 9
"""Widest field that one tree node looks at, in bits."""


# ---------------------------------------------------------------- decision tree
@dataclass
class Tree:
    """`root[hi16]` and `children[...]` hold pattern ids (>= 0), -1 (nothing matches) or
    -2 - node.  A node reads `mask[node]` bits of dword `word[node]` after a shift and indexes
    `children[base[node] + value]`.  `slot[hi16]` indexes `candidates` (ragged, in precedence
    order, by `candidate_start`)."""

    root: np.ndarray
    word: list[int] = field(default_factory=list)
    shift: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    base: list[int] = field(default_factory=list)
    children: list[int] = field(default_factory=list)
    slot: np.ndarray = field(default_factory=lambda: np.zeros(65536, np.uint16))
    candidates: list[int] = field(default_factory=list)
    candidate_start: list[int] = field(default_factory=lambda: [0])


def differing_bits(patterns: Sequence[Pattern], ids: Sequence[int], tested: int) -> int:
    """Bits on which the candidates do not all say the same (same value, or all don't care)."""
    all_mask = any_mask = patterns[ids[0]][0]
    all_one = any_one = patterns[ids[0]][1]
    for i in ids[1:]:
        mask, value, _ = patterns[i]
        all_mask &= mask
        any_mask |= mask
        all_one &= value
        any_one |= value
    return ((any_mask & ~all_mask) | (any_one & ~all_one)) & ~tested


def runs_of(bits: int) -> Iterable[tuple[int, int]]:
    """Maximal runs (low, length) of set bits that stay inside one dword."""
    low = 0
    while bits >> low:
        if not bits >> low & 1:
            low += 1
            continue
        length = 1
        while bits >> (low + length) & 1 and (low + length) % 32 and length < FIELD_LIMIT:
            length += 1
        yield low, length
        low += length


class TreeBuilder:
    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self.patterns = patterns
        self.tree = Tree(np.full(65536, -1, np.int32))
        self.known: dict[tuple[tuple[int, ...], int], int] = {}

    def split(self, ids: Sequence[int], low: int, length: int) -> list[tuple[int, ...]]:
        field_mask = ((1 << length) - 1) << low
        out = []
        for value in range(1 << length):
            bits = value << low
            out.append(
                tuple(
                    i for i in ids if not (self.patterns[i][1] ^ bits) & self.patterns[i][0] & field_mask
                )
            )
        return out

    def build(self, ids: tuple[int, ...], tested: int) -> int:
        if not ids:
            return -1
        open_bits = differing_bits(self.patterns, ids, tested)
        if len(ids) == 1 or not open_bits:
            return ids[0]
        key = (ids, open_bits)
        if key in self.known:
            return self.known[key]
        best: tuple[float, int, int, list[tuple[int, ...]]] | None = None
        for low, length in runs_of(open_bits):
            parts = self.split(ids, low, length)
            # expected number of candidates left, with a preference for narrow early dwords
            cost = sum(len(p) ** 2 for p in parts) / len(parts) + low / 1024
            if best is None or cost < best[0]:
                best = (cost, low, length, parts)
        assert best is not None
        _, low, length, parts = best
        tree = self.tree
        node = len(tree.word)
        tree.word.append(low // 32)
        tree.shift.append(low % 32)
        tree.mask.append((1 << length) - 1)
        tree.base.append(len(tree.children))
        tree.children.extend([-1] * len(parts))
        self.known[key] = -2 - node
        tested |= ((1 << length) - 1) << low
        base = tree.base[node]
        for value, part in enumerate(parts):
            tree.children[base + value] = self.build(part, tested)
        return -2 - node


def build_tree(patterns: Sequence[Pattern]) -> Tree:
    """Patterns must come in precedence order (the first that matches wins)."""
    builder = TreeBuilder(patterns)
    tree = builder.tree
    high = 0xFFFF << 16
    members: dict[int, list[int]] = {}
    groups: dict[tuple[int, int], list[int]] = {}
    for i, (mask, value, _) in enumerate(patterns):
        groups.setdefault((mask & high, value & high), []).append(i)
    for (mask, value), ids in groups.items():
        free = (~mask & high) >> 16
        subset = free
        while True:
            members.setdefault(value >> 16 | subset, []).extend(ids)
            if not subset:
                break
            subset = (subset - 1) & free
    slots: dict[tuple[int, ...], int] = {(): 0}
    tree.candidate_start.append(0)
    roots: dict[tuple[int, ...], int] = {}
    for half in sorted(members):
        ids = tuple(sorted(members[half]))
        if ids not in roots:
            roots[ids] = builder.build(ids, high)
            slots[ids] = len(tree.candidate_start) - 1
            tree.candidates.extend(ids)
            tree.candidate_start.append(len(tree.candidates))
        tree.root[half] = roots[ids]
        tree.slot[half] = slots[ids]
    return tree


# ---------------------------------------------------------------- feature lanes
PIECES = (
    ("low0", 0, 16),
    ("high0", 16, 16),
    ("low1", 32, 16),
    ("high1", 48, 16),
    ("mid1", 41, 9),
    ("low2", 64, 16),
    ("high2", 80, 16),
    ("low3", 96, 16),
    ("high3", 112, 16),
    ("mid3", 105, 9),
)
"""Bit ranges (name, lowest bit, length) whose value indexes one lane table: the halves of each
dword, and the src1 field of VOP3 and VOP3PX, which straddles them."""


class Lanes:
    """One bit for each distinct question "is the value of this field in this set?".

    A field that lies inside one piece gets its bit there.  A field that straddles pieces cannot be
    asked this way; the caller keeps those for the exact check.
    """

    def __init__(self) -> None:
        self.questions: dict[str, dict[tuple[int, int, frozenset[int]], int]] = {
            name: {} for name, _, _ in PIECES
        }

    def bit(self, runs: Sequence[tuple[int, int]], values: frozenset[int]) -> tuple[str, int]:
        """(piece, bit number) that asks whether the field may hold one of `values`.

        Exact for a field that is one run inside one piece; otherwise the largest part of the
        field that lies inside a piece is asked, which can only say yes too often.
        """
        best: tuple[int, str, int, int, int] = (0, "", 0, 0, 0)
        below = 0
        for low, length in runs:
            for name, start, size in PIECES:
                first, last = max(low, start), min(low + length, start + size)
                if last - first > best[0]:
                    best = (last - first, name, first - start, last - first, below + first - low)
            below += length
        _, name, low, length, shift = best
        part = frozenset(v >> shift & ((1 << length) - 1) for v in values)
        asked = self.questions[name]
        return name, asked.setdefault((low, length, part), len(asked))

    def table(self, name: str, size: int) -> np.ndarray:
        index = np.arange(1 << size, dtype=np.uint32)
        out = np.zeros(1 << size, np.uint32)
        for (low, length, values), bit in self.questions[name].items():
            if bit >= 32:
                raise ValueError(f"piece {name} has more than 32 questions")
            hit = np.isin(index >> low & ((1 << length) - 1), list(values))
            out |= hit.astype(np.uint32) << np.uint32(bit)
        return out


def _narrow(values: np.ndarray) -> np.ndarray:
    for kind in (np.uint8, np.uint16, np.uint32):
        if not values.size or values.max() <= np.iinfo(kind).max:
            return values.astype(kind)
    return values


# ---------------------------------------------------------------- records
class Interner:
    """Gives each distinct value a small number, in order of first use."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}

    def __call__(self, value: Any) -> int:
        return self.numbers.setdefault(value, len(self.numbers))

    def values(self) -> list[Any]:
        return list(self.numbers)


def operand_record(entry: dict[str, Any], op: dict[str, Any]) -> tuple[Any, ...]:
    """One operand spec as nested tuples: (role, def, type, tied, class, branch, payload)."""
    if "const" in op:
        payload: tuple[Any, ...] = ("const", tuple(op["const"]))
    elif "fi8" in op:
        payload = ("byte", 32 if entry["enc_bytes"] == 12 else 0)
    elif "imm" in op:
        payload = ("imm", tuple(tuple(r) for r in op["imm"]), op.get("c0", 0))
    elif "cls" in op:
        payload = ("code", tuple(tuple(r) for r in op["bits"]), op["cls"], op["w"])
    else:
        raise ValueError(f"operand without a source: {op}")
    return (
        op["role"],
        op["dir"] == "def",
        op.get("ty", ""),
        op.get("tied", -1),
        op.get("rc", ""),
        bool(op.get("branch")),
        payload,
    )


@dataclass
class Facts:
    """The generator's lines of one target and wavefront size."""

    head: dict[str, Any]
    classes: list[dict[str, Any]]
    entries: list[dict[str, Any]]
    _expanded: dict[int, list[Any]] = field(default_factory=dict)

    def expanded_class(self, number: int) -> list[Any]:
        """Meaning of each code: ("r", file, half, index, width), ("i", value), ("L", bytes), None."""
        if number not in self._expanded:
            self._expanded[number] = self._expand(number)
        return self._expanded[number]

    def _expand(self, number: int) -> list[Any]:
        out: list[Any] = [None] * self.classes[number]["n"]
        for run in self.classes[number]["runs"]:
            start, count, kind = run[:3]
            for k in range(count):
                if kind == "r":
                    out[start + k] = ("r", run[3], run[4], run[5] + run[7] * k, run[6])
                elif kind == "i":
                    out[start + k] = ("i", run[3] + run[4] * k)
                elif kind == "L":
                    out[start + k] = ("L", run[3])
        return out


def read_facts(path: str) -> Facts:
    head: dict[str, Any] = {}
    classes: list[dict[str, Any]] = []
    entries: list[dict[str, Any]] = []
    with open(path, "rb") as lines:
        for line in lines:
            item = msgspec.json.decode(line)
            if item["t"] == "head":
                head = item
            elif item["t"] == "class":
                classes.append(item)
            else:
                entries.append(item)
    return Facts(head, classes, entries)


Run = tuple[int, int]
"""(lowest bit, length)."""


@dataclass
class EntryChecks:
    """What step 2 asks of each entry: lane masks, one uint32 a piece and entry.

    `bad` may accuse too much; so may a *pair*, which accuses where both of its masks hit.  What
    they accuse goes through `exact`, per entry the fields with all their rejected codes.
    """

    bad: dict[str, np.ndarray]
    literal4: dict[str, np.ndarray]
    literal8: dict[str, np.ndarray]
    pair_a: dict[str, np.ndarray]
    pair_b: dict[str, np.ndarray]
    exact: list[list[tuple[tuple[Run, ...], tuple[int, ...]]]]


def entry_checks(facts: Facts, lanes: Lanes) -> EntryChecks:
    count = len(facts.entries)
    names = [name for name, _, _ in PIECES]
    checks = EntryChecks(*({n: np.zeros(count, np.uint32) for n in names} for _ in range(5)), [])
    classes = [facts.expanded_class(i) for i in range(len(facts.classes))]
    rejected = [frozenset(i for i, c in enumerate(k) if c is None) for k in classes]
    literal4 = [frozenset(i for i, c in enumerate(k) if c == ("L", 4)) for k in classes]
    literal8 = [frozenset(i for i, c in enumerate(k) if c == ("L", 8)) for k in classes]

    def ask(masks: dict[str, np.ndarray], number: int, runs: tuple[Run, ...], values: frozenset[int]) -> None:
        if values:
            piece, bit = lanes.bit(runs, values)
            masks[piece][number] |= np.uint32(1 << bit)

    for number, entry in enumerate(facts.entries):
        checks.exact.append([])
        for op in entry["ops"]:
            if "cls" not in op:
                continue
            runs = tuple((low, length) for low, length in op["bits"])
            kind = op["cls"]
            if rejected[kind]:
                checks.exact[-1].append((runs, tuple(sorted(rejected[kind]))))
            if op.get("tied") is None:
                ask(checks.literal4, number, *by_place(runs, literal4[kind]))
                ask(checks.literal8, number, *by_place(runs, literal8[kind]))
            placed, values = by_place(runs, rejected[kind])
            split = split_by_last(placed, values)
            if split is None:
                ask(checks.bad, number, placed, values)
                continue
            main, always, side, side_value, sometimes = split
            ask(checks.bad, number, (main,), always)
            if sometimes:
                ask(checks.pair_a, number, (main,), sometimes)
                ask(checks.pair_b, number, (side,), frozenset((side_value,)))
    return checks


def by_place(runs: tuple[Run, ...], values: frozenset[int]) -> tuple[tuple[Run, ...], frozenset[int]]:
    """The field with its bits in order of place, adjacent runs joined, and its values so read."""
    bits = [low + i for low, length in runs for i in range(length)]
    order = sorted(range(len(bits)), key=bits.__getitem__)
    joined: list[Run] = []
    for bit in sorted(bits):
        low, length = joined[-1] if joined else (-1, 0)
        if joined and low + length == bit and bit % 32:
            joined[-1] = (low, length + 1)
        else:
            joined.append((bit, 1))
    moved = frozenset(sum((v >> source & 1) << place for place, source in enumerate(order)) for v in values)
    return tuple(joined), moved


def split_by_last(
    runs: tuple[Run, ...], values: frozenset[int]
) -> tuple[Run, frozenset[int], Run, int, frozenset[int]] | None:
    """Of a field of two runs in the first two dwords, one of them a single bit: (main run, what it
    must not hold in any case, the single bit, a value of it, what main must not hold then)."""
    if len(runs) != 2 or 1 not in (runs[0][1], runs[1][1]) or max(low for low, _ in runs) >= 64:
        return None
    side_first = runs[0][1] == 1
    main, side = (runs[1], runs[0]) if side_first else (runs[0], runs[1])
    sets: list[set[int]] = [set(), set()]
    for value in values:
        if side_first:
            sets[value & 1].add(value >> 1)
        else:
            sets[value >> main[1]].add(value & ((1 << main[1]) - 1))
    always = sets[0] & sets[1]
    extra = [s - always for s in sets]
    if extra[0] and extra[1]:
        return None
    side_value = 1 if extra[1] else 0
    return main, frozenset(always), side, side_value, frozenset(extra[side_value])


# ---------------------------------------------------------------- guesses
def distinct_columns(bits: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of a bool matrix: an example of each distinct column, the kind of every column, counts."""
    packed = np.packbits(bits, axis=0)
    kind = np.zeros(bits.shape[1], np.int64)
    for row in packed:
        _, kind = np.unique(kind * 256 + row, return_inverse=True)
    _, example, count = np.unique(kind, return_index=True, return_counts=True)
    return example, kind, count


class Guesser:
    """Names a pattern for every first dword: `node[hi16]` selects `shift`, `mask` and `base`, and
    `children[base + (lo16 >> shift & mask)]` is the pattern, or -1."""

    def __init__(self, patterns: Sequence[Pattern], facts: Facts, checks: EntryChecks) -> None:
        self.patterns = patterns
        self.sizes = [facts.entries[number]["size"] for _, _, number in patterns]
        self.rejected = [checks.exact[number] for _, _, number in patterns]
        self.chosen: dict[tuple[int, ...], int] = {}

    def excluded(self, i: int, other: int) -> bool:
        """Whether `other` fixes a field of `i` to a code that `i` rejects (as DPP fixes src0 to
        0xFA), so that no encoding is both."""
        mask, value, _ = self.patterns[other]
        for runs, codes in self.rejected[i]:
            fixed = code = below = 0
            for low, length in runs:
                ones = (1 << length) - 1
                fixed |= (mask >> low & ones) << below
                code |= (value >> low & ones) << below
                below += length
            agreeing = sum((c ^ code) & fixed == 0 for c in codes)
            if fixed and agreeing == 1 << below - fixed.bit_count():
                return True
        return False

    def choose(self, ids: tuple[int, ...]) -> int:
        """The shortest encoding with the most fixed bits among those that are safe, or -1."""
        if ids not in self.chosen:
            ranked = sorted(ids, key=lambda i: (self.sizes[i], -self.patterns[i][0].bit_count()))
            safe = (
                i for i in ranked if all(self.excluded(i, other) for other in ids[: ids.index(i)])
            )
            self.chosen[ids] = next(safe, -1)
        return self.chosen[ids]

    def children(self, ids: Sequence[int]) -> tuple[int, int, tuple[int, ...]]:
        """shift, mask and children of the node for the candidates `ids`."""
        open_bits = differing_bits(self.patterns, ids, 0) & 0xFFFF if ids else 0
        if not open_bits:
            return 0, 0, (self.choose(tuple(ids)),) if ids else (-1,)
        windows = [
            (low, length)
            for length in (*range(1, FIELD_LIMIT + 1), 16)
            for low in range(17 - length)
            if open_bits >> low & 1
        ]
        best: tuple[float, int, int] | None = None
        for low, length in windows:
            cost = self.doubt(ids, low, length)
            # a child is two bytes: more of them must be worth it
            if best is None or cost < best[0] * (0.25 if length == 16 else 0.99):
                best = (cost, low, length)
        assert best is not None
        return self.node(ids, best[1], best[2])

    def parts(
        self, ids: Sequence[int], shift: int, length: int
    ) -> tuple[list[tuple[int, ...]], np.ndarray, np.ndarray]:
        """Distinct sets of candidates left by the field, the set of each value, and its size."""
        span = ((1 << length) - 1) << shift
        values = np.arange(1 << length, dtype=np.int64) << shift
        fits = np.stack(
            [(values ^ (self.patterns[i][1] & span)) & (self.patterns[i][0] & span) == 0 for i in ids]
        )
        example, kind_of, count = distinct_columns(fits)
        left = [tuple(np.array(ids)[fits[:, column]].tolist()) for column in example]
        return left, kind_of, count

    def doubt(self, ids: Sequence[int], shift: int, length: int) -> float:
        """Candidates, on average over the values of the field, that the guess would miss."""
        left, _, count = self.parts(ids, shift, length)
        missed = [len(part) - (self.choose(part) >= 0) if part else 0 for part in left]
        return float((np.array(missed) * count).sum()) / (1 << length)

    def node(
        self, ids: Sequence[int], shift: int, length: int
    ) -> tuple[int, int, tuple[int, ...]]:
        left, kind_of, _ = self.parts(ids, shift, length)
        named = np.array([self.choose(part) if part else -1 for part in left])
        return shift, (1 << length) - 1, tuple(named[kind_of].tolist())

    def arrays(self, tree: Tree) -> dict[str, np.ndarray]:
        shifts, masks, bases = [], [], []
        children: list[int] = []
        placed: dict[tuple[int, ...], int] = {}
        for slot in range(len(tree.candidate_start) - 1):
            ids = tree.candidates[tree.candidate_start[slot] : tree.candidate_start[slot + 1]]
            shift, mask, own = self.children(ids)
            if own not in placed:
                placed[own] = len(children)
                children.extend(own)
            shifts.append(shift)
            masks.append(mask)
            bases.append(placed[own])
        return {
            "guess_shift": np.array(shifts, np.uint8),
            "guess_mask": np.array(masks, np.uint16),
            "guess_base": np.array(bases, np.uint32),
            "guess_children": np.array(children, np.int16),
        }


# ---------------------------------------------------------------- estimated lengths
DPP_CODES = (0xFA, 0xE9, 0xEA)

FOLLOW_FLAGS = {"src0": 1, "src2": 2, "dpp": 4, "src1": 0x80}
"""Bits that say what the second dword asks for: a literal of a source, or a DPP dword.  The field
of src1 straddles the halves of the dword; its bit is set when both halves set it."""

HAS_LITERAL = 0x80
"""Set in an estimated length that counts a literal already."""


def estimate_arrays(
    facts: Facts, patterns: Sequence[Pattern], tree: Tree, lanes: Lanes, checks: EntryChecks
) -> dict[str, np.ndarray]:
    """The tables of `postproc.isa.decoding.estimate`.

    For each upper half of the first dword a *kind*; for each kind and class of lower half a
    length, and which flags of the second dword make it one longer.  Both halves' tables carry in
    their upper byte the flags that the same half gives as part of a second dword.
    """
    low = np.arange(65536, dtype=np.uint32)
    low_lane = lanes.table("low0", 16)
    rows: dict[bytes, int] = {}
    lengths: list[np.ndarray] = []
    follow: list[int] = []
    kind_of_slot = []
    for slot in range(len(tree.candidate_start) - 1):
        ids = tree.candidates[tree.candidate_start[slot] : tree.candidate_start[slot + 1]]
        length = np.full(65536, 255 if ids else 1, np.uint8)
        usual: np.ndarray | None = None
        need = 0
        for i in ids:
            mask, value, number = patterns[i]
            own = np.full(65536, facts.entries[number]["size"] // 4, np.uint8)
            own[(low_lane & checks.literal4["low0"][number]) != 0] += HAS_LITERAL + 1
            own[(low_lane & checks.literal8["low0"][number]) != 0] += HAS_LITERAL + 2
            fits = (low & np.uint32(mask & 0xFFFF)) == np.uint32(value & 0xFFFF)
            fits &= (low_lane & checks.bad["low0"][number]) == 0
            usual = own if usual is None else usual
            length[fits] = np.minimum(length[fits], own[fits])
            need |= _follow_flags(facts, facts.entries[number], mask, value)
        if usual is not None:
            length[length == 255] = usual[length == 255]
        key = length.tobytes() + bytes([need])
        if key not in rows:
            rows[key] = len(rows)
            lengths.append(length)
            follow.append(need)
        kind_of_slot.append(rows[key])
    if len(rows) > 256:
        raise ValueError(f"{len(rows)} kinds of upper halves")
    columns, class_of_low = _at_most_256(np.stack(lengths))
    table = np.ones((256, 256), np.uint8)
    table[: columns.shape[0], : columns.shape[1]] = columns
    low_flags = np.where((low & 0x1FF) == 0xFF, FOLLOW_FLAGS["src0"], 0)
    low_flags |= np.where(np.isin(low & 0x1FF, DPP_CODES), FOLLOW_FLAGS["dpp"], 0)
    low_flags |= np.where(low >> 9 == 0x7F, FOLLOW_FLAGS["src1"], 0)
    high_flags = np.where((low >> 2 & 0x1FF) == 0xFF, FOLLOW_FLAGS["src2"], 0)
    high_flags |= np.where((low & 3) == 1, FOLLOW_FLAGS["src1"], 0)
    kind_of_high = np.array(kind_of_slot, np.uint16)[tree.slot]
    padded = np.zeros(256, np.uint16)
    padded[: len(follow)] = follow
    return {
        "estimate_low": (class_of_low.reshape(-1) | low_flags << 8).astype(np.uint16),
        "estimate_high": (kind_of_high | high_flags << 8).astype(np.uint16),
        "estimate_length": table.reshape(-1),
        "estimate_follow": padded,
    }


def _at_most_256(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct columns and the column of each lower half; rare ones join their nearest."""
    columns, inverse, count = np.unique(lengths, axis=1, return_inverse=True, return_counts=True)
    order = np.argsort(-count, kind="stable")
    kept = columns[:, order[:256]]
    renumber = np.empty(columns.shape[1], np.intp)
    renumber[order[:256]] = np.arange(min(256, order.size))
    for column in order[256:]:
        renumber[column] = (kept != columns[:, [column]]).sum(axis=0).argmin()
    return kept, renumber[inverse.reshape(-1)]


def _follow_flags(facts: Facts, entry: dict[str, Any], mask: int, value: int) -> int:
    flags = 0
    if mask >> 32 & 0xFF == 0xFF and value >> 32 & 0xFF in DPP_CODES and entry["size"] == 12:
        flags |= FOLLOW_FLAGS["dpp"]
    for op in entry["ops"]:
        if "cls" not in op or ("L", 4) not in facts.expanded_class(op["cls"]):
            continue
        for low, length in by_place(tuple(tuple(r) for r in op["bits"]), frozenset())[0]:
            place = {(32, 9): "src0", (41, 9): "src1", (50, 9): "src2"}.get((low, length))
            flags |= FOLLOW_FLAGS[place] if place else 0
    return flags


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
        arrays[f"pattern_mask{word}"] = np.array([p[0] >> shift & 0xFFFFFFFF for p in patterns], np.uint32)
        arrays[f"pattern_value{word}"] = np.array([p[1] >> shift & 0xFFFFFFFF for p in patterns], np.uint32)
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


def entry_records(facts: Facts) -> dict[str, Any]:
    """The records that `postproc.isa.tables.Tables` turns into `Entry` objects."""
    text, spec, layout, template = Interner(), Interner(), Interner(), Interner()
    flags, extra = Interner(), Interner()
    records = []
    for entry in facts.entries:
        variants = [
            (role, tuple(v[0]), tuple(v[1]))
            for role, v in sorted(entry.get("wvar", {}).items())
            if role != "#size"
        ]
        records.append(
            (
                text(entry["mn"]),
                text(entry["llvm"]),
                text(entry["fmt"]),
                layout(tuple(spec(operand_record(entry, op)) for op in entry["ops"])),
                template(tuple(entry.get("template", ()))),
                flags(tuple(tuple(entry.get(k, ())) for k in ("fl", "ts", "idef", "iuse"))),
                extra(
                    (
                        tuple(tuple(r) for r in entry.get("ign", ())),
                        int(entry.get("canon", "0"), 16).to_bytes(16, "little").rstrip(b"\0"),
                        tuple(variants),
                    )
                ),
            )
        )
    return {
        "strings": text.values(),
        "classes": [(c["n"], c["runs"]) for c in facts.classes],
        "specs": spec.values(),
        "layouts": layout.values(),
        "templates": template.values(),
        "flags": flags.values(),
        "extras": extra.values(),
        "entries": records,
    }


def length_variants(facts: Facts) -> list[Any]:
    """(entry, bits, byte sizes) of entries whose size some bits of the encoding select."""
    found = []
    for number, entry in enumerate(facts.entries):
        variant = entry.get("wvar", {}).get("#size")
        if variant is not None:
            found.append((number, variant[0], [size or 0 for size in variant[1]]))
    return found


@dataclass(frozen=True)
class Part:
    """One wavefront size, before compression."""

    index: dict[str, tuple[str, int, int]]
    arrays: bytes
    records: bytes
    lengths: list[Any]


def pack(facts: Facts) -> Part:
    ordered = sorted(range(len(facts.entries)), key=lambda n: facts.entries[n]["rank"])
    facts = Facts(facts.head, facts.classes, [facts.entries[n] for n in ordered])
    arrays = decoder_arrays(facts)
    index: dict[str, tuple[str, int, int]] = {}
    content = bytearray()
    for name, values in sorted(arrays.items()):
        content += bytes(-len(content) % 8)
        index[name] = (values.dtype.str, len(content), values.size)
        content += values.tobytes()
    records = msgspec.msgpack.encode(entry_records(facts))
    return Part(index, bytes(content), records, length_variants(facts))


def table_file(processor: str, llvm: str, parts: dict[int, Part]) -> bytes:
    """The file that ships: a small header and zstd frames, per wavefront size one of the arrays
    and one of the records.  The second size is compressed against the first."""
    header: dict[str, Any] = {"processor": processor, "llvm": llvm, "parts": {}}
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
        header["parts"][str(size)] = (part.index, *places, part.lengths)
        base = base or part
    encoded = msgspec.msgpack.encode(header)
    return MAGIC + len(encoded).to_bytes(4, "little") + encoded + bytes(frames)


def compress(content: bytes, known: bytes | None) -> bytes:
    parameters = zstandard.ZstdCompressionParameters.from_level(
        19, source_size=len(content), window_log=24, enable_ldm=True
    )
    dictionary = None
    if known is not None:
        dictionary = zstandard.ZstdCompressionDict(known, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    compressor = zstandard.ZstdCompressor(
        dict_data=dictionary, compression_params=parameters
    )
    return compressor.compress(content)
