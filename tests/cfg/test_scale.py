# SPDX-License-Identifier: Apache-2.0
"""Everything resolves in a kernel of 40,000 instructions, 768 calls and 30 long branches."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from tests.cfg.tensile_like import generate

from postproc.codeobject import CodeObject
from postproc.pipeline.transform import view_of
from postproc_cfg import control_flow, program_text, recovered

SECONDS = 1.0
"""On one core of an idle machine; a machine of CI is given four times as long."""


@pytest.mark.needs_llvm
def test_all_transfers_of_a_large_kernel(assembled: Callable[..., CodeObject]) -> None:
    made = generate()
    code_object = assembled("gfx942", made.source)
    view = view_of(code_object)
    text = view.analysis(program_text)
    start = time.perf_counter()
    found = view.analysis(recovered)
    spent = time.perf_counter() - start
    symbols = code_object.symbols
    labels = {symbols.name(row): int(symbols.value[row]) for row in range(len(symbols))}
    places = {t.index: t for t in found.transfers}
    for label, targets in made.truth.items():
        transfer = places[text.index_at(labels[label])]
        assert not transfer.reason, (label, transfer.reason)
        assert list(transfer.targets) == sorted(
            text.index_at(labels[target]) for target in set(targets)
        )
    assert len(found.transfers) == len(made.truth) == 768 + 30 + 10
    assert not found.refused
    assert spent < 4 * SECONDS
    graph = view.analysis(control_flow)
    assert len(graph.functions) == 11
    assert graph.callees_of(0) == tuple(range(1, 11))
