# SPDX-License-Identifier: Apache-2.0
"""Which instructions leave a part of a register that they write as it was.

Parts are bits or lanes; the lanes that EXEC masks are another matter (`liveness`).  LLVM says so of
many entries by a tied source (`MERGED_ROLES`), but not of all: its flat D16 loads, `s_bitset*` and
SDWA with UNUSED_PRESERVE have none.  To be listed here in vain costs precision only.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from postproc.isa import Flag

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc.isa import Isa

__all__ = ["MERGED_ROLES", "keep_part", "keep_part_of_vectors"]

MERGED_ROLES: Final = frozenset({"old", "vdst_in", "vdata_in", "vdst_old", "sdst_in"})
"""Roles of tied sources that hand on what the instruction does not write."""

_KEEP_PART: Final = (
    "s_cmov_*",  # nothing is written if SCC is 0
    "s_cmovk_*",
    "s_bitset0_*",  # one bit
    "s_bitset1_*",
    "*d16*",  # one half
    "v_permlane*",  # lanes that no source lane feeds
    "lds_*",  # lanes of the quads that are active
)
_FLAGS_KEEP_PART: Final = Flag.DPP | Flag.SDWA | Flag.IMAGE
"""DPP masks lanes, SDWA selects bytes, image loads with D16 fill halves."""

_SIXTEEN_BITS: Final = ("v_*16*",)
"""From GFX10 on operations with results of 16 bits keep the other half, on GFX9 some do (LLVM:
GCNSubtarget::zeroesHigh16BitsOfDest)."""

_WHOLE_RESULTS: Final = (
    "v_pk_*",
    "v_mfma_*",
    "v_smfmac_*",
    "v_wmma_*",
    "v_swmmac_*",
    "v_dot*",
    "v_cvt_f32_*",
    "v_cvt_u32_u16*",
    "v_cvt_i32_i16*",
    "v_cvt_pkrtz_*",
    "v_cvt_pk_bf16_f32*",
    "v_cvt_pk_f16_f32*",
    "v_pack_b32_f16*",
    "v_mad_u32_u16*",
    "v_mad_i32_i16*",
)
"""Names with a 16 whose results are 32 bits all the same."""


@lru_cache(maxsize=64)
def keep_part(isa: Isa) -> NDArray[np.bool_]:
    """Entries that may leave a part of any register that they write, bool, one item an entry."""
    flagged: NDArray[np.bool_] = isa.flags & np.uint32(_FLAGS_KEEP_PART) != 0
    return isa.match(*_KEEP_PART) | flagged


@lru_cache(maxsize=64)
def keep_part_of_vectors(isa: Isa) -> NDArray[np.bool_]:
    """Entries that may leave a half of the vector registers that they write."""
    return isa.match(*_SIXTEEN_BITS) & ~isa.match(*_WHOLE_RESULTS)
