# SPDX-License-Identifier: Apache-2.0
"""Kernel descriptors: their bytes, their named fields, and how they count registers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from postproc.codeobject import CodeObject, KernelDescriptor, bit_field, granules

# What `llvm-objdump -D` calls a field that is one bit field, by our name of it.
DIRECTIVES = {
    ".amdhsa_float_round_mode_32": "float_round_mode_32",
    ".amdhsa_float_round_mode_16_64": "float_round_mode_16_64",
    ".amdhsa_float_denorm_mode_32": "float_denorm_mode_32",
    ".amdhsa_float_denorm_mode_16_64": "float_denorm_mode_16_64",
    ".amdhsa_dx10_clamp": "enable_dx10_clamp",
    ".amdhsa_ieee_mode": "enable_ieee_mode",
    ".amdhsa_fp16_overflow": "fp16_ovfl",
    ".amdhsa_round_robin_scheduling": "enable_wg_rr_en",
    ".amdhsa_workgroup_processor_mode": "wgp_mode",
    ".amdhsa_memory_ordered": "mem_ordered",
    ".amdhsa_forward_progress": "fwd_progress",
    ".amdhsa_inst_pref_size": "inst_pref_size",
    ".amdhsa_shared_vgpr_count": "shared_vgpr_count",
    ".amdhsa_tg_split": "tg_split",
    ".amdhsa_enable_private_segment": "enable_private_segment",
    ".amdhsa_system_sgpr_workgroup_id_x": "enable_sgpr_workgroup_id_x",
    ".amdhsa_system_sgpr_workgroup_id_y": "enable_sgpr_workgroup_id_y",
    ".amdhsa_system_sgpr_workgroup_id_z": "enable_sgpr_workgroup_id_z",
    ".amdhsa_system_sgpr_workgroup_info": "enable_sgpr_workgroup_info",
    ".amdhsa_system_vgpr_workitem_id": "enable_vgpr_workitem_id",
    ".amdhsa_exception_fp_ieee_invalid_op": "enable_exception_ieee_754_fp_invalid_operation",
    ".amdhsa_exception_fp_denorm_src": "enable_exception_fp_denormal_source",
    ".amdhsa_exception_fp_ieee_div_zero": "enable_exception_ieee_754_fp_division_by_zero",
    ".amdhsa_exception_fp_ieee_overflow": "enable_exception_ieee_754_fp_overflow",
    ".amdhsa_exception_fp_ieee_underflow": "enable_exception_ieee_754_fp_underflow",
    ".amdhsa_exception_fp_ieee_inexact": "enable_exception_ieee_754_fp_inexact",
    ".amdhsa_exception_int_div_zero": "enable_exception_int_divide_by_zero",
    ".amdhsa_user_sgpr_count": "user_sgpr_count",
    ".amdhsa_user_sgpr_private_segment_buffer": "enable_sgpr_private_segment_buffer",
    ".amdhsa_user_sgpr_dispatch_ptr": "enable_sgpr_dispatch_ptr",
    ".amdhsa_user_sgpr_queue_ptr": "enable_sgpr_queue_ptr",
    ".amdhsa_user_sgpr_kernarg_segment_ptr": "enable_sgpr_kernarg_segment_ptr",
    ".amdhsa_user_sgpr_dispatch_id": "enable_sgpr_dispatch_id",
    ".amdhsa_user_sgpr_flat_scratch_init": "enable_sgpr_flat_scratch_init",
    ".amdhsa_user_sgpr_private_segment_size": "enable_sgpr_private_segment_size",
    ".amdhsa_user_sgpr_kernarg_preload_length": "kernarg_preload_length",
    ".amdhsa_user_sgpr_kernarg_preload_offset": "kernarg_preload_offset",
    ".amdhsa_wavefront_size32": "enable_wavefront_size32",
    ".amdhsa_uses_dynamic_stack": "uses_dynamic_stack",
    ".amdhsa_named_barrier_count": "named_bar_cnt",
}
NOT_KNOWN_TO_LLVM_22 = "gfx1250-strict"


def directives_of(text: str) -> dict[str, dict[str, int]]:
    """The `.amdhsa_` lines of llvm-objdump by kernel."""
    found: dict[str, dict[str, int]] = {}
    kernel = ""
    for line in text.splitlines():
        words = line.split()
        if words[:1] == [".amdhsa_kernel"]:
            kernel = words[1]
            found[kernel] = {}
        elif words[:1] == [".end_amdhsa_kernel"]:
            kernel = ""
        elif kernel and len(words) == 2 and re.fullmatch(r"\d+", words[1]):
            found[kernel][words[0]] = int(words[1])
    return found


@pytest.mark.needs_llvm
def test_fields_are_those_of_objdump(corpus_object: Path, llvm: Callable[..., str]) -> None:
    code_object = CodeObject.parse(corpus_object.read_bytes(), str(corpus_object))
    if code_object.target.processor == NOT_KNOWN_TO_LLVM_22 or not code_object.sections:
        return
    theirs = directives_of(llvm("llvm-objdump", "-D", "-j", ".rodata", corpus_object))
    assert theirs or code_object.is_relocatable
    version = code_object.target.version
    for kernel in code_object.kernels:
        lines = theirs.get(kernel.name)
        if lines is None:  # an alias of a descriptor's address
            continue
        descriptor = kernel.descriptor
        assert descriptor.group_segment_fixed_size == lines[".amdhsa_group_segment_fixed_size"]
        assert descriptor.private_segment_fixed_size == lines[".amdhsa_private_segment_fixed_size"]
        assert descriptor.kernarg_size == lines[".amdhsa_kernarg_size"]
        for directive, name in DIRECTIVES.items():
            field = bit_field(name, version)
            if directive in lines:
                assert field is not None, (directive, version)
                assert descriptor.get(field) == lines[directive], (kernel.name, directive)
        check_registers(code_object, kernel.wavefront_size, descriptor, lines)


def check_registers(
    code_object: CodeObject,
    wavefront_size: int,
    descriptor: KernelDescriptor,
    lines: dict[str, int],
) -> None:
    """llvm-objdump prints the number of registers that the granulated count stands for."""
    version = code_object.target.version
    known, count = granules(version, wavefront_size), lines[".amdhsa_next_free_vgpr"]
    field = bit_field("granulated_workitem_vgpr_count", version)
    assert known is not None
    assert field is not None
    assert known.vgprs_owned(descriptor.get(field)) == count
    accumulation = bit_field("accum_offset", version)
    assert (accumulation is not None) == (".amdhsa_accum_offset" in lines) == known.unified
    if accumulation is not None:
        assert 4 * (descriptor.get(accumulation) + 1) == lines[".amdhsa_accum_offset"]


def test_bytes_come_back(corpus_object: Path) -> None:
    code_object = CodeObject.parse(corpus_object.read_bytes(), str(corpus_object))
    assert code_object.kernels
    for kernel in code_object.kernels:
        at = kernel.descriptor_offset
        assert kernel.descriptor.to_bytes() == code_object.data[at : at + 64]


def test_descriptor_and_metadata_agree(corpus_object: Path) -> None:
    code_object = CodeObject.parse(corpus_object.read_bytes(), str(corpus_object))
    for kernel in code_object.kernels:
        metadata, descriptor = kernel.metadata, kernel.descriptor
        if metadata is None:
            continue
        assert metadata.name == kernel.name
        assert metadata.wavefront_size == kernel.wavefront_size
        assert metadata.group_segment_fixed_size == descriptor.group_segment_fixed_size
        assert metadata.private_segment_fixed_size == descriptor.private_segment_fixed_size
        assert metadata.kernarg_segment_size == descriptor.kernarg_size
        known = granules(code_object.target.version, kernel.wavefront_size)
        field = bit_field("granulated_workitem_vgpr_count", code_object.target.version)
        if code_object.is_relocatable or known is None or field is None:
            continue
        assert metadata.vgpr_count is not None
        assert known.vgprs_owned(descriptor.get(field)) >= metadata.vgpr_count


@pytest.mark.parametrize(
    ("version", "wavefront_size", "count", "field"),
    [
        ((9, 0, 0), 64, 15, 3),
        ((9, 0, 10), 64, 15, 1),
        ((9, 0, 12), 64, 15, 3),
        ((9, 4, 2), 64, 10, 1),
        ((10, 3, 0), 32, 16, 1),
        ((11, 0, 0), 32, 74, 9),
        ((12, 0, 1), 32, 74, 9),
        ((12, 0, 1), 64, 74, 18),
        ((12, 5, 0), 32, 80, 4),
    ],
)
def test_vgpr_granules(
    version: tuple[int, int, int], wavefront_size: int, count: int, field: int
) -> None:
    known = granules(version, wavefront_size)
    assert known is not None
    assert known.vgpr_field(count) == field
    assert known.vgprs_owned(field) >= count


@pytest.mark.parametrize(
    ("count", "field"), [(40, 4), (41, 5), (48, 5), (49, 6), (64, 7), (96, 11), (102, 12)]
)
def test_sgpr_granules_of_gfx9(count: int, field: int) -> None:
    """As LLVM 22's assembler encodes `.amdhsa_next_free_sgpr` on gfx900."""
    known = granules((9, 0, 0), 64)
    assert known is not None
    assert known.sgpr_field(count) == field


