# SPDX-License-Identifier: Apache-2.0
"""The kernel descriptor: 64 bytes that tell the hardware how to start a kernel.

Source: AMDGPUUsage, "Kernel Descriptor" and the tables of compute_pgm_rsrc1 to 3;
llvm/include/llvm/Support/AMDHSAKernelDescriptor.h.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import Any, Final, final

__all__ = ["BIT_FIELDS", "DESCRIPTOR_SIZE", "BitField", "KernelDescriptor", "bit_field"]

DESCRIPTOR_SIZE: Final = 64
_LAYOUT: Final = struct.Struct("<III4sq20sIIIHH4s")
ENTRY_FIELD_OFFSET: Final = 16
"""Where kernel_code_entry_byte_offset stands; relocatable objects have a relocation for it."""


@final
@dataclass(frozen=True, slots=True)
class BitField:
    """A named part of one word of the descriptor.

    It exists on targets with `first <= (major, minor) <= last`.  Here the minor of gfx9 is 0 for
    gfx90x, 1 for gfx90a and 2 from gfx940 on, so that ranges of features are ranges.
    """

    name: str
    word: str
    low: int
    width: int
    first: tuple[int, int]
    last: tuple[int, int]

    @property
    def mask(self) -> int:
        """The field's bits in the word."""
        return ((1 << self.width) - 1) << self.low

    def exists_on(self, version: tuple[int, int, int]) -> bool:
        """Whether targets of that version have the field."""
        return self.first <= _generation(version) <= self.last


def _generation(version: tuple[int, int, int]) -> tuple[int, int]:
    """(major, minor) as `BitField` counts them."""
    major, minor, stepping = version
    if major == 9:
        return (9, 1 if (minor, stepping) == (0, 0xA) else 2 if minor >= 4 else 0)
    return (major, minor)


_GFX6: Final = (6, 0)
_GFX8_END: Final = (8, 99)
_GFX9: Final = (9, 0)
_GFX90A: Final = (9, 1)
_GFX9_END: Final = (9, 99)
_GFX10: Final = (10, 0)
_GFX10_END: Final = (10, 99)
_GFX11: Final = (11, 0)
_GFX11_END: Final = (11, 99)
_GFX12: Final = (12, 0)
_GFX120_END: Final = (12, 4)
_GFX125: Final = (12, 5)
_LATEST: Final = (99, 99)


def _rsrc1() -> tuple[BitField, ...]:
    word = "compute_pgm_rsrc1"
    return (
        BitField("granulated_workitem_vgpr_count", word, 0, 6, _GFX6, _LATEST),
        BitField("granulated_wavefront_sgpr_count", word, 6, 4, _GFX6, _LATEST),
        BitField("priority", word, 10, 2, _GFX6, _LATEST),
        BitField("float_round_mode_32", word, 12, 2, _GFX6, _LATEST),
        BitField("float_round_mode_16_64", word, 14, 2, _GFX6, _LATEST),
        BitField("float_denorm_mode_32", word, 16, 2, _GFX6, _LATEST),
        BitField("float_denorm_mode_16_64", word, 18, 2, _GFX6, _LATEST),
        BitField("priv", word, 20, 1, _GFX6, _LATEST),
        BitField("enable_dx10_clamp", word, 21, 1, _GFX6, _GFX11_END),
        BitField("enable_wg_rr_en", word, 21, 1, _GFX12, _LATEST),
        BitField("debug_mode", word, 22, 1, _GFX6, _LATEST),
        BitField("enable_ieee_mode", word, 23, 1, _GFX6, _GFX11_END),
        BitField("disable_perf", word, 23, 1, _GFX12, _LATEST),
        BitField("bulky", word, 24, 1, _GFX6, _LATEST),
        BitField("cdbg_user", word, 25, 1, _GFX6, _LATEST),
        BitField("fp16_ovfl", word, 26, 1, _GFX9, _LATEST),
        BitField("flat_scratch_is_nv", word, 27, 1, _GFX125, _LATEST),
        BitField("wgp_mode", word, 29, 1, _GFX10, _LATEST),
        BitField("mem_ordered", word, 30, 1, _GFX10, _LATEST),
        BitField("fwd_progress", word, 31, 1, _GFX10, _LATEST),
    )


def _rsrc2() -> tuple[BitField, ...]:
    word = "compute_pgm_rsrc2"
    exceptions = (
        "ieee_754_fp_invalid_operation",
        "fp_denormal_source",
        "ieee_754_fp_division_by_zero",
        "ieee_754_fp_overflow",
        "ieee_754_fp_underflow",
        "ieee_754_fp_inexact",
        "int_divide_by_zero",
    )
    return (
        BitField("enable_private_segment", word, 0, 1, _GFX6, _LATEST),
        BitField("user_sgpr_count", word, 1, 5, _GFX6, _GFX120_END),
        BitField("user_sgpr_count", word, 1, 6, _GFX125, _LATEST),
        BitField("enable_trap_handler", word, 6, 1, _GFX6, _GFX11_END),
        BitField("enable_dynamic_vgpr", word, 6, 1, _GFX12, _GFX120_END),
        BitField("enable_sgpr_workgroup_id_x", word, 7, 1, _GFX6, _LATEST),
        BitField("enable_sgpr_workgroup_id_y", word, 8, 1, _GFX6, _LATEST),
        BitField("enable_sgpr_workgroup_id_z", word, 9, 1, _GFX6, _LATEST),
        BitField("enable_sgpr_workgroup_info", word, 10, 1, _GFX6, _LATEST),
        BitField("enable_vgpr_workitem_id", word, 11, 2, _GFX6, _LATEST),
        BitField("enable_exception_address_watch", word, 13, 1, _GFX6, _LATEST),
        BitField("enable_exception_memory", word, 14, 1, _GFX6, _LATEST),
        BitField("granulated_lds_size", word, 15, 9, _GFX6, _LATEST),
        *(
            BitField(f"enable_exception_{name}", word, 24 + bit, 1, _GFX6, _LATEST)
            for bit, name in enumerate(exceptions)
        ),
    )


