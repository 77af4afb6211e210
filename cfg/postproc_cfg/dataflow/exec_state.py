# SPDX-License-Identifier: Apache-2.0
"""Where EXEC is proven to have all lanes, as vector writes end lives only there.

Two must-facts, "EXEC_LO is all ones" and "EXEC_HI is all ones"; wave32 has only the first.

    (1)  at entries neither holds: the last wave of a workgroup may have idle lanes.  The caller
         may know better, say from a workgroup size that is a multiple of the wavefront
    (2)  s_mov of -1 to EXEC or a half, and s_or_saveexec with -1, establish them
    (3)  any other write of a half, a call, and an instruction of unknown effect lose them
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import numpy as np

from postproc.isa import Flag
from postproc_cfg.dataflow.fields import Encodings
from postproc_cfg.dataflow.must import happened_on_every_path

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from postproc.isa import Decoded
    from postproc_cfg.dataflow.ranges import BlockRanges
    from postproc_cfg.dataflow.register_sets import RegisterSets
    from postproc_cfg.graph.csr import Graph

__all__ = ["exec_is_full", "fills_exec"]

_EXEC_LO: Final = 126
_EXEC_HI: Final = 127
_MINUS_ONE: Final = 193
"""Code of the inline constant -1 in a scalar source (SOP1 bits [7:0])."""


def fills_exec(decoded: Decoded) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(2): which instructions set the low and the high half of EXEC to all ones, bool[i] each."""
    isa, encodings = decoded.isa, Encodings(decoded)

    def with_minus_one(name: str) -> NDArray[np.intp]:
        found = decoded.where(isa.match(name))
        return np.compress(encodings.bits(found, 0, 8) == _MINUS_ONE, found)

    def into(found: NDArray[np.intp], register: int) -> NDArray[np.intp]:
        return np.compress(encodings.bits(found, 16, 7) == register, found)

    low, high = np.zeros(len(decoded), np.bool_), np.zeros(len(decoded), np.bool_)
    whole = into(with_minus_one("s_mov_b64"), _EXEC_LO)
    saved = with_minus_one("s_or_saveexec_b64")
    halves = with_minus_one("s_mov_b32")
    for at in (whole, saved, into(halves, _EXEC_LO), with_minus_one("s_or_saveexec_b32")):
        low[at] = True
    for at in (whole, saved, into(halves, _EXEC_HI)):
        high[at] = True
    return low, high


def exec_is_full(
    graph: Graph,
    ranges: BlockRanges,
    decoded: Decoded,
    sets: RegisterSets,
    *,
    entered: Iterable[int] = (),
    full_at_entry: bool = False,
) -> NDArray[np.bool_]:
    """Whether EXEC is proven full when each instruction runs, bool[i].

    `sets` are the registers of all instructions of the text.  `full_at_entry` is about the entries
    of the graph only; blocks in `entered` may be entered with any EXEC.
    """
    lost = sets.opaque | (decoded.flags & np.uint32(Flag.CALL) != 0)
    halves = zip(fills_exec(decoded), (_EXEC_LO, _EXEC_HI), strict=True)
    full = np.ones(len(decoded), np.bool_)
    for fills, register in list(halves)[: decoded.isa.wavefront_size // 32]:
        bit = np.uint64(1 << (register & 63))
        full &= happened_on_every_path(
            graph,
            ranges,
            fills,
            lost | (sets.defs[:, register >> 6] & bit != 0),
            entered=entered,
            at_entry=full_at_entry,
        )
    return full
