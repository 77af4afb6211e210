# SPDX-License-Identifier: Apache-2.0
"""The processors that have tables of their own, and those that share one.

Where LLVM decodes all that one processor has just as for another one, the table of the latter
serves both (`aliases` asks).
"""

from __future__ import annotations

from dataclasses import dataclass

REAL_TRUE16 = "+real-true16"
"""From GFX11 on the halves of VGPRs are operands of their own (`v0.l`, `v0.h`), and `llvm-objdump`
is compared with this feature.  On 176,212 pseudo-random encodings it makes no difference to gfx942
and gfx1030, nor to gfx1100, where LLVM 22 has it on; of gfx1201 and gfx1250 LLVM decodes 3 % only
with it (16-bit moves among them), and names another opcode for 7 %."""


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


SERVES: dict[str, str] = {
    **dict.fromkeys(("gfx9-generic", "gfx902", "gfx909", "gfx90c"), "gfx900"),
    "gfx904": "gfx906",
    "gfx9-4-generic": "gfx942",
    "gfx10-1-generic": "gfx1010",
    **dict.fromkeys(("gfx10-3-generic", *(f"gfx103{n}" for n in range(1, 7))), "gfx1030"),
    **dict.fromkeys(("gfx11-generic", "gfx1101", "gfx1102", "gfx1103"), "gfx1100"),
    **dict.fromkeys(("gfx1150", "gfx1152", "gfx1153"), "gfx1151"),
    "gfx12-generic": "gfx1200",
}
"""Processor without a table of its own -> the table that serves it, as measured (`aliases`).  By
the same measure gfx1200 and gfx1201 are alike; gfx1011, gfx1012, gfx1013 and gfx1251 have
instructions that no table here has."""

UNKNOWN_TO_LLVM: dict[str, str] = {"gfx12-5-generic": "gfx1250", "gfx1250-strict": "gfx1250"}
"""Processors that LLVM 22 does not know, and the table that serves them: the generic target of
gfx1250, and the A0 stepping, whose objects hold gfx1250 instructions only."""
