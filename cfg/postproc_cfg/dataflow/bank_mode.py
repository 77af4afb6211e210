# SPDX-License-Identifier: Apache-2.0
"""The VGPR-bank mode of gfx1250, as far as it is the same on every path.

The mode is a byte with two bits each for source 0, source 1, source 2 and destination, from the
lowest.  For every bit there are two facts, "it is 0" and "it is 1"; they are must-facts:

    (1)  the mode is 0 at the entries of kernels and functions
    (2)  s_set_vgpr_msb imm      every bit becomes that of imm[7:0]
    (3)  s_setreg_imm32_b32 hwreg(MODE, ...), imm
                                 every bit becomes that of imm[19:12] rotated right by 2, whatever
                                 offset and size say
    (4)  any other write of MODE, a call, an undecodable word
                                 nothing is known of any bit
    (5)  s_set_vgpr_msb directly behind a write of MODE by s_setreg
                                 hardware drops it (LLVM issue 184904): if it would have changed
                                 the mode, nothing is known

A bit of which neither fact holds differs between paths or is unknown.  Both hold at the start of a
block that no path reaches; the bit counts as 0 there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np

from postproc_cfg.dataflow.bitsets import from_integers
from postproc_cfg.dataflow.ranges import BlockRanges, InstructionFlow
from postproc_cfg.dataflow.solver import solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc.isa import Decoded
    from postproc_cfg.graph.csr import Graph

__all__ = ["KEEPS", "UNKNOWN_MODE", "BankModes", "bank_modes", "mode_effects"]

KEEPS: Final = -1
"""Effect of an instruction that leaves the mode alone."""

UNKNOWN_MODE: Final = -2
"""Effect of an instruction behind which the mode is not known."""

_MODE_REGISTER: Final = 1
"""hwreg number of MODE, simm16 bits [5:0]."""

_SETS_MODE: Final = ("s_set_vgpr_msb",)
_SETREG_IMMEDIATE: Final = ("s_setreg_imm32_b32",)
_SETREG: Final = ("s_setreg_b32",)
_OTHER_MODE_WRITES: Final = ("s_round_mode", "s_denorm_mode")
_CALLS: Final = ("s_call_b64", "s_call_i64", "s_swappc_b64", "s_swap_pc_i64")


@final
@dataclass(frozen=True, eq=False)
class BankModes:
    """The mode before each instruction.

    value  uint8[i], 0 in the bits that are not known
    known  uint8[i], bits that are the same on every path
    """

    value: NDArray[np.uint8]
    known: NDArray[np.uint8]

    def mode(self, instruction: int) -> int | None:
        """The whole byte, or None if a bit of it is not known."""
        whole = int(self.known[instruction]) == 0xFF
        return int(self.value[instruction]) if whole else None

    def bank(self, instruction: int, slot: int) -> int | None:
        """The bank (0 to 3) of an operand slot: 0 to 2 a source, 3 the destination."""
        mask = 3 << 2 * slot
        if int(self.known[instruction]) & mask != mask:
            return None
        return (int(self.value[instruction]) & mask) >> 2 * slot


def mode_effects(decoded: Decoded) -> NDArray[np.int16]:
    """(2) to (5) for each instruction of a gfx1250 text: a mode, `KEEPS` or `UNKNOWN_MODE`."""
    isa = decoded.isa
    octets = np.frombuffer(decoded.code, np.uint8).astype(np.int64)
    effects = np.full(len(decoded), KEEPS, np.int16)

    def word(at: NDArray[np.intp], skip: int) -> NDArray[np.int64]:
        start = decoded.offset[at].astype(np.intp) + skip
        return octets[start] | octets[start + 1] << 8 | octets[start + 2] << 16

    setters = decoded.where(isa.match(*_SETS_MODE))
    effects[setters] = (word(setters, 0) & 0xFF).astype(np.int16)
    immediate, other = (decoded.where(isa.match(*names)) for names in (_SETREG_IMMEDIATE, _SETREG))
    immediate, other = (at[word(at, 0) & 0x3F == _MODE_REGISTER] for at in (immediate, other))
    field = word(immediate, 4) >> 12 & 0xFF
    effects[immediate] = ((field >> 2 | field << 6) & 0xFF).astype(np.int16)
    clobbers = decoded.where(isa.match(*_CALLS, *_OTHER_MODE_WRITES))
    for at in (other, clobbers, decoded.unknown):
        effects[at] = UNKNOWN_MODE
    by_setreg = np.append(immediate, other)
    dropped = setters[np.isin(setters - 1, by_setreg)]
    effects[dropped] = np.where(
        effects[dropped] == effects[dropped - 1], effects[dropped], UNKNOWN_MODE
    )
    return effects


def bank_modes(
    graph: Graph,
    ranges: BlockRanges,
    effects: NDArray[np.int16],
    *,
    entered: Iterable[int] = (),
) -> BankModes:
    """Solve (1) to (5).

    effects  int16[i], see `mode_effects`
    entered  blocks that may be entered with any mode
    Instructions outside all blocks have no known bit.
    """
    flow = InstructionFlow(ranges, *_as_facts(effects), "forward")
    zero, nothing = from_integers([0x00FF, 0], 1)
    boundary = dict.fromkeys(graph.entries.tolist(), zero) | dict.fromkeys(entered, nothing)
    gen, kill = flow.block_effects()
    solution = solve(graph, gen, kill, direction="forward", meet="must", boundary=boundary)
    facts = np.zeros(effects.size, np.uint16)
    for block in range(len(ranges)):
        first, end = int(ranges.first[block]), int(ranges.end[block])
        before, _ = flow.values(block, solution.at_start[block])
        facts[first:end] = before[:, 0] & np.uint64(0xFFFF)
    is_zero, is_one = (facts & 0xFF).astype(np.uint8), (facts >> 8).astype(np.uint8)
    return BankModes(is_one & ~is_zero, is_zero | is_one)


def _as_facts(effects: NDArray[np.int16]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """gen and kill, uint64[i, 1]; bit k says "bit k is 0", bit 8 + k "bit k is 1"."""
    mode = np.where(effects >= 0, effects, 0).astype(np.uint64)
    gen = np.where(effects >= 0, mode << np.uint64(8) | ~mode & np.uint64(0xFF), np.uint64(0))
    kill = np.where(effects == KEEPS, np.uint64(0), ~np.uint64(0))
    return gen[:, np.newaxis], kill[:, np.newaxis]