def _rsrc3() -> tuple[BitField, ...]:
    word = "compute_pgm_rsrc3"
    return (
        BitField("accum_offset", word, 0, 6, _GFX90A, _GFX9_END),
        BitField("tg_split", word, 16, 1, _GFX90A, _GFX9_END),
        BitField("shared_vgpr_count", word, 0, 4, _GFX10, _GFX11_END),
        BitField("inst_pref_size", word, 4, 6, _GFX11, _GFX11_END),
        BitField("trap_on_start", word, 10, 1, _GFX11, _GFX11_END),
        BitField("trap_on_end", word, 11, 1, _GFX11, _GFX11_END),
        BitField("inst_pref_size", word, 4, 8, _GFX12, _LATEST),
        BitField("glg_en", word, 13, 1, _GFX12, _LATEST),
        BitField("named_bar_cnt", word, 14, 3, _GFX125, _LATEST),
        BitField("enable_dynamic_vgpr", word, 17, 1, _GFX125, _LATEST),
        BitField("tcp_split", word, 18, 3, _GFX125, _LATEST),
        BitField("enable_didt_throttle", word, 21, 1, _GFX125, _LATEST),
        BitField("image_op", word, 31, 1, _GFX11, _LATEST),
    )


def _properties() -> tuple[BitField, ...]:
    word = "kernel_code_properties"
    registers = (
        "private_segment_buffer",
        "dispatch_ptr",
        "queue_ptr",
        "kernarg_segment_ptr",
        "dispatch_id",
        "flat_scratch_init",
        "private_segment_size",
    )
    return (
        *(
            BitField(f"enable_sgpr_{name}", word, bit, 1, _GFX6, _LATEST)
            for bit, name in enumerate(registers)
        ),
        BitField("enable_wavefront_size32", word, 10, 1, _GFX10, _LATEST),
        BitField("uses_dynamic_stack", word, 11, 1, _GFX6, _LATEST),
        BitField("kernarg_preload_length", "kernarg_preload", 0, 7, _GFX90A, _LATEST),
        BitField("kernarg_preload_offset", "kernarg_preload", 7, 9, _GFX90A, _LATEST),
    )


BIT_FIELDS: Final = (*_rsrc1(), *_rsrc2(), *_rsrc3(), *_properties())
"""Every named field of the descriptor's words, on every target."""


def bit_field(name: str, version: tuple[int, int, int]) -> BitField | None:
    """The field called `name` on targets of that version; None if they have none."""
    for field in BIT_FIELDS:
        if field.name == name and field.exists_on(version):
            return field
    return None


@final
@dataclass(frozen=True, slots=True)
class KernelDescriptor:
    """The descriptor field by field; sizes are bytes.

    `kernel_code_entry_byte_offset` is signed and counts from the descriptor's own address.
    Reserved bytes are kept, so that `to_bytes` gives back what was parsed.
    """

    group_segment_fixed_size: int
    private_segment_fixed_size: int
    kernarg_size: int
    kernel_code_entry_byte_offset: int
    compute_pgm_rsrc3: int
    compute_pgm_rsrc1: int
    compute_pgm_rsrc2: int
    kernel_code_properties: int
    kernarg_preload: int
    reserved: tuple[bytes, bytes, bytes] = (bytes(4), bytes(20), bytes(4))

    @classmethod
    def parse(cls, data: bytes | memoryview) -> KernelDescriptor:
        """The descriptor in 64 bytes; ValueError for any other number of bytes."""
        if len(data) != DESCRIPTOR_SIZE:
            raise ValueError(f"a kernel descriptor has 64 bytes, not {len(data)}")
        values = _LAYOUT.unpack(data)
        group, private, kernarg, gap0, entry, gap1 = values[:6]
        rsrc3, rsrc1, rsrc2, properties, preload, gap3 = values[6:]
        reserved = (gap0, gap1, gap3)
        return cls(
            group, private, kernarg, entry, rsrc3, rsrc1, rsrc2, properties, preload, reserved
        )

    def to_bytes(self) -> bytes:
        """The 64 bytes.  struct.error: a field is out of range."""
        gap0, gap1, gap3 = self.reserved
        return _LAYOUT.pack(
            self.group_segment_fixed_size,
            self.private_segment_fixed_size,
            self.kernarg_size,
            gap0,
            self.kernel_code_entry_byte_offset,
            gap1,
            self.compute_pgm_rsrc3,
            self.compute_pgm_rsrc1,
            self.compute_pgm_rsrc2,
            self.kernel_code_properties,
            self.kernarg_preload,
            gap3,
        )

    def get(self, field: BitField) -> int:
        """The value of a bit field."""
        word: int = getattr(self, field.word)
        return (word & field.mask) >> field.low

    def with_value(self, field: BitField, value: int) -> KernelDescriptor:
        """A descriptor in which the bit field has another value; ValueError if it does not fit."""
        if not 0 <= value < 1 << field.width:
            raise ValueError(f"{value} does not fit the {field.width} bits of {field.name}")
        word: int = getattr(self, field.word)
        changes: dict[str, Any] = {field.word: word & ~field.mask | value << field.low}
        return replace(self, **changes)

    def bit_fields(self, version: tuple[int, int, int]) -> dict[str, int]:
        """The values of all bit fields that targets of that version have, by name."""
        return {field.name: self.get(field) for field in BIT_FIELDS if field.exists_on(version)}
