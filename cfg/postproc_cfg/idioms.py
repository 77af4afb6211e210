# SPDX-License-Identifier: Apache-2.0
"""Names for the ways in which addresses of code are made.

The names explain; they prove nothing.  What a transfer does was found out from the values of its
registers, whichever way they came about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from postproc_cfg.vocabulary import Transfer

if TYPE_CHECKING:
    from postproc_cfg.arrivals import Outcome
    from postproc_cfg.blocks import Blocks
    from postproc_cfg.program_counter import ProgramCounter
    from postproc_cfg.text import Text

__all__ = ["GIVEN", "name_idiom", "signed_sibling"]

GIVEN: Final = "given"
"""The idiom of a transfer whose targets were proven elsewhere."""

_WINDOW: Final = 24
"""How many instructions before a transfer its own builder may begin."""

_IGNORED: Final = ("s_nop", "s_wait", "s_delay_alu")


def name_idiom(
    text: Text, index: int, kind: str, run: ProgramCounter, outcome: Outcome
) -> tuple[str, tuple[str, ...]]:
    """The name of the idiom, and what it rests on."""
    if outcome.is_given:
        return GIVEN, ("another analysis proved it",)
    if int(text.kind[index]) == Transfer.ADD_PC:
        return "s_add_pc_i64", ("the distance is a constant",)
    if kind == "return":
        functions = sorted({entry for entry, _ in outcome.returns})
        where = ", ".join(f"0x{text.position(entry).offset:x}" for entry in functions[:4])
        calls = sum(len(run.call_sites(entry, link)) for entry, link in outcome.returns)
        return "return", (f"the return address of the functions at {where}, of {calls} calls",)
    names = _before(text, index)
    if {int(text.place[target]) for target in outcome.targets} <= run.loaded:
        return "loaded pointer", ("the loader stores it, and nobody changes it later",)
    idiom = _builder(names, kind)
    if idiom:
        return idiom, ("the address is made in the straight line before",)
    if len(outcome.targets) > 1:
        return "selected address", (f"{len(outcome.targets)} addresses reach it",)
    return "computed earlier", ("the address is made in another block",)


def _before(text: Text, index: int) -> list[str]:
    """Mnemonics in the straight line before a transfer, nearest first, without mere waits."""
    names: list[str] = []
    for i in range(index - 1, max(index - _WINDOW, -1), -1):
        if int(text.kind[i]) not in (Transfer.NONE,):
            break
        name = text.instruction(i).mnemonic
        if not name.startswith(_IGNORED):
            names.append(name)
    return names


def _builder(names: list[str], kind: str) -> str:
    """The idiom whose instructions come right before the transfer (`names`, nearest first)."""
    if names[:2] and names[0].startswith(("s_add_nc_u64", "s_add_u64")):
        return "s_add_nc_u64" if any(n.startswith(("s_get_pc", "s_getpc")) for n in names) else ""
    add, sub = ("s_addc_u32", "s_add_co_ci_u32"), ("s_subb_u32", "s_sub_co_ci_u32")
    position = next((k for k, n in enumerate(names) if n in (*add, *sub)), None)
    if position is None or not any(n.startswith(("s_getpc", "s_get_pc")) for n in names):
        return ""
    tail = names[position:]
    if tail[0] in sub:
        return "rocisa negative" if "s_abs_i32" in tail else "getpc and subtraction"
    following = tail[2:3]
    if following and following[0] in ("s_add_i32", "s_add_co_i32", "s_add_u32", "s_add_co_u32"):
        return "rocisa positive"
    return "LLVM call" if kind == "call" else "LLVM long branch"


def signed_sibling(text: Text, index: int, dead_arms: dict[int, int], blocks: Blocks) -> int | None:
    """Where a transfer ends an arm that a known sign excludes, the transfer at the end of the
    other arm, if both take their target from the same pair."""
    block = int(blocks.number_at(np.array([index]))[0])
    branch = dead_arms.get(int(blocks.starts[block]))
    if branch is None:
        return None
    other = text.index_at(int(text.target[branch]))
    if other == int(blocks.starts[block]):
        other = branch + 1
    end = int(blocks.ends[int(blocks.number_at(np.array([other]))[0])]) - 1
    same = int(text.word[end]) & 0xFF == int(text.word[index]) & 0xFF
    return end if same and int(text.kind[end]) == Transfer.SET_PC else None
