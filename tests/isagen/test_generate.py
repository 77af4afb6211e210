# SPDX-License-Identifier: Apache-2.0
"""Facts of a few opcodes, generated from LLVM, and what the overlay adds to them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tools.isagen.build import build
from tools.isagen.facts import TargetFacts
from tools.isagen.generate import generate
from tools.isagen.interpret import NONE, Interpreter
from tools.isagen.llvm import WINDOW
from tools.isagen.operand_check import check_operands
from tools.isagen.overlay import apply_overlay
from tools.isagen.target import Target, open_target
from tools.isagen.targets import PROCESSORS

pytestmark = pytest.mark.needs_llvm_dev

OPCODES = (
    r"^(V_ADD_F32_(e32|e64|dpp)\w*_gfx12|V_(DUAL_)?FMAMK_F32\w*|S_ADD_PC_I64\w*|TENSOR_\w+_LDS\w*"
    r"|V_WMMA_(LD_)?SCALE\w*|V_WMMA_F32_16X16X128_F8F6F4\w*|DS_LOAD_B32_gfx12)$"
)


def silent(message: str) -> None:
    """Progress that nobody reads."""


@pytest.fixture(scope="module")
def target() -> Target:
    processor = PROCESSORS["gfx1250"]
    return open_target(build(), processor.name, processor.features_of(32), 32)


@pytest.fixture(scope="module")
def facts(target: Target) -> TargetFacts:
    return generate(target, silent, OPCODES)


def test_the_same_bytes_every_time(target: Target, facts: TargetFacts) -> None:
    again = generate(target, silent, OPCODES)
    assert [json.dumps(line) for line in again.lines()] == [json.dumps(x) for x in facts.lines()]


def test_operands_are_those_of_llvm(target: Target, facts: TargetFacts) -> None:
    report = check_operands(target, facts)
    assert report.compared > 1000
    assert not report.unseen
    matrices = {key for key in report.different if "F8F6F4" in key[0]}
    assert report.different.keys() == matrices


def entry_of(facts: TargetFacts, *words: int) -> tuple[str, int]:
    """LLVM's name of the entry that takes the encoding, and its size."""
    window = np.zeros((1, WINDOW), np.uint8)
    content = b"".join(word.to_bytes(4, "little") for word in words)
    window[0, : len(content)] = np.frombuffer(content, np.uint8)
    entry, size = Interpreter(facts).decode(window)
    return (facts.entries[entry[0]].llvm if entry[0] != NONE else "", int(size[0]))


ADD_WITH_LITERAL = 0x060000FF
TENSOR_LOAD = 0xD0310000, 0x00200000, 0x7C7C2420
TENSOR_STORE = 0xD0314000, 0x00000000, 0x7C7C2420
SCALED_WMMA = 0xCC350000, 0x02031189, 0xCC3300F0, 0x07C2E150
SCALED_FP4_WMMA = 0xCC3A0000, 0x02031189, 0xCC8800F0, 0x07C2E150


def test_literals_make_encodings_longer(facts: TargetFacts) -> None:
    assert entry_of(facts, ADD_WITH_LITERAL) == ("V_ADD_F32_e32_gfx12", 8)
    assert entry_of(facts, 0xBE804BFE, 0x27130) == ("S_ADD_PC_I64_gfx12", 12)


def test_what_vendor_assembly_writes_is_no_instruction_of_llvm(facts: TargetFacts) -> None:
    for words in (TENSOR_LOAD, TENSOR_STORE, SCALED_WMMA, SCALED_FP4_WMMA):
        assert entry_of(facts, *words)[0] == ""


def test_the_overlay_knows_what_vendor_assembly_writes(facts: TargetFacts) -> None:
    loosened = TargetFacts(
        facts.name,
        facts.processor,
        facts.features,
        facts.wavefront_size,
        facts.llvm_version,
        facts.classes,
        list(facts.entries),
    )
    apply_overlay(loosened)
    assert entry_of(loosened, *TENSOR_LOAD) == ("TENSOR_LOAD_TO_LDS_D2_gfx1250", 12)
    assert entry_of(loosened, *TENSOR_STORE) == ("TENSOR_STORE_FROM_LDS_D2_gfx1250", 12)
    name, size = entry_of(loosened, *SCALED_WMMA)
    assert name.startswith("V_WMMA_SCALE_F32_16X16X128_F8F6F4")
    assert size == 16
    name, size = entry_of(loosened, *SCALED_FP4_WMMA)
    assert (name, size) == ("V_WMMA_SCALE16_F32_32X16X128_F4_w32_gfx1250", 16)
