# SPDX-License-Identifier: Apache-2.0
"""What scalar operations do to the values of `postproc_cfg.values`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, final

from postproc_cfg.definitions import SCC
from postproc_cfg.scalar_operations import (
    LITERAL,
    LITERAL_64,
    SCC_SOURCE,
    Operation,
    inline_constant,
)
from postproc_cfg.values import (
    WORD,
    CodeHigh,
    PcHigh,
    Value,
    Values,
    add,
    add_carry,
    as_signed,
    carry_of,
    each,
    joined,
    low_of,
    pairs,
)

if TYPE_CHECKING:
    from postproc_cfg.constant_memory import ConstantMemory
    from postproc_cfg.text import Text

__all__ = ["Machine", "State", "pair_value"]

State = dict[int, Values]
"""What registers hold, by their bit; nothing is known of a register that is not in it."""


def _signed(function: Callable[[int, int], int]) -> Callable[[int, int], int]:
    return lambda a, b: function(as_signed(a), as_signed(b))


_ARITHMETIC: Final[Mapping[str, Callable[[int, int], int]]] = {
    "s_and_b32": operator.and_,
    "s_or_b32": operator.or_,
    "s_xor_b32": operator.xor,
    "s_andn2_b32": lambda a, b: a & ~b,
    "s_and_not1_b32": lambda a, b: a & ~b,
    "s_lshl_b32": lambda a, b: a << (b & 31),
    "s_lshr_b32": lambda a, b: a >> (b & 31),
    "s_ashr_i32": lambda a, b: as_signed(a) >> (b & 31),
    "s_mul_i32": operator.mul,
    "s_min_u32": min,
    "s_max_u32": max,
    "s_min_i32": _signed(min),
    "s_max_i32": _signed(max),
}
"""On constants.  All but the multiplication write SCC: whether the result is not zero, and of min
and max which operand it was."""

_COMPARISONS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "eq": operator.eq,
    "lg": operator.ne,
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}


def _read(state: State, code: int, literal: int) -> Values | None:
    """A 32-bit source."""
    if code < 128:
        return state.get(code)
    if code == SCC_SOURCE:
        return state.get(SCC)
    value = literal if code in (LITERAL, LITERAL_64) else inline_constant(code)
    return None if value is None else frozenset({value & WORD})


def _read_pair(
    state: State, code: int, operation: Operation
) -> tuple[Values | None, Values | None]:
    """A 64-bit source.  How a 32-bit literal whose top bit is set is extended differs between
    tools: nothing is known then."""
    if code < 128:
        return state.get(code), state.get(code + 1)
    value = operation.literal if code in (LITERAL, LITERAL_64) else inline_constant(code)
    if value is None:
        return None, None
    if code == LITERAL and not operation.wide_literal and value >> 31:
        return None, None
    return frozenset({value & WORD}), frozenset({value >> 32})


def pair_value(state: State, register: int) -> Values | None:
    """The addresses in a register pair, see `values.pairs`."""
    return pairs(state.get(register), state.get(register + 1))


@final
class Machine:
    """Executes operations on states."""

    def __init__(self, text: Text, memory: ConstantMemory) -> None:
        self._text = text
        self._memory = memory

    def execute(self, operation: Operation, state: State) -> None:
        """Change `state` as the instruction does."""
        results = self._results(operation, state)
        writes = operation.writes
        while writes:
            bit = (writes & -writes).bit_length() - 1
            writes &= writes - 1
            value = results.get(bit)
            if value is None:
                state.pop(bit, None)
            else:
                state[bit] = value

    def _results(self, o: Operation, state: State) -> dict[int, Values | None]:
        name, d = o.name, o.register
        if name == "getpc":
            after = int(self._text.place[o.index]) + 4
            return {d: frozenset({low_of(after)}), d + 1: frozenset({PcHigh(after)})}
        if name in ("writelane", "readlane"):
            return {d: state.get(o.first)}
        if name == "vload":
            return self._lanes_loaded(o, state)
        if name == "load":
            return self._loaded(o, state)
        if name.endswith("64") and not name.startswith("s_"):
            return _wide(o, state)
        if name.startswith("s_cmp"):
            return {SCC: _compared(o, state)}
        if name in ("movk", "cmovk", "addk", "mulk"):
            return _short(o, state)
        left, right = _read(state, o.first, o.literal), _read(state, o.second, o.literal)
        return _narrow(o, state, left, right)

    def _loaded(self, o: Operation, state: State) -> dict[int, Values | None]:
        """What lies in memory that nobody writes."""
        base = pair_value(state, o.first)
        if base is None:
            return {}
        width = o.writes.bit_count()
        result: dict[int, Values | None] = {}
        for word in range(width):
            result[o.register + word] = self._word(base, o, word)
        for word in range(0, width - 1, 2):
            goals = self._from_memory(base, o, 4 * word, self._pointers)
            if goals is not None:
                result[o.register + word] = frozenset(low_of(goal) for goal in goals)
                result[o.register + word + 1] = frozenset(PcHigh(goal) for goal in goals)
        return result

    def _lanes_loaded(self, o: Operation, state: State) -> dict[int, Values | None]:
        """Pointers that each lane loads from a constant table, by an index of its own."""
        base = pair_value(state, o.first)
        goals: set[int] = set()
        for value in base or ():
            if not isinstance(value, (PcHigh, CodeHigh)):
                return {}
            found = self._memory.table_at(value.place + o.literal)
            if found is None:
                return {}
            goals |= found
        if not goals:
            return {}
        lows, highs = frozenset(map(low_of, goals)), frozenset(map(PcHigh, goals))
        return {o.register: lows, o.second: highs}

    def _word(self, base: Values, o: Operation, word: int) -> Values | None:
        return self._from_memory(base, o, 4 * word, self._words)

    def _from_memory(
        self, base: Values, o: Operation, step: int, look: _Look
    ) -> frozenset[int] | None:
        """What `look` finds at all addresses that the load may use."""
        found: set[int] = set()
        for value in base:
            if not isinstance(value, (PcHigh, CodeHigh)):
                return None
            exact = isinstance(value, PcHigh) and not o.second
            contents = look(value.place + o.literal + step, exact)
            if contents is None:
                return None
            found |= contents
        return frozenset(found)

    def _pointers(self, address: int, exact: bool) -> frozenset[int] | None:
        memory = self._memory
        return memory.pointer_at(address) if exact else memory.table_at(address)

    def _words(self, address: int, exact: bool) -> frozenset[int] | None:
        memory = self._memory
        return memory.word_at(address) if exact else memory.words_at(address)


_Look = Callable[[int, bool], "frozenset[int] | None"]


def _narrow(
    o: Operation, state: State, left: Values | None, right: Values | None
) -> dict[int, Values | None]:
    """32-bit operations with their results in SDST and SCC."""
    name, d = o.name, o.register
    scc = state.get(SCC)
    if name == "mov":
        return {d: left}
    if name == "cmov":
        return {d: _chosen(scc, left, state.get(d))}
    if name == "cselect":
        return {d: _chosen(scc, left, right)}
    if name in ("add_u", "sub_u"):
        sign = 1 if name == "add_u" else -1
        return {d: add(left, right, sign=sign), SCC: carry_of(left, right, sign=sign)}
    if name in ("add_i", "sub_i"):
        sign = 1 if name == "add_i" else -1
        overflow = each(lambda a, b: _overflow(a, b, sign), left, right)
        return {d: add(left, right, sign=sign), SCC: overflow}
    if name in ("addc", "subb"):
        total, carry = add_carry(left, right, scc, sign=1 if name == "addc" else -1)
        return {d: total, SCC: carry}
    if name in ("sext16", "sext8"):
        return {d: _extended(o, left)}
    if name in ("abs", "not"):
        compute = _absolute if name == "abs" else _inverted
        value = each(compute, left, frozenset({0}))
        return {d: value, SCC: each(_is_not_zero, value, frozenset({0}))}
    return _arithmetic(o, left, right)


def _arithmetic(
    o: Operation, left: Values | None, right: Values | None
) -> dict[int, Values | None]:
    function = _ARITHMETIC[o.name]

    def compute(a: Value, b: Value) -> Value | None:
        return function(a, b) & WORD if isinstance(a, int) and isinstance(b, int) else None

    value = each(compute, left, right)
    if o.name.startswith(("s_min", "s_max")):
        return {o.register: value, SCC: None if value is None else frozenset({0, 1})}
    return {o.register: value, SCC: each(_is_not_zero, value, frozenset({0}))}


def _short(o: Operation, state: State) -> dict[int, Values | None]:
    """The K forms: a signed 16-bit constant."""
    constant = frozenset({as_signed(o.first, 16) & WORD})
    old = state.get(o.register)
    if o.name == "movk":
        return {o.register: constant}
    if o.name == "cmovk":
        return {o.register: _chosen(state.get(SCC), constant, old)}
    if o.name == "mulk":
        return {o.register: each(_product, old, constant)}
    overflow = each(lambda a, b: _overflow(a, b, 1), old, constant)
    return {o.register: add(old, constant), SCC: overflow}


def _wide(o: Operation, state: State) -> dict[int, Values | None]:
    """64-bit moves, selections and additions."""
    d = o.register
    left = _read_pair(state, o.first, o)
    if o.name == "mov64":
        return dict(zip((d, d + 1), left, strict=True))
    scc = state.get(SCC)
    right = (state.get(d), state.get(d + 1))
    if o.name != "cmov64":
        right = _read_pair(state, o.second, o)
    if o.name in ("cmov64", "cselect64"):
        return {d: _chosen(scc, left[0], right[0]), d + 1: _chosen(scc, left[1], right[1])}
    sign = 1 if o.name == "add64" else -1
    low, carry = add(left[0], right[0], sign=sign), carry_of(left[0], right[0], sign=sign)
    return {d: low, d + 1: add_carry(left[1], right[1], carry, sign=sign)[0]}


def _chosen(scc: Values | None, yes: Values | None, no: Values | None) -> Values | None:
    if scc == frozenset({1}):
        return yes
    return no if scc == frozenset({0}) else joined(yes, no)


def _compared(o: Operation, state: State) -> Values | None:
    """`s_cmp_<relation>_<type>` and `s_cmpk_...` on constants."""
    _, form, relation, kind = o.name.split("_")
    compare = _COMPARISONS.get(relation)
    if compare is None or kind not in ("i32", "u32"):
        return None
    if form == "cmpk":
        word = as_signed(o.first, 16) & WORD if kind == "i32" else o.first
        left, right = state.get(o.register), frozenset[Value]({word})
    else:
        first, second = _read(state, o.first, o.literal), _read(state, o.second, o.literal)
        if second is None:
            return None
        left, right = first, second

    def result(a: Value, b: Value) -> Value | None:
        if not (isinstance(a, int) and isinstance(b, int)):
            return None
        return int(compare(as_signed(a), as_signed(b)) if kind == "i32" else compare(a, b))

    return each(result, left, right)


def _extended(o: Operation, source: Values | None) -> Values | None:
    """Of the high half of an address, extending its own low 16 bits changes nothing: addresses
    are 48 bits wide, and some targets do not extend what `s_getpc_b64` returns."""
    bits = 16 if o.name == "sext16" else 8
    if source is None:
        return None
    if (
        bits == 16
        and o.first == o.register
        and all(isinstance(v, (PcHigh, CodeHigh)) for v in source)
    ):
        return source
    if not all(isinstance(v, int) for v in source):
        return None
    return frozenset(as_signed(v, bits) & WORD for v in source if isinstance(v, int))


def _overflow(a: Value, b: Value, sign: int) -> Value | None:
    if not (isinstance(a, int) and isinstance(b, int)):
        return None
    return int(not -(1 << 31) <= as_signed(a) + sign * as_signed(b) < 1 << 31)


def _product(a: Value, b: Value) -> Value | None:
    return (a * b) & WORD if isinstance(a, int) and isinstance(b, int) else None


def _absolute(a: Value, _: Value) -> Value | None:
    return abs(as_signed(a)) & WORD if isinstance(a, int) else None


def _inverted(a: Value, _: Value) -> Value | None:
    return ~a & WORD if isinstance(a, int) else None


def _is_not_zero(a: Value, _: Value) -> Value | None:
    return int(a != 0) if isinstance(a, int) else None
