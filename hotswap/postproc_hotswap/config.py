# SPDX-License-Identifier: Apache-2.0
"""The `[plugin.hotswap]` table: the steppings, and one policy for each rule.

Policies mean the same everywhere: `refuse` ends with exit status 4 and names the sites, `keep`
leaves the sites as they are and lists them as preserved, `rewrite` rewrites them.  docs/rules has
one page a rule.
"""

from __future__ import annotations

from typing import Annotated, Literal, final

import msgspec

__all__ = ["Config", "Stepping"]

Stepping = Literal["A0", "B0"]


def _about(text: str) -> msgspec.Meta:
    return msgspec.Meta(description=text)


@final
class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """What to rewrite, and how far to go."""

    source_stepping: Annotated[
        Stepping, _about("what kernels without .gfx1250_revision were built for")
    ] = "B0"
    target_stepping: Annotated[Stepping, _about("what the output must run on")] = "A0"

    clause: Annotated[
        Literal["prove", "all"],
        _about("s_clause: delete those that are not proven harmless, or all"),
    ] = "prove"
    cluster_load: Annotated[
        Literal["rewrite", "refuse", "keep"], _about("cluster loads become global loads")
    ] = "rewrite"
    sethalt: Annotated[Literal["rewrite", "keep"], _about("s_sethalt becomes s_nop")] = "rewrite"
    scale_prefix: Annotated[
        Literal["rewrite", "keep"], _about("unused src2 of scaled WMMA becomes v0")
    ] = "rewrite"
    ds2: Annotated[
        Literal["refuse", "keep"], _about("two-address DS; keep asserts aligned addresses")
    ] = "refuse"
    barrier_isfirst: Annotated[
        Literal["refuse", "keep"], _about("s_barrier_signal_isfirst; keep asserts SCC is not used")
    ] = "refuse"
    tensor_load: Annotated[
        Literal["refuse", "keep"], _about("tensor_load_to_lds; keep asserts no multicast")
    ] = "refuse"
    ds_addtid: Annotated[
        Literal["refuse", "keep"], _about("DS addtid; keep asserts that M0 fits 16 bits")
    ] = "refuse"
    fp8_clamp: Annotated[Literal["refuse"], _about("FP8 conversions with CLAMP (UE5M3)")] = "refuse"
    wmma_k128: Annotated[Literal["refuse"], _about("16x16x128 WMMA of FP8 and BF8")] = "refuse"
    wmma_f4: Annotated[Literal["refuse"], _about("32x16x128 WMMA of FP4")] = "refuse"
    wmma_scale_m32: Annotated[Literal["refuse"], _about("scaled 32x16x128 WMMA")] = "refuse"
    wmma_scale16: Annotated[
        Literal["native", "refuse"], _about("16x16x128 WMMA with a scale for 16 values")
    ] = "native"
    lone_scale_prefix: Annotated[
        Literal["refuse"], _about("a scale prefix whose WMMA cannot be told")
    ] = "refuse"
    wmma_f8f6f4: Annotated[
        Literal["refuse", "keep"], _about("16x16x128 WMMA of FP8/6/4 without a scale prefix")
    ] = "refuse"
    scale_select: Annotated[
        Literal["refuse"], _about("v_cvt_scale_pk* with a scale_sel that A0 does not have")
    ] = "refuse"
    integer_wmma: Annotated[
        Literal["prove", "keep"], _about("distance from integer WMMA to what depends on it")
    ] = "prove"
    backward_add_pc: Annotated[
        Literal["keep", "refuse"], _about("s_add_pc_i64 that goes backwards")
    ] = "keep"
    mode_write: Annotated[
        Literal["ignore", "prove"], _about("two v_nop before a write to MODE")
    ] = "ignore"
    entry_vmem: Annotated[
        Literal["ignore", "prove"],
        _about("kernels begin with a harmless vector memory operation"),
    ] = "ignore"
    undecodable: Annotated[
        Literal["refuse", "data"],
        _about("words that are no instruction, where control may come"),
    ] = "refuse"
