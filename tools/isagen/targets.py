# SPDX-License-Identifier: Apache-2.0
"""The processors that have tables of their own, and those that share one.

Where LLVM's opcodes, sizes and operands of two processors never differed on millions of
pseudo-random encodings, one table serves both (`aliases.py` asks).
"""

from __future__ import annotations

from dataclasses import dataclass

REAL_TRUE16 = "+real-true16"
"""From GFX11 on the halves of VGPRs are operands of their own (`v0.l`, `v0.h`).  Without this
feature LLVM 22 does not decode some 16-bit moves, and names whole registers elsewhere; the
feature also is what `llvm-objdump` is compared with."""


@dataclass(frozen=True)
class Processor:
    """A processor with a table of its own."""

    name: str
    features: str
    wavefront_sizes: tuple[int, ...]

    def features_of(self, wavefront_size: int) -> str:
        """LLVM's feature string; GFX9 knows 64 only, later ones default to 32."""
        size = "+wavefrontsize64" if wavefront_size == 64 and 32 in self.wavefront_sizes else ""
        return ",".join(filter(None, (self.features, size)))


_GFX9 = ("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950")
_GFX10 = ("gfx1010", "gfx1030")
_GFX11 = ("gfx1100", "gfx1151", "gfx1200", "gfx1201")

PROCESSORS: dict[str, Processor] = {
    processor.name: processor
    for processor in (
        *(Processor(name, "", (64,)) for name in _GFX9),
        *(Processor(name, "", (32, 64)) for name in _GFX10),
        *(Processor(name, REAL_TRUE16, (32, 64)) for name in _GFX11),
        Processor("gfx1250", REAL_TRUE16, (32,)),
    )
}


def generation_of(processor: str) -> int:
    """9 of `gfx90a`, 12 of `gfx1250`."""
    return int(processor.removeprefix("gfx")[:-2])


SERVES: dict[str, str] = {}
"""Processor without a table of its own -> the table that serves it."""
