# SPDX-License-Identifier: Apache-2.0
"""The inverse of each printer of `postproc.isa.printing`, by the same name."""

from __future__ import annotations

from postproc.isa.assembling import exports, lanes, memory, modifiers, operands, scalars
from postproc.isa.assembling.symbols import Parser, named_bit, numbered, symbolic
from postproc.isa.printing import lanes as lane_names
from postproc.isa.printing import sources, trailing

__all__ = ["POSITIONAL", "TRAILING"]


POSITIONAL: dict[str, Parser] = {
    "plain": operands.plain,
    "fp": operands.with_float_modifiers,
    "fp_vcc": operands.with_float_modifiers_and_carry,
    "int": operands.with_integer_modifiers,
    "smem_offset": operands.number,
    "smem_literal": operands.number,
    "list": operands.address_list,
    "address": operands.address,
    "dec": operands.number,
    "dec16": operands.number,
    "hex16": operands.number,
    "hex32": operands.number,
    "lit64": operands.literal64,
    "waitcnt": scalars.wait_counters,
    "depctr": scalars.dependency_counters,
    "delay_alu": scalars.delay_alu,
    "hwreg": scalars.hardware_register,
    "sendmsg": scalars.send_message,
    "gpr_idx": scalars.index_mode,
    "version": scalars.microcode_version,
    "tgt": exports.export_target,
    **{f"export{place}": exports.export_source(place) for place in range(4)},
    "slot": exports.interpolation_slot,
    "attr": exports.attribute,
}


TRAILING: dict[str, Parser] = {
    **{name: named_bit() for name in trailing.NAMED_BITS},
    "compr": exports.compressed,
    "r128_is_a16": named_bit("a16"),
    "op_sel": modifiers.packed("op_sel", sources.OP_SEL),
    "op_sel_hi": modifiers.packed("op_sel_hi", sources.OP_SEL_HI),
    "neg_lo": modifiers.packed("neg_lo", sources.NEG),
    "neg_hi": modifiers.packed("neg_hi", sources.NEG_HI),
    "op_sel_lanes": modifiers.op_sel_of_two(
        ("src0_modifiers", sources.OP_SEL), ("src1_modifiers", sources.OP_SEL)
    ),
    "op_sel_byte": modifiers.op_sel_of_two(
        ("src0_modifiers", sources.OP_SEL), ("src0_modifiers", sources.OP_SEL_HI)
    ),
    "dpp_ctrl": lanes.dpp_control,
    "dpp8": lanes.dpp8,
    "fi": lanes.fetch_inactive,
    "bound_ctrl": lanes.bound_control,
    "row_mask": numbered(default=0xF),
    "bank_mask": numbered(default=0xF),
    "dst_sel": symbolic(lane_names.SDWA_SELECTS, default=6),
    "src0_sel": symbolic(lane_names.SDWA_SELECTS, default=6),
    "src1_sel": symbolic(lane_names.SDWA_SELECTS, default=6),
    "dst_unused": symbolic(lane_names.SDWA_UNUSED, default=2),
    "swizzle": lanes.swizzle,
    "cpol": memory.cache_policy,
    "offset": numbered(),
    "offset0": numbered(),
    "offset1": numbered(),
    "buffer_offset": numbered("offset"),
    "flat_offset": numbered("offset"),
    "smem_offset_modifier": memory.scalar_offset_modifier,
    "dmask": numbered(),
    "dim": memory.dimension,
    "format": memory.buffer_format,
    "endpgm": scalars.end_program,
    "omod": modifiers.output_modifier,
    "cbsz": numbered(),
    "abid": numbered(),
    "blgp": numbered(),
    "neg": modifiers.negations,
    "byte_sel": numbered(),
    "scale_sel": numbered(),
    "bitop3": numbered(),
    "index_key": numbered("index_key"),
    "matrix_a_fmt": symbolic(trailing.MATRIX_NAMES["fmt"], "MATRIX_FMT_"),
    "matrix_b_fmt": symbolic(trailing.MATRIX_NAMES["fmt"], "MATRIX_FMT_"),
    "matrix_a_scale": symbolic(trailing.MATRIX_NAMES["scale"], "MATRIX_SCALE_"),
    "matrix_b_scale": symbolic(trailing.MATRIX_NAMES["scale"], "MATRIX_SCALE_"),
    "matrix_a_scale_fmt": symbolic(trailing.MATRIX_NAMES["scale_fmt"], "MATRIX_SCALE_FMT_"),
    "matrix_b_scale_fmt": symbolic(trailing.MATRIX_NAMES["scale_fmt"], "MATRIX_SCALE_FMT_"),
    "wait_exp": numbered("wait_exp"),
    "wait_vdst": numbered("wait_vdst"),
    "wait_va_vdst": numbered("wait_va_vdst"),
    "wait_vm_vsrc": numbered("wait_vm_vsrc"),
}
