# SPDX-License-Identifier: Apache-2.0
"""Registers as sets: the same as `Instruction.defs` and `.uses`, and what is whole of them."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from postproc.codeobject import CodeObject
from postproc.errors import PostprocError
from postproc.isa import Decoded, Isa, load
from postproc_cfg.dataflow import (
    BankModes,
    BlockRanges,
    RegisterSets,
    bank_modes,
    killed_registers,
    liveness,
    mode_effects,
    register_numbers,
    register_sets,
)
from postproc_cfg.graph import Graph

CORPUS = Path(__file__).parents[2] / "corpus"
SLOT = 32
"""Bytes between two random encodings."""


def text(processor: str, source: str, wavefront_size: int | None = None) -> Decoded:
    isa = load(processor, wavefront_size)
    return isa.decode(isa.assemble(source))


def in_first_bank(names: Iterable[str], isa: Isa) -> set[str]:
    """Without banks: v0 to v255 only."""
    if not isa.has_vgpr_banks:
        return set(names)
    return {
        f"v{int(name[1:]) % 256}" if name[0] == "v" and name[1:].isdigit() else name
        for name in names
    }


def assert_same_registers(decoded: Decoded, chosen: Iterable[int]) -> None:
    sets, isa = register_sets(decoded), decoded.isa
    for i in chosen:
        if sets.opaque[i]:
            continue
        instruction = decoded[i]
        for row, names in ((sets.defs[i], instruction.defs), (sets.uses[i], instruction.uses)):
            found = in_first_bank(sets.numbers.named(row), isa)
            assert found == in_first_bank(names, isa), instruction


def test_every_encoding_of_the_corpus() -> None:
    seen: set[tuple[str, bytes]] = set()
    for path in sorted(CORPUS.glob("gfx*/*")):
        try:
            code_object = CodeObject.parse(path.read_bytes(), path.name)
            isa = load(code_object.target.processor)
        except PostprocError:
            continue  # no instruction table
        for section in code_object.executable_sections:
            decoded = isa.decode(code_object.code(section))
            chosen = []
            for i, (start, size) in enumerate(zip(decoded.offset, decoded.size, strict=True)):
                key = (isa.processor, bytes(decoded.code[int(start) : int(start) + int(size)]))
                if key not in seen:
                    seen.add(key)
                    chosen.append(i)
            assert_same_registers(decoded, chosen)
    assert len(seen) > 10_000


@pytest.mark.parametrize("processor", ["gfx950", "gfx1250"])
def test_random_encodings_of_many_entries(processor: str) -> None:
    isa, chance = load(processor), random.Random(1)
    nops = isa.assemble("s_nop 0") * (SLOT // 4)
    code = bytearray()
    for number in range(0, isa.entries, 4):
        entry = isa.entry(number)
        mask, value = chance.choice(entry.patterns)
        word = value | (chance.getrandbits(128) & ~mask)
        encoding = (word & ((1 << 8 * entry.base_size) - 1)).to_bytes(entry.base_size, "little")
        code += (encoding + chance.randbytes(8) + nops)[:SLOT]
    decoded = isa.decode(bytes(code), range(0, len(code), SLOT))
    first = np.flatnonzero((decoded.offset % SLOT == 0) & (decoded.opcode != isa.UNKNOWN))
    assert first.size > 0.2 * isa.entries
    assert_same_registers(decoded, first.tolist())


@pytest.mark.parametrize("processor", ["gfx900", "gfx90a", "gfx1030", "gfx1250"])
def test_names_and_numbers_agree(processor: str) -> None:
    numbers = register_numbers(load(processor))
    names = ["s0", "s101", "vcc_lo", "vcc_hi", "exec_lo", "m0", "scc", "mode", "v0", "v255"]
    names += ["flat_scratch_lo", "flat_scratch_hi", "ttmp0"]
    for name in names:
        assert numbers.names[numbers.number(name)] == name
    named = [name for name in numbers.names if name]
    assert len(set(named)) == len(named)
    assert "null" not in named
    assert set(numbers.named(numbers.row(names))) == set(names)
    assert numbers.words * 64 >= numbers.count == len(numbers.names)


def test_only_some_targets_have_accumulation_registers_and_banks() -> None:
    with pytest.raises(KeyError):
        register_numbers(load("gfx900")).number("a0")
    assert register_numbers(load("gfx90a")).names[-1] == "a255"
    assert register_numbers(load("gfx1250")).names[-1] == "v1023"


A_TILE = {f"a{i}" for i in range(16)}


def full(sets: RegisterSets, row: int = 0) -> set[str]:
    return set(sets.numbers.named(sets.full_defs[row]))


@pytest.mark.parametrize(
    ("processor", "source", "whole"),
    [
        ("gfx942", "v_add_u32 v1, v2, v3", {"v1"}),
        ("gfx942", "s_mov_b64 s[4:5], 0", {"s4", "s5"}),
        ("gfx942", "v_cmp_eq_u32_e64 s[4:5], v0, v1", {"s4", "s5"}),
        ("gfx942", "s_cmov_b32 s4, s5", set()),
        ("gfx942", "v_writelane_b32 v1, s0, 3", set()),
        ("gfx942", "v_mov_b32_dpp v1, v2 quad_perm:[0,1,2,3] row_mask:0x1 bank_mask:0x1", set()),
        ("gfx942", "global_load_short_d16_hi v1, v[2:3], off", set()),
        ("gfx942", "global_load_dwordx2 v[4:5], v[2:3], off", {"v4", "v5"}),
        ("gfx1100", "v_add_f16_e64 v1.l, v2.l, v3.l", set()),
        ("gfx942", "v_fmac_f32 v1, v2, v3", {"v1"}),
        ("gfx942", "s_bitset1_b32 s4, s5", set()),
        ("gfx942", "ds_read_u16_d16_hi v1, v2", set()),
        ("gfx1030", "v_add_f16 v1, v2, v3", set()),
        ("gfx1030", "v_pk_add_f16 v1, v2, v3", {"v1"}),
        ("gfx1030", "v_cmp_eq_f16_e64 s4, v2, v3", {"s4"}),
        ("gfx942", "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]", A_TILE),
    ],
)
def test_what_keeps_a_part_of_its_destination_writes_no_whole(
    processor: str, source: str, whole: set[str]
) -> None:
    sets = register_sets(text(processor, source))
    assert full(sets) == whole
    assert not sets.opaque[0]
    assert set(sets.numbers.named(sets.defs[0])) >= whole


@pytest.mark.parametrize(
    ("processor", "source"),
    [
        ("gfx90a", "v_add_u32 v1, v2, v3\ns_set_gpr_idx_on s0, gpr_idx(SRC0)"),
        ("gfx1030", "s_movrels_b32 s0, s1"),
        ("gfx1030", "v_movreld_b32 v0, v1"),
    ],
)
def test_instructions_that_touch_what_they_do_not_name_are_opaque(
    processor: str, source: str
) -> None:
    assert register_sets(text(processor, source)).opaque[0]


def test_words_that_are_no_instruction_are_opaque() -> None:
    decoded = load("gfx942").decode(bytes.fromhex("ffffffff 000080bf"))
    assert register_sets(decoded).opaque.tolist() == [True, False]


def test_some_instructions_only() -> None:
    decoded = text("gfx942", "s_mov_b32 s0, s1\ns_mov_b32 s2, s3\ns_mov_b32 s4, s5")
    sets = register_sets(decoded, np.array([2, 0]))
    assert [sets.numbers.named(row) for row in sets.defs] == [("s4",), ("s0",)]


def modes_of(decoded: Decoded) -> BankModes:
    graph = Graph.from_edges(1, [])
    return bank_modes(graph, BlockRanges.of([0], [len(decoded)]), mode_effects(decoded))


def test_the_mode_selects_the_bank_of_each_operand() -> None:
    # src0 bank 0, src1 bank 1, src2 bank 2, destination bank 3
    decoded = text("gfx1250", "s_set_vgpr_msb 0xe4\nv_fma_f32 v1, v2, v3, v4")
    sets = register_sets(decoded, modes=modes_of(decoded))
    assert set(sets.numbers.named(sets.defs[1])) == {"v769"}
    assert full(sets, 1) == {"v769"}
    assert {"v2", "v259", "v516"} <= set(sets.numbers.named(sets.uses[1]))


def test_an_unknown_mode_means_all_banks_and_no_whole_write() -> None:
    decoded = text("gfx1250", "v_add_f32_e32 v1, s4, v3")
    sets = register_sets(decoded)
    assert set(sets.numbers.named(sets.defs[0])) == {"v1", "v257", "v513", "v769"}
    assert full(sets) == set()
    assert {"s4", "v3", "v259", "v515", "v771"} <= set(sets.numbers.named(sets.uses[0]))


def test_a_tuple_may_run_over_the_end_of_a_bank_but_not_of_the_last() -> None:
    source = "s_set_vgpr_msb {}\nglobal_load_b64 v[255:256], v[0:1], off"
    decoded = text("gfx1250", source.format(0))
    sets = register_sets(decoded, modes=modes_of(decoded))
    assert full(sets, 1) == {"v255", "v256"}
    decoded = text("gfx1250", source.format(0xC0))
    assert register_sets(decoded, modes=modes_of(decoded)).opaque.tolist() == [False, True]


# ---------------------------------------------------------------- the bank mode of real text
MSB_FIELDS = 0xE4 << 12
"""MODE bits [19:12] that are 0xE4 before the rotation."""


@pytest.mark.parametrize(
    ("source", "modes"),
    [
        ("s_set_vgpr_msb 0x4181\ns_nop 0", [0x00, 0x81]),
        (f"s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE), {MSB_FIELDS}\ns_nop 0", [0x00, 0x39]),
        ("s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 25, 1), 1\ns_nop 0", [0x00, 0x00]),
        ("s_setreg_imm32_b32 hwreg(HW_REG_WAVE_STATUS), 0xff000\ns_nop 0", [0x00, 0x00]),
        ("s_setreg_b32 hwreg(HW_REG_WAVE_MODE), s0\ns_nop 0", [0x00, None]),
        ("s_round_mode 0x3\ns_nop 0", [0x00, None]),
        ("s_swap_pc_i64 s[30:31], s[0:1]\ns_nop 0", [0x00, None]),
        (".long 0xffffffff\ns_nop 0", [0x00, None]),
    ],
)
def test_what_instructions_make_of_the_mode(source: str, modes: list[int | None]) -> None:
    if source.startswith(".long"):
        decoded = load("gfx1250").decode(bytes.fromhex("ffffffff 000080bf"))
    else:
        decoded = text("gfx1250", source)
    found = modes_of(decoded)
    assert [found.mode(i) for i in range(2)] == modes


def test_hardware_drops_a_mode_change_directly_behind_a_setreg_to_mode() -> None:
    setreg = "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 25, 1), 1\n"
    dropped = modes_of(text("gfx1250", setreg + "s_set_vgpr_msb 0x41\ns_nop 0"))
    assert dropped.mode(2) is None
    kept = modes_of(text("gfx1250", setreg + "s_nop 0\ns_set_vgpr_msb 0x41\ns_nop 0"))
    assert kept.mode(3) == 0x41
    same = modes_of(text("gfx1250", setreg + "s_set_vgpr_msb 0\ns_nop 0"))
    assert same.mode(2) == 0


def test_live_registers_of_a_kernel() -> None:
    decoded = text(
        "gfx942",
        """
        s_load_dwordx2 s[4:5], s[0:1], 0x0
        v_lshlrev_b32 v1, 2, v0
        v_mov_b32 v2, 1
        s_waitcnt lgkmcnt(0)
        global_store_dword v1, v2, s[4:5]
        s_endpgm
        """,
    )
    sets = register_sets(decoded)
    numbers = sets.numbers
    ranges = BlockRanges.of([0], [len(decoded)])
    nothing = {0: np.zeros(numbers.words, np.uint64)}
    lanes = np.ones(len(decoded), np.bool_)

    def live(exec_full: np.ndarray | None) -> set[str]:
        kills = killed_registers(sets.full_defs, numbers.vector, exec_full)
        found = liveness(Graph.from_edges(1, []), ranges, sets.uses, kills, live_out=nothing)
        return set(numbers.named(found.before(0)))

    assert live(lanes) == {"s0", "s1", "v0", "exec_lo", "exec_hi"}
    assert live(None) == {"s0", "s1", "v0", "v1", "v2", "exec_lo", "exec_hi"}
