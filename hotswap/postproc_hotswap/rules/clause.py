# SPDX-License-Identifier: Apache-2.0
"""`s_clause` becomes `s_nop 0`, unless it is proven harmless.

    s_clause 0x3       ->    s_nop 0

A0 does not stand a hard clause that holds the first vector memory operation of a wave.  A clause is
a hint for the caches; without it the members do the same.  Under the policy `prove` a clause is
preserved if all of this holds, and deleted otherwise:

  1. its (simm16 & 63) + 1 members follow it without a gap, in one straight line that control
     enters before the clause;
  2. they are of one family: vector memory, flat, or scalar loads;
  3. they have one cache scope;
  4. none of them is rewritten or refused itself;
  5. every path that reaches the clause has executed a vector memory operation before: one stands
     earlier in the clause's straight line;
  6. no transfer of control in the object has unknown targets.

A flat operation counts for 5. only before a flat clause: it may go to LDS and never reach vector
memory.  Whether an operation did anything under its EXEC mask is not asked.  That 5. looks at one
straight line makes the proof weaker than the rule, never wrong.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from postproc.errors import Refusal
from postproc.transaction import Claim, ClaimMode
from postproc_hotswap.encodings import S_NOP_0

if TYPE_CHECKING:
    from collections.abc import Iterable

    from postproc.isa import Decoded, Isa
    from postproc_hotswap.defects import Defect
    from postproc_hotswap.text import Finding, Text

__all__ = ["treat"]

_LENGTH_MASK: Final = 63
"""simm16[5:0] of `s_clause` is the number of members less one (RDNA4 ISA guide, "S_CLAUSE")."""

FAMILIES: Final = {
    "vector memory": ("buffer_*", "tbuffer_*", "global_*", "scratch_*", "image_*", "cluster_*",
                      "tensor_*"),
    "flat": ("flat_*",),
    "scalar load": ("s_load_*", "s_buffer_load_*"),
}  # fmt: skip
"""What may share a clause; COMGR's families."""

_WITNESSES: Final = (
    "buffer_*", "tbuffer_*", "image_*", "scratch_*", "cluster_load_*", "global_load_*",
    "global_store_*", "global_atomic_*", "global_prefetch_b8", "global_wb",
)  # fmt: skip
"""Vector memory operations whose execution is taken as proof.  LLVM itself puts the last two at
kernel entries for this purpose (LLVM#208467, LLVM#210874).  Tensor operations take another way to
memory, and other cache controls are nowhere said to count."""

_EARLIER: Final = {
    "vector memory": _WITNESSES,
    "flat": (*_WITNESSES, "flat_*"),
    "scalar load": _WITNESSES,
}
"""What must have been executed before a clause of each family."""


def treat(text: Text, index: int, defect: Defect) -> Iterable[Finding]:
    """Preserve the clause with claims on what the proof rests upon, or delete it."""
    proof = _prove(text, index) if text.config.clause == "prove" else Refusal("all by policy")
    if isinstance(proof, Refusal):
        yield text.replace(index, defect.rule, S_NOP_0, f"deleted: {proof.reason}")
        return
    last, earlier, family = proof
    where = f"0x{int(text.decoded.offset[earlier]):x}"
    yield text.preserve(
        index, defect.rule, f"uniform {family} clause behind vector memory operation at {where}"
    )
    for span, mode, what in (
        (text.window(index, last), ClaimMode.PIN, "a preserved clause and its members"),
        (text.window(earlier), ClaimMode.READ, "a clause is preserved because of it"),
    ):
        yield Claim(text.context.owner, span, mode, True, what)


def _prove(text: Text, index: int) -> tuple[int, int, str] | Refusal:
    """(last member, earlier vector memory operation, family), or which condition fails."""
    decoded, lines = text.decoded, text.lines
    simm16 = int.from_bytes(decoded.code[int(decoded.offset[index]) :][:2], "little")
    last = index + (simm16 & _LENGTH_MASK) + 1
    if last >= len(decoded) or int(lines.first[last]) != int(lines.first[index]):
        return Refusal("its members do not follow in one straight line")
    members = range(index + 1, last + 1)
    families = {_family(decoded.isa, int(decoded.opcode[i])) for i in members}
    family = families.pop()
    if families or family is None:
        return Refusal("its members are not of one family")
    if len({_scope(decoded, i) for i in members}) > 1:
        return Refusal("its members have different cache scopes")
    touched = text.matches.first_between(index + 1, last + 1)
    if touched is not None:
        return Refusal(f"one of its members is a site of rule {touched.rule}")
    if text.flow.unresolved:
        return Refusal("a computed transfer of control has unknown targets")
    earlier = text.latest(_EARLIER[family], index)
    if earlier is None:
        return Refusal("it may hold the first vector memory operation")
    return last, earlier, family


@lru_cache(maxsize=1 << 12)
def _family(isa: Isa, opcode: int) -> str | None:
    """The family of an entry; None for everything that may not stand in a clause."""
    for family, patterns in FAMILIES.items():
        if opcode != isa.UNKNOWN and isa.match(*patterns)[opcode]:
            return family
    return None


def _scope(decoded: Decoded, index: int) -> int:
    """The cache scope (0: CU, 1: SE, 2: DEV, 3: SYS); 0 where the encoding has none."""
    start = int(decoded.offset[index])
    bits = int.from_bytes(decoded.code[start : start + int(decoded.size[index])], "little")
    return sum(
        (bits >> low & 1) << rank
        for rank, low in enumerate(_scope_bits(decoded.isa, int(decoded.opcode[index])))
    )


_SCOPE_WEIGHT: Final = 8
"""LLVM's `cpol` operand holds the scope in bits [4:3] (SIDefines.h, CPol::SCOPE)."""


@lru_cache(maxsize=1 << 12)
def _scope_bits(isa: Isa, opcode: int) -> tuple[int, ...]:
    """Bit positions of the scope in the encoding, lowest first."""
    for spec in isa.entry(opcode).operands:
        for run in getattr(spec.source, "runs", ()) if spec.role == "cpol" else ():
            if run.weight == _SCOPE_WEIGHT:
                return tuple(range(run.low, run.low + run.length))
    return ()
