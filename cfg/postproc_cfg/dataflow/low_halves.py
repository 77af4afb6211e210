# SPDX-License-Identifier: Apache-2.0
"""Scalar registers whose bits [15:0] are zero on every path.

In the second group of a tensor descriptor (gfx1250) these bits of the first register are the
workgroup mask; a load whose mask is proven zero is no multicast.  Let Z be the set of such
registers, and z(x) for an operand x say whether x is in Z, or is a constant with a zero low half.

    (1)  Z is empty at entries and where control comes from unknown places
    (2)  Z before a block is the intersection of Z behind its predecessors
    (3)  an instruction takes what it writes from Z, and puts d back if

         d = a                  s_mov, s_movk                                z(a)
         d = a op b             s_or, s_xor, s_add, s_sub, s_cselect         z(a) and z(b)
         d = a op b             s_and, s_mul                                 z(a) or z(b)
         d = a & ~b             s_andn2, s_and_not1                          z(a)
         d = a << b             s_lshl                                       z(a), or 16 <= b <= 31
         d = {b.x, a.lo}        s_pack_ll, s_pack_lh                         z(a)
         d = {b.x, a.hi}        s_pack_hh, s_pack_hl                         a[31:16] = 0, constant
         d = SCC ? a : d        s_cmov                                       z(a) and z(d)

    (4)  a call and an instruction of unknown effect empty Z
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np

from postproc.isa import Flag
from postproc_cfg.dataflow.bitsets import to_integers
from postproc_cfg.dataflow.lattice import solve_lattice
from postproc_cfg.dataflow.ranges import BlockRanges

if TYPE_CHECKING:
    from postproc.isa import Decoded, Instruction, OperandValue
    from postproc_cfg.dataflow.register_sets import RegisterSets
    from postproc_cfg.graph.csr import Graph

__all__ = ["LowHalves", "low_halves"]

_SCALARS: Final = 128
"""SGPRs, VCC, TTMP and M0 have numbers below; a set of them is an integer of as many bits."""

_EVERY: Final = (1 << _SCALARS) - 1

_Rule = Callable[[int], bool]
"""Says of Z whether the destination comes into it."""

_BOTH: Final = ("s_or_b32", "s_xor_b32", "s_add_u32", "s_add_i32", "s_add_co_u32", "s_add_co_i32")
_BOTH_ALSO: Final = ("s_sub_u32", "s_sub_i32", "s_sub_co_u32", "s_sub_co_i32", "s_cselect_b32")
_EITHER: Final = ("s_and_b32", "s_mul_i32")
_FIRST: Final = ("s_andn2_b32", "s_and_not1_b32", "s_pack_ll_b32_b16", "s_pack_lh_b32_b16")
_HIGH_OF_FIRST: Final = ("s_pack_hh_b32_b16", "s_pack_hl_b32_b16")
_MOVES: Final = ("s_mov_b32", "s_movk_i32")
_CONDITIONAL_MOVES: Final = ("s_cmov_b32", "s_cmovk_i32")
_SHIFTS: Final = ("s_lshl_b32",)
_KNOWN: Final = (
    *_BOTH,
    *_BOTH_ALSO,
    *_EITHER,
    *_FIRST,
    *_HIGH_OF_FIRST,
    *_MOVES,
    *_CONDITIONAL_MOVES,
    *_SHIFTS,
)


@final
class LowHalves:
    """Where low halves are proven zero; ask with hardware codes of scalar registers."""

    def __init__(self, ranges: BlockRanges, at_start: tuple[int, ...], steps: _Steps) -> None:
        self._ranges = ranges
        self._at_start = at_start
        self._steps = steps

    def is_zero(self, instruction: int, register: int) -> bool:
        """Whether bits [15:0] of a scalar register are zero when an instruction is about to run,
        on every path; True where no path arrives."""
        block = self._ranges.block_of(instruction)
        first = int(self._ranges.first[block])
        found = self._steps.run(first, instruction, self._at_start[block])
        return bool(found >> register & 1)


@final
@dataclass(frozen=True)
class _Intersection:
    """Sets of scalar registers, joined by intersection."""

    bottom: int = _EVERY

    def join(self, one: int, other: int) -> int:
        return one & other


@final
@dataclass(frozen=True)
class _Steps:
    """(3) and (4): registers taken from Z by each instruction, and rules of those that may put one
    back."""

    lost: list[int]
    rules: dict[int, tuple[int, _Rule]]

    def run(self, first: int, end: int, zero: int) -> int:
        for i in range(first, end):
            rule = self.rules.get(i)
            comes = rule is not None and rule[1](zero)
            zero &= ~self.lost[i]
            if rule is not None and comes:
                zero |= rule[0]
        return zero


def low_halves(
    graph: Graph,
    ranges: BlockRanges,
    decoded: Decoded,
    sets: RegisterSets,
    *,
    entered: Iterable[int] = (),
) -> LowHalves:
    """Solve (1) to (4).  `sets` are the registers of all instructions of the text; blocks in
    `entered` may be entered from unknown places."""
    unknown = sets.opaque | (decoded.flags & np.uint32(Flag.CALL) != 0)
    lost = [
        _EVERY if is_unknown else written
        for written, is_unknown in zip(
            to_integers(sets.defs[:, : _SCALARS // 64]), unknown.tolist(), strict=True
        )
    ]
    found = decoded.where(decoded.isa.match(*_KNOWN)).tolist()
    steps = _Steps(lost, {i: rule for i in found if (rule := _rule(decoded[i])) is not None})

    def transfer(block: int, zero: int) -> int:
        return steps.run(int(ranges.first[block]), int(ranges.end[block]), zero)

    boundary = dict.fromkeys([*graph.entries.tolist(), *entered], 0)
    reached = solve_lattice(graph, _Intersection(), transfer, boundary)
    return LowHalves(ranges, reached.at_start, steps)


def _rule(instruction: Instruction) -> tuple[int, _Rule] | None:
    """The destination as a set, and when its low half is zero; None if it is no scalar register."""
    values = [v for v in instruction.values if v.spec.tied is None]
    destination = next((_number(v) for v in values if v.spec.is_def), -1)
    sources = [v for v in values if not v.spec.is_def]
    if not 0 <= destination < _SCALARS or not sources:
        return None
    bit = 1 << destination
    name = instruction.mnemonic
    first, last = _is_zero(sources[0]), _is_zero(sources[-1])
    if name in _BOTH or name in _BOTH_ALSO:
        return bit, lambda zero: first(zero) and last(zero)
    if name in _EITHER:
        return bit, lambda zero: first(zero) or last(zero)
    if name in _CONDITIONAL_MOVES:
        return bit, lambda zero: first(zero) and bool(zero & bit)
    if name in _SHIFTS and _constant(sources[-1]) in range(16, 32):
        return bit, lambda zero: True
    if name in _HIGH_OF_FIRST:
        high = _constant(sources[0])
        return bit, lambda zero: high is not None and high & 0xFFFF0000 == 0
    return bit, first


def _number(value: OperandValue) -> int:
    register = value.register
    return register.index if register is not None and register.file == "s" else -1


def _constant(value: OperandValue) -> int | None:
    return None if value.kind == "reg" else value.value & 0xFFFFFFFF


def _is_zero(value: OperandValue) -> _Rule:
    """z(x) of an operand."""
    constant, number = _constant(value), _number(value)
    if constant is not None:
        is_zero = constant & 0xFFFF == 0
        return lambda zero: is_zero
    return lambda zero: 0 <= number < _SCALARS and bool(zero >> number & 1)
