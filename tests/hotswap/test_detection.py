# SPDX-License-Identifier: Apache-2.0
"""Every instruction of the table is found, and nothing beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from postproc.isa import load
from postproc_hotswap.config import Config
from postproc_hotswap.defects import DEFECTS
from postproc_hotswap.detection import detect

if TYPE_CHECKING:
    from tests.hotswap.conftest import Hotswap

    from postproc.codeobject import CodeObject

WAVE_MODE = "hwreg(HW_REG_WAVE_MODE, 25, 1)"


def _ds2(width: str, stride: str) -> list[str]:
    one, two, pair, four = (
        ("v2", "v3", "v[6:7]", "v[4:5]")
        if width == "b32"
        else ("v[2:3]", "v[4:5]", "v[6:9]", "v[4:7]")
    )
    offsets = "offset0:1 offset1:2"
    return [
        f"ds_load_2addr{stride}_{width} {four}, v1 {offsets}",
        f"ds_store_2addr{stride}_{width} v1, {one}, {two} {offsets}",
        f"ds_storexchg_2addr{stride}_rtn_{width} {pair}, v1, {one}, {two} {offsets}",
    ]


FP8 = ("fp8", "bf8")
M16 = "v[0:7], v[8:23], v[24:39], v[0:7]"
M32 = "v[0:15], v[16:31], v[32:39], v[0:15]"
CLUSTER_WIDTHS = {"b32": "v4", "b64": "v[4:5]", "b128": "v[4:7]"}
PK8 = {"f16": "v[0:3]", "bf16": "v[0:3]", "f32": "v[0:7]"}
PK16 = {"f16": "v[0:7]", "bf16": "v[0:7]", "f32": "v[0:15]"}

SOURCES: dict[str, list[str]] = {
    "ds2": [s for w in ("b32", "b64") for stride in ("", "_stride64") for s in _ds2(w, stride)],
    "ds-addtid": ["ds_load_addtid_b32 v1 offset:4", "ds_store_addtid_b32 v1 offset:4"],
    "cluster-load": [
        *(f"cluster_load_{w} {d}, v[2:3], off" for w, d in CLUSTER_WIDTHS.items()),
        *(f"cluster_load_{w} {d}, v1, s[2:3]" for w, d in CLUSTER_WIDTHS.items()),
        *(
            f"cluster_load_async_to_lds_{w} v1, {address} offset:16"
            for w in ("b8", "b32", "b64", "b128")
            for address in ("v[2:3], off", "v2, s[2:3]")
        ),
    ],
    "clause": ["s_clause 0x0"],
    "sethalt": ["s_sethalt 1", "s_sethalt 0"],
    "barrier-isfirst": ["s_barrier_signal_isfirst -1", "s_barrier_signal_isfirst -3",
                        "s_barrier_signal_isfirst m0"],
    "wmma-k128": [
        f"v_wmma_{d}_16x16x128_{a}_{b} {registers}, v[8:23], v[24:39], {registers}"
        for d, registers in (("f32", "v[0:7]"), ("f16", "v[0:3]"))
        for a in FP8
        for b in FP8
    ],
    "wmma-f4": [f"v_wmma_f32_32x16x128_f4 {M32}"],
    "wmma-scale-m32": [f"v_wmma_scale_f32_32x16x128_f4 {M32}, v40, v41",
                       f"v_wmma_scale16_f32_32x16x128_f4 {M32}, v[40:41], v[42:43]"],
    "wmma-f8f6f4": [f"v_wmma_f32_16x16x128_f8f6f4 {M16}"],
    "lone-scale-prefix": ["v_wmma_ld_scale_paired_b32 v1, v2\ns_nop 0",
                          "v_wmma_ld_scale16_paired_b64 v[2:3], v[4:5]\ns_nop 0"],
    "tensor-load": ["tensor_load_to_lds s[0:3], s[4:11]",
                    "tensor_load_to_lds s[0:3], s[4:11], s[12:15], s[16:19]"],
    "fp8-clamp": [
        "v_cvt_pk_fp8_f32 v0, v1, v2 clamp",
        "v_cvt_sr_fp8_f32 v0, v1, v2 clamp",
        "v_cvt_f32_fp8_e64 v0, v1 clamp",
        "v_cvt_pk_fp8_f16 v0, v1 clamp",
        "v_cvt_pk_fp8_f32_e64_dpp v0, v1, v2 clamp row_mirror",
        "v_cvt_sr_fp8_f32_e64_dpp v0, v1, v2 clamp row_mirror",
        "v_cvt_f32_fp8_e64_dpp v0, v1 clamp row_mirror",
    ],
    "scale-select": [
        *(f"v_cvt_scale_pk8_{d}_{s} {r}, v[20:21], v22 scale_sel:8"
          for d, r in PK8.items() for s in FP8),
        *(f"v_cvt_scale_pk8_{d}_fp4 {r}, v20, v22 scale_sel:4" for d, r in PK8.items()),
        *(f"v_cvt_scale_pk16_{d}_{s} {r}, v[20:22], v23 scale_sel:4"
          for d, r in PK16.items() for s in ("fp6", "bf6")),
    ],
    "integer-wmma": [
        "v_wmma_i32_16x16x16_iu4 v[0:7], v8, v9, v[0:7]",
        "v_wmma_i32_16x16x16_iu8 v[0:7], v[8:9], v[10:11], v[0:7]",
        "v_wmma_i32_16x16x32_iu4 v[0:7], v[8:9], v[10:11], v[0:7]",
        "v_wmma_i32_16x16x64_iu8 v[0:7], v[8:15], v[16:23], v[0:7]",
        "v_swmmac_i32_16x16x32_iu4 v[0:7], v8, v[10:11], v14",
        "v_swmmac_i32_16x16x32_iu8 v[0:7], v[8:9], v[10:13], v14",
        "v_swmmac_i32_16x16x64_iu4 v[0:7], v[8:9], v[10:13], v14",
        "v_swmmac_i32_16x16x128_iu8 v[0:7], v[8:15], v[16:31], v[32:33]",
    ],
    "backward-add-pc": ["s_add_pc_i64 -64"],
}  # fmt: skip
"""At least one source line for each mnemonic of each row that is active by default."""

HARMLESS = (
    "ds_load_b64 v[2:3], v1 offset:8",
    "ds_store_b32 v1, v2",
    "global_load_b32 v4, v1, s[2:3]",
    "global_load_async_to_lds_b32 v1, v2, s[2:3]",
    "tensor_store_from_lds s[0:3], s[4:11]",
    "s_barrier_signal -1",
    "v_wmma_f32_16x16x64_fp8_fp8 v[0:7], v[8:15], v[16:23], v[0:7]",
    f"v_wmma_scale_f32_16x16x128_f8f6f4 {M16}, v40, v41",
    f"v_wmma_scale16_f32_16x16x128_f8f6f4 {M16}, v[40:41], v[42:43]",
    "v_swmmac_f32_16x16x128_fp8_fp8 v[0:7], v[8:15], v[16:31], v[32:33]",
    "v_cvt_pk_fp8_f32 v0, v1, v2",
    "v_cvt_f32_fp8_e64 v0, v1",
    "v_cvt_pk_bf8_f32 v0, v1, v2",
    "v_cvt_scale_pk8_f16_fp8 v[0:3], v[20:21], v22 scale_sel:7",
    "v_cvt_scale_pk8_f32_bf8 v[0:7], v[20:21], v22",
    "v_cvt_scale_pk8_f16_fp4 v[0:3], v20, v22 scale_sel:3",
    "v_cvt_scale_pk16_f16_fp6 v[0:7], v[20:22], v23 scale_sel:3",
    "s_add_pc_i64 0",
    f"s_setreg_imm32_b32 {WAVE_MODE}, 1",
    "s_nop 0",
    "s_code_end",
)
"""The nearest that A0 does have."""


@pytest.mark.parametrize("rule", SOURCES)
def test_every_mnemonic_of_a_rule_is_found(
    rule: str, assembled: Callable[[str, str], CodeObject]
) -> None:
    code_object = assembled("gfx1250", "\n".join([*SOURCES[rule], "s_endpgm"]))
    decoded = load("gfx1250").decode(code_object.code(code_object.executable_sections[0]))
    found = [(decoded[i].mnemonic, defect.rule) for i, defect in detect(decoded, Config())]
    assert len(found) == len(SOURCES[rule])
    assert {r for _, r in found} == {rule}
    match = load("gfx1250").match
    for defect in (d for d in DEFECTS if d.rule == rule):
        for mnemonic in defect.mnemonics:
            spellings = {
                m for m, hit in zip(load("gfx1250").mnemonics, match(mnemonic), strict=True) if hit
            }
            assert spellings & {m for m, _ in found}, f"no test for {mnemonic}"


VENDOR = {
    "tensor-load": ["0xd0310000, 0x00200000, 0x7c7c2420", "0xd0310000, 0, 0x7c7c2420"],
    "wmma-scale-m32": [
        "0xcc350000, 0x02025328, 0xcc884000, 0x1c024110",
        "0xcc3a0000, 0x02025528, 0xcc884000, 0x1c024110",
    ],
    "scale-prefix": [
        "0xcc350000, 0x02025328, 0xcc330000, 0x04023108",
        "0xcc3a0000, 0x02025528, 0xcc330000, 0x04023108",
    ],
}
"""Encodings of hand-written objects and of newer compilers, which LLVM 22 does not read."""


@pytest.mark.parametrize("rule", VENDOR)
def test_encodings_that_llvm_22_does_not_read_are_found(
    rule: str,
    assembled: Callable[[str, str], CodeObject],
    left_for_a0: Callable[[Any], list[tuple[int, str]]],
) -> None:
    source = "\n".join([*(f".long {words}" for words in VENDOR[rule]), "s_endpgm"])
    code_object = assembled("gfx1250", source)
    decoded = load("gfx1250").decode(code_object.code(code_object.executable_sections[0]))
    assert [d.rule for _, d in detect(decoded, Config())] == [rule] * len(VENDOR[rule])
    assert [name for _, name in left_for_a0(decoded)] == [rule] * len(VENDOR[rule])


def test_the_table_names_real_mnemonics() -> None:
    isa = load("gfx1250")
    for defect in DEFECTS:
        for mnemonic in defect.mnemonics:
            assert isa.match(mnemonic).any(), mnemonic


def test_every_policy_is_a_field_of_the_configuration() -> None:
    fields = set(Config.__struct_fields__)
    assert {defect.policy for defect in DEFECTS} <= fields


REWRITTEN = {"clause", "cluster-load", "sethalt", "integer-wmma", "backward-add-pc"}


@pytest.mark.parametrize("rule", sorted(set(SOURCES) - REWRITTEN))
def test_what_cannot_be_rewritten_is_refused_by_name(rule: str, hotswap: Hotswap) -> None:
    run = hotswap("\n".join([*SOURCES[rule], "s_endpgm"]))
    assert run.exit_status == 4
    assert {s.status for s in run.sites} == {"refused"}
    assert len(run.of(rule)) == len(SOURCES[rule])
    for site in run.sites:
        assert f"0x{site.offset:x} {site.mnemonic} in kernel (hotswap/{rule}): " in run.message


def test_what_a0_has_is_no_site(hotswap: Hotswap) -> None:
    run = hotswap("\n".join([*HARMLESS, "s_endpgm"]))
    assert (run.exit_status, run.sites) == (0, ())


def test_the_independent_scan_sees_all_of_it(
    assembled: Callable[[str, str], CodeObject], left_for_a0: Callable[[Any], list[tuple[int, str]]]
) -> None:
    """Otherwise a clean scan would say nothing."""
    proven_elsewhere = {"integer-wmma", "backward-add-pc", "lone-scale-prefix"}
    for rule in sorted(set(SOURCES) - proven_elsewhere):
        code_object = assembled("gfx1250", "\n".join([*SOURCES[rule], "s_endpgm"]))
        decoded = load("gfx1250").decode(code_object.code(code_object.executable_sections[0]))
        names = [name for _, name in left_for_a0(decoded)]
        assert names == [rule] * len(SOURCES[rule])


def test_the_independent_scan_sees_nothing_else(
    assembled: Callable[[str, str], CodeObject], left_for_a0: Callable[[Any], list[tuple[int, str]]]
) -> None:
    code_object = assembled("gfx1250", "\n".join([*HARMLESS, "s_endpgm"]))
    decoded = load("gfx1250").decode(code_object.code(code_object.executable_sections[0]))
    assert left_for_a0(decoded) == []


def test_detection_of_a_large_text_is_quick() -> None:
    """Five megabytes, a site in every eighth instruction: a hundredth of a second on one core."""
    import time

    isa = load("gfx1250")
    unit = bytes.fromhex("000085bf") + bytes.fromhex("000080bf") * 7
    decoded = isa.decode(unit * (5_000_000 // len(unit)))
    detect(decoded, Config())
    start = time.process_time()
    found = detect(decoded, Config())
    assert time.process_time() - start < 0.5
    assert len(found) == 5_000_000 // len(unit)
