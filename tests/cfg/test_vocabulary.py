# SPDX-License-Identifier: Apache-2.0
"""What is a branch, a call, a control transfer; and where the encoding says that they go."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from postproc.codeobject import CodeObject
from postproc.isa import Decoded
from postproc_cfg import vocabulary

PROCESSORS = ("gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250")

BODY = """
s_nop 0
s_branch end
s_cbranch_scc1 end
s_setpc_b64 s[4:5]
s_swappc_b64 s[30:31], s[4:5]
s_call_b64 s[30:31], end
s_endpgm
end: s_endpgm
"""
NOP, BRANCH, CONDITIONAL, SET_PC, SWAP_PC, CALL, END = range(7)
TARGET = 28


@pytest.fixture(params=PROCESSORS)
def decoded(request: pytest.FixtureRequest, assembled: Callable[..., CodeObject]) -> Decoded:
    from postproc.pipeline.transform import view_of

    view = view_of(assembled(request.param, BODY))
    return view.decoded(view.code_object.executable_sections[0])


def of(found: object, count: int = 7) -> list[int]:
    import numpy as np

    return np.flatnonzero(np.asarray(found)[:count]).tolist()


def test_a_call_is_no_branch(decoded: Decoded) -> None:
    assert of(vocabulary.is_branch(decoded)) == [BRANCH, CONDITIONAL, SET_PC]
    assert of(vocabulary.is_call(decoded)) == [SWAP_PC, CALL]
    assert of(vocabulary.is_control_transfer(decoded)) == [
        BRANCH, CONDITIONAL, SET_PC, SWAP_PC, CALL
    ]  # fmt: skip


def test_conditional_or_not(decoded: Decoded) -> None:
    assert of(vocabulary.is_conditional_branch(decoded)) == [CONDITIONAL]
    assert of(vocabulary.is_unconditional_branch(decoded)) == [BRANCH, SET_PC]


def test_only_a_branch_to_a_register_is_indirect(decoded: Decoded) -> None:
    assert of(vocabulary.is_indirect_branch(decoded)) == [SET_PC]


def test_targets_of_branches(decoded: Decoded) -> None:
    targets = [vocabulary.branch_targets(decoded, i) for i in range(7)]
    assert targets == [(), (TARGET,), (TARGET,), (), (), (), ()]


def test_targets_of_calls(decoded: Decoded) -> None:
    targets = [vocabulary.call_targets(decoded, i) for i in range(7)]
    assert targets == [(), (), (), (), (), (TARGET,), ()]


def test_proven_targets_keep_their_order(decoded: Decoded) -> None:
    where = {int(decoded.offset[i]): (8, 4) for i in (SET_PC, SWAP_PC)}
    assert vocabulary.branch_targets(decoded, SET_PC, where) == (8, 4)
    assert vocabulary.branch_targets(decoded, SWAP_PC, where) == ()
    assert vocabulary.call_targets(decoded, SWAP_PC, where) == (8, 4)


def test_adding_a_constant_to_the_program_counter_is_direct(
    assembled: Callable[..., CodeObject],
) -> None:
    from postproc.pipeline.transform import view_of

    view = view_of(assembled("gfx1250", "s_add_pc_i64 4\ns_add_pc_i64 s[4:5]\ns_endpgm"))
    decoded = view.decoded(view.code_object.executable_sections[0])
    assert of(vocabulary.is_indirect_branch(decoded), 3) == [1]
    assert vocabulary.branch_targets(decoded, 0) == (8,)
    assert vocabulary.branch_targets(decoded, 1) == ()