def test_sgprs_mean_nothing_from_gfx10_on() -> None:
    known = granules((12, 5, 0), 32)
    assert known is not None
    assert (known.sgpr_field(100), known.sgprs_owned(4)) == (0, None)


def test_unknown_generations_have_no_granules() -> None:
    assert granules((13, 1, 0), 32) is None


def test_fields_of_other_targets_do_not_exist() -> None:
    assert bit_field("accum_offset", (9, 0, 8)) is None
    assert bit_field("accum_offset", (12, 5, 0)) is None
    narrow, wide = (
        bit_field("user_sgpr_count", (12, 0, 1)),
        bit_field("user_sgpr_count", (12, 5, 0)),
    )
    assert narrow is not None
    assert wide is not None
    assert (narrow.width, wide.width) == (5, 6)


def test_changing_a_field() -> None:
    empty = KernelDescriptor.parse(bytes(64))
    field = bit_field("user_sgpr_count", (12, 5, 0))
    assert field is not None
    changed = empty.with_value(field, 33)
    assert changed.compute_pgm_rsrc2 == 33 << 1
    assert changed.get(field) == 33
    assert changed.with_value(field, 0) == empty
    with pytest.raises(ValueError, match="does not fit the 6 bits"):
        empty.with_value(field, 64)


def test_a_descriptor_has_64_bytes() -> None:
    with pytest.raises(ValueError, match="64 bytes, not 63"):
        KernelDescriptor.parse(bytes(63))
