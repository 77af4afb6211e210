# SPDX-License-Identifier: Apache-2.0
"""All facts of every processor against LLVM, on ten million pseudo-random encodings each."""

from __future__ import annotations

import pytest
from tools.isagen.acceptance import compare
from tools.isagen.aliases import check_served
from tools.isagen.build import build
from tools.isagen.decoder_tables import read_leaves
from tools.isagen.generate import generate
from tools.isagen.known import reason_for
from tools.isagen.target import open_target
from tools.isagen.targets import PROCESSORS, SERVES

pytestmark = [pytest.mark.needs_llvm_dev, pytest.mark.slow]

UNIFORM = 4_000_000
STRUCTURED = 6_000_000
SEED = 2


@pytest.mark.parametrize("name", PROCESSORS)
def test_llvm_takes_and_refuses_the_same_encodings(name: str) -> None:
    size = PROCESSORS[name].wavefront_sizes[0]
    target = open_target(build(), name, PROCESSORS[name].features_of(size), size)
    facts = generate(target, lambda _: None)
    found = compare(target, facts, UNIFORM, STRUCTURED, SEED)
    assert found.asked == UNIFORM + STRUCTURED
    unexplained = [key for key in found.found if reason_for(*key) is None]
    assert unexplained == []


@pytest.mark.parametrize("table", sorted(set(SERVES.values())))
def test_tables_serve_the_processors_that_they_are_said_to(table: str) -> None:
    native = build()
    assert check_served(native, read_leaves(native.disassembler), table) == []
