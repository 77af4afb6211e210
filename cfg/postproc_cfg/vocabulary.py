# SPDX-License-Identifier: Apache-2.0
"""The branch vocabulary: what every analysis means by branch, call and control transfer.

All questions are answered for a whole section at once.  The words are those of LLVM and of
StinkyTofu:

    branch             leaves the straight path and is no call: s_branch, s_cbranch_*, s_setpc_b64
    call               s_call_b64, s_swappc_b64: control comes back, so it falls through; its
                       callees are never successors
    control transfer   branch or call
    indirect branch    a branch whose target is in a register

A set-PC without a proven target has neither a successor nor a fall-through.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc.isa import Decoded, Isa

__all__ = [
    "Transfer",
    "branch_targets",
    "call_targets",
    "direct_targets",
    "is_branch",
    "is_call",
    "is_conditional_branch",
    "is_control_transfer",
    "is_indirect_branch",
    "is_unconditional_branch",
    "transfers",
]


@final
class Transfer(IntEnum):
    """How an instruction passes control on."""

    NONE = 0
    """To the next instruction."""
    BRANCH = 1
    CONDITIONAL = 2
    SET_PC = 3
    ADD_PC = 4
    """`s_add_pc_i64`, by a constant or by a register."""
    CALL = 5
    SWAP_PC = 6
    TRAP_RETURN = 7
    """`s_rfe*`: to wherever the trap came from."""
    FORK = 8
    """`s_cbranch_i_fork`, `s_cbranch_g_fork`, `s_cbranch_join`: by a stack in hardware."""
    END = 9
    UNKNOWN = 10
    """No instruction is known for this dword."""


_MNEMONICS: Final[tuple[tuple[Transfer, tuple[str, ...]], ...]] = (
    (Transfer.CONDITIONAL, ("s_cbranch_*", "s_subvector_loop_*")),
    (Transfer.FORK, ("s_cbranch_i_fork", "s_cbranch_g_fork", "s_cbranch_join")),
    (Transfer.BRANCH, ("s_branch",)),
    (Transfer.SET_PC, ("s_setpc_b64", "s_set_pc_i64")),
    (Transfer.ADD_PC, ("s_add_pc_i64",)),
    (Transfer.CALL, ("s_call_b64", "s_call_i64")),
    (Transfer.SWAP_PC, ("s_swappc_b64", "s_swap_pc_i64")),
    (Transfer.TRAP_RETURN, ("s_rfe_*",)),
    (Transfer.END, ("s_endpgm*", "s_code_end")),
)
"""A later row takes what an earlier one has as well."""

_BRANCHES: Final = (
    Transfer.BRANCH,
    Transfer.CONDITIONAL,
    Transfer.SET_PC,
    Transfer.ADD_PC,
    Transfer.TRAP_RETURN,
    Transfer.FORK,
)
_CALLS: Final = (Transfer.CALL, Transfer.SWAP_PC)
_NO_PROOFS: Final[Mapping[int, tuple[int, ...]]] = MappingProxyType({})


def _entry_kinds(isa: Isa) -> NDArray[np.int8]:
    kinds = np.full(isa.entries + 1, Transfer.NONE, np.int8)
    for kind, patterns in _MNEMONICS:
        kinds[:-1][isa.match(*patterns)] = kind
    kinds[-1] = Transfer.UNKNOWN
    return kinds


def transfers(decoded: Decoded) -> NDArray[np.int8]:
    """`Transfer` of each instruction."""
    rows = np.minimum(decoded.opcode, decoded.isa.entries).astype(np.intp)
    found: NDArray[np.int8] = _entry_kinds(decoded.isa).take(rows)
    return found


def is_branch(decoded: Decoded) -> NDArray[np.bool_]:
    """Which instructions are branches: direct, conditional or indirect, but no calls."""
    return np.isin(transfers(decoded), _BRANCHES)


def is_call(decoded: Decoded) -> NDArray[np.bool_]:
    """Which instructions are calls."""
    return np.isin(transfers(decoded), _CALLS)


def is_control_transfer(decoded: Decoded) -> NDArray[np.bool_]:
    """Which instructions are branches or calls."""
    return np.isin(transfers(decoded), _BRANCHES + _CALLS)


def is_conditional_branch(decoded: Decoded) -> NDArray[np.bool_]:
    """Which instructions branch or fall through, by a condition."""
    return np.isin(transfers(decoded), (Transfer.CONDITIONAL,))


def is_unconditional_branch(decoded: Decoded) -> NDArray[np.bool_]:
    """Which instructions are branches that never fall through."""
    return np.isin(transfers(decoded), [k for k in _BRANCHES if k is not Transfer.CONDITIONAL])


def is_indirect_branch(decoded: Decoded) -> NDArray[np.bool_]:
    """Which branches take their target from a register."""
    kinds = transfers(decoded)
    indirect = np.isin(kinds, (Transfer.SET_PC, Transfer.TRAP_RETURN, Transfer.FORK))
    adds = np.flatnonzero(kinds == Transfer.ADD_PC)
    indirect[adds] = direct_targets(decoded)[adds] == _NO_TARGET
    return indirect


_NO_TARGET: Final = np.iinfo(np.int64).min


def direct_targets(decoded: Decoded) -> NDArray[np.int64]:
    """Where the encoding says that each branch or call goes, in bytes from the start of the
    section (which may lie outside of it); the least int64 for everything else."""
    kinds = transfers(decoded)
    targets = np.full(len(decoded), _NO_TARGET, np.int64)
    relative = np.flatnonzero(
        np.isin(kinds, (Transfer.BRANCH, Transfer.CONDITIONAL, Transfer.CALL))
    )
    text = np.frombuffer(decoded.code[: len(decoded.code) // 4 * 4], np.dtype("<u4"))
    words = text[decoded.offset[relative] // 4]
    distance = (words & np.uint32(0xFFFF)).astype(np.uint16).view(np.int16).astype(np.int64)
    targets[relative] = decoded.offset[relative].astype(np.int64) + 4 + 4 * distance
    for index in np.flatnonzero(kinds == Transfer.ADD_PC).tolist():
        distance_added = _added_to_pc(decoded, index)
        if distance_added is not None:
            end = int(decoded.offset[index]) + int(decoded.size[index])
            targets[index] = end + distance_added
    return targets


def _added_to_pc(decoded: Decoded, index: int) -> int | None:
    """What an `s_add_pc_i64` adds, if that is a constant; a 32-bit literal of an i64 operand is
    sign-extended (LLVM, SIInstrInfo, OPERAND_REG_IMM_INT64)."""
    source = next(v for v in decoded[index].values if not v.spec.is_def)
    if source.kind == "reg":
        return None
    bits = 8 * source.literal_bytes if source.kind == "literal" else 64
    return (source.value & ((1 << bits) - 1) ^ 1 << bits - 1) - (1 << bits - 1)


def _targets(
    decoded: Decoded, index: int, proven: Mapping[int, tuple[int, ...]]
) -> tuple[int, ...]:
    offset = int(decoded.offset[index])
    if offset in proven:
        return proven[offset]
    target = int(direct_targets(_one(decoded, index))[0])
    return () if target == _NO_TARGET else (target,)


def _one(decoded: Decoded, index: int) -> Decoded:
    """A section of which only the instruction `index` is left, at its place."""
    from postproc.isa import Decoded as DecodedSection

    one = slice(index, index + 1)
    arrays = (decoded.offset[one], decoded.size[one], decoded.opcode[one])
    return DecodedSection(decoded.isa, decoded.code, arrays, np.zeros(0, np.intp), decoded.labels)


def branch_targets(
    decoded: Decoded, index: int, proven: Mapping[int, tuple[int, ...]] = _NO_PROOFS
) -> tuple[int, ...]:
    """Offsets that the branch number `index` may go to, in source order, the fall-through apart.

    `proven` holds targets of computed transfers by the transfer's offset.  An indirect branch of
    which nothing is proven has none, and neither has a call.
    """
    if not bool(is_branch(_one(decoded, index))[0]):
        return ()
    return _targets(decoded, index, proven)


def call_targets(
    decoded: Decoded, index: int, proven: Mapping[int, tuple[int, ...]] = _NO_PROOFS
) -> tuple[int, ...]:
    """Offsets of the callees of the call number `index`; none for what is no call."""
    if not bool(is_call(_one(decoded, index))[0]):
        return ()
    return _targets(decoded, index, proven)
