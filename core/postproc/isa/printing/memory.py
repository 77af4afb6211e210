# SPDX-License-Identifier: Apache-2.0
"""Offsets, cache policies, image dimensions and buffer formats."""

from __future__ import annotations

from postproc.isa.model import Entry
from postproc.isa.printing.fields import Fields, OperandPrinter
from postproc.isa.printing.immediates import signed
from postproc.isa.printing.names import buffer_formats

__all__ = ["DIMENSIONS", "POSITIONAL", "SCOPES", "TEMPORAL_HINTS", "TRAILING", "hint_kind"]

GLC, SLC, DLC, SCC = 1, 2, 4, 16
NON_VOLATILE, SCALE_OFFSET = 0x20, 0x800

SCOPES = ("SCOPE_CU", "SCOPE_SE", "SCOPE_DEV", "SCOPE_SYS")

TEMPORAL_HINTS: dict[str, tuple[str, ...]] = {
    "LOAD": ("RT", "NT", "HT", "LU", "NT_RT", "RT_NT", "NT_HT", ""),
    "STORE": ("RT", "NT", "HT", "WB", "NT_RT", "RT_NT", "NT_HT", "NT_WB"),
}
"""Kind -> hint by number, `th:TH_<kind>_<hint>`; 3 is BYPASS at system scope."""

DIMENSIONS = (
    "1D",
    "2D",
    "3D",
    "CUBE",
    "1D_ARRAY",
    "2D_ARRAY",
    "2D_MSAA",
    "2D_MSAA_ARRAY",
)


def hint_kind(entry: Entry) -> str:
    """ATOMIC, STORE or LOAD: which names the temporal hints of an instruction have."""
    if {"ATOMIC_NORET", "ATOMIC_RET"} & entry.ts_flags:
        return "ATOMIC"
    name = entry.llvm_name
    always = "ASYNC_FROM_LDS" in name or "STORE_ASYNC" in name or "STORE_FROM_LDS" in name
    if "maystore" in entry.desc_flags and (always or "mayload" not in entry.desc_flags):
        return "STORE"
    return "LOAD"


def cache_policy(fields: Fields, role: str) -> str:
    policy = fields.number(role)
    target = fields.target
    if target.major >= 12:
        return _cache_policy_gfx12(policy, hint_kind(fields.entry))
    is_gfx940 = target.is_gfx940
    text = ""
    if policy & GLC:
        text += " sc0" if is_gfx940 and "SMRD" not in fields.entry.ts_flags else " glc"
    if policy & SLC:
        text += " nt" if is_gfx940 else " slc"
    if policy & DLC and target.major >= 10:
        text += " dlc"
    if policy & SCC and target.is_gfx90a:
        text += " sc1" if is_gfx940 else " scc"
    return text


def _cache_policy_gfx12(policy: int, kind: str) -> str:
    hint, scope = policy & 7, policy >> 3 & 3
    text = " scale_offset" if policy & SCALE_OFFSET else ""
    if hint:
        text += f" th:{_temporal_hint(kind, hint, scope)}"
    if scope:
        text += f" scope:{SCOPES[scope]}"
    return text + (" nv" if policy & NON_VOLATILE else "")


def _temporal_hint(kind: str, hint: int, scope: int) -> str:
    if kind == "ATOMIC":
        return "TH_ATOMIC_" + _atomic_hint(hint, scope)
    name = TEMPORAL_HINTS[kind][hint]
    if not name:
        return hex(hint)
    if hint == 3 and scope == 3:
        name = "BYPASS"
    return f"TH_{kind}_{name}"


def _atomic_hint(hint: int, scope: int) -> str:
    if hint & 4:
        if scope < 2:
            return hex(hint)
        return "CASCADE_NT" if hint & 2 else "CASCADE_RT"
    if hint & 2:
        return "NT_RETURN" if hint & 1 else "NT"
    return "RETURN"


def unsigned_offset(fields: Fields, role: str) -> str:
    value = fields.number(role)
    return f" {role}:{value & 0xFFFF}" if value else ""


def buffer_offset(fields: Fields, role: str) -> str:
    """VBUFFER of GFX12 has a signed offset of 24 bits."""
    value = fields.number(role) & 0xFFFFFFFF
    return f" offset:{signed(value, 24)}" if value else ""


def flat_offset(fields: Fields, role: str) -> str:
    """Signed with as many bits as the generation has; FLAT itself is unsigned before GFX12."""
    value = fields.number(role) & 0xFFFFFFFF
    if not value:
        return ""
    target = fields.target
    if target.major < 12 and not {"GLOBAL", "SCRATCH"} & fields.entry.ts_flags:
        return f" offset:{value & 0xFFFF}"
    bits = 24 if target.major >= 12 else 12 if target.major == 10 else 13
    return f" offset:{signed(value, bits)}"


def scalar_offset(fields: Fields, role: str) -> str:
    """The immediate offset of a scalar load as an operand of its own."""
    value = fields.number(role)
    return hex(value) if value >= 0 else f"-{-value:#x}"


def scalar_offset_modifier(fields: Fields, role: str) -> str:
    return f" offset:{scalar_offset(fields, role)}"


def scalar_literal_offset(fields: Fields, role: str) -> str:
    return hex(fields.number(role) & 0xFFFFFFFF)


def data_mask(fields: Fields, role: str) -> str:
    mask = fields.number(role)
    return f" dmask:{mask & 0xFFFF:#x}" if mask else ""


def dimension(fields: Fields, role: str) -> str:
    number = fields.number(role)
    name = DIMENSIONS[number] if number < len(DIMENSIONS) else str(number)
    return f" dim:SQ_RSRC_IMG_{name}"


def buffer_format(fields: Fields, role: str) -> str:
    """`format:[...]` of a typed buffer access; nothing for the default format."""
    number = fields.number(role)
    name = buffer_formats(fields.target).get(number)
    if name == "":
        return ""
    return f" format:[{name}]" if name else f" format:{number}"


def address_list(fields: Fields, role: str) -> str:
    """`[v0, v[2:3]]`: the addresses of an image instruction, `vaddr0` and the ones behind it."""
    found = [
        fields.plain(name) for number in range(13) if (name := f"vaddr{number}") in fields.values
    ]
    return f"[{', '.join(found)}]"


def address(fields: Fields, role: str) -> str:
    """One address alone, several in brackets."""
    return address_list(fields, role) if "vaddr1" in fields.values else fields.plain(role)


POSITIONAL: dict[str, OperandPrinter] = {
    "smem_offset": scalar_offset,
    "smem_literal": scalar_literal_offset,
    "list": address_list,
    "address": address,
}

TRAILING: dict[str, OperandPrinter] = {
    "cpol": cache_policy,
    "offset": unsigned_offset,
    "offset0": unsigned_offset,
    "offset1": unsigned_offset,
    "buffer_offset": buffer_offset,
    "flat_offset": flat_offset,
    "smem_offset_modifier": scalar_offset_modifier,
    "dmask": data_mask,
    "dim": dimension,
    "format": buffer_format,
}
