# SPDX-License-Identifier: Apache-2.0
"""Assembly at full scale: what TensileLite makes of a GEMM with activation functions.

Long branches by getpc, add_i32, add_u32, addc_u32 under all three wrappers; for each group of calls
a dispatch that selects one of ten callees; callees that return through s[26:27]; and between them
scalar and vector work that uses the same temporaries.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

CALLS_OF_A_GROUP = 64
WRAPPERS = ("s_cbranch_scc1", "s_cbranch_scc0", "s_cbranch_vccz")
FILLER = (
    "s_mul_i32 s8, s9, s10",
    "s_add_u32 s40, s41, s8",
    "s_addc_u32 s42, s42, s43",
    "s_lshl_b32 s44, s40, 2",
    "s_cmp_lt_u32 s44, s45",
    "s_mov_b32 s9, s20",
    "v_cndmask_b32_e32 v1, v2, v3, vcc",
    "v_mul_f32_e32 v4, v5, v6",
    "v_add_f32_e32 v7, v8, v9",
)


@dataclass
class Generated:
    """The source, and where each labelled transfer goes."""

    lines: list[str] = field(default_factory=list)
    truth: dict[str, list[str]] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The kernel's body."""
        return "\n".join(self.lines)


def generate(
    calls: int = 768, callees: int = 10, long_branches: int = 30, instructions: int = 40_000
) -> Generated:
    """A kernel of about this size; `calls` is a multiple of CALLS_OF_A_GROUP."""
    made, chance = Generated(), random.Random(calls)
    groups = calls // CALLS_OF_A_GROUP
    work = max(1, (instructions - 200 * groups) // calls)
    for group in range(groups):
        first, end = group * long_branches // groups, (group + 1) * long_branches // groups
        for number in range(first, end):
            _long_branch(made, number)
        _dispatch(made, group, callees)
        for call in range(CALLS_OF_A_GROUP):
            made.lines += chance.choices(FILLER, k=work)
            made.lines += [f"call_{group}_{call}: s_swappc_b64 s[26:27], s[12:13]"]
            made.lines += [f"behind_{group}_{call}: v_mov_b32_e32 v1, v0"]
            made.truth[f"call_{group}_{call}"] = [f"body_{k}" for k in range(callees)]
    made.lines += [f"far_{number}: v_mov_b32_e32 v1, v3" for number in range(long_branches)]
    made.lines.append("s_endpgm")
    behind = [f"behind_{g}_{c}" for g in range(groups) for c in range(CALLS_OF_A_GROUP)]
    for k in range(callees):
        made.lines += [f"body_{k}:", *chance.choices(FILLER[:6], k=5 * k)]
        made.lines.append(f"return_{k}: s_setpc_b64 s[26:27]")
        made.truth[f"return_{k}"] = behind
    made.lines.append("s_endpgm")
    return made


def _long_branch(made: Generated, number: int) -> None:
    add = "s_addc_u32 s31, s31, 0" if number % 2 else "s_addc_u32 s31, 0, s31"
    made.lines += [
        f"{WRAPPERS[number % 3]} near_{number}",
        "s_getpc_b64 s[30:31]",
        f"s_add_i32 s32, far_{number}, 4",
        "s_add_u32 s30, s30, s32",
        add,
        f"jump_{number}: s_setpc_b64 s[30:31]",
        f"near_{number}: s_nop 0",
    ]
    made.truth[f"jump_{number}"] = [f"far_{number}"]


def _dispatch(made: Generated, group: int, callees: int) -> None:
    for k in range(1, callees):
        made.lines += [f"s_cmpk_eq_u32 s5, {k}", f"s_cbranch_scc1 to_{group}_{k}"]
    for k in range(callees):
        made.lines += [
            f"to_{group}_{k}: s_getpc_b64 s[12:13]",
            f"s_add_i32 s8, body_{k}, 4",
            "s_add_u32 s12, s12, s8",
            "s_addc_u32 s13, s13, 0",
            f"s_branch set_{group}",
        ]
    made.lines.append(f"set_{group}: s_nop 0")
