# SPDX-License-Identifier: Apache-2.0
"""Data flow over graphs of blocks: a solver for sets, one for lattices, and what rests on them.

Everything takes plain arrays: a `postproc_cfg.graph.Graph`, the instructions of each block
(`BlockRanges`), and sets of registers or facts for each instruction (uint64 rows, see `bitsets`).
"""

from __future__ import annotations

from postproc_cfg.dataflow.bank_mode import BankModes, bank_modes, mode_effects
from postproc_cfg.dataflow.exec_state import exec_is_full
from postproc_cfg.dataflow.lattice import (
    UNKNOWN,
    UNREACHED,
    Extreme,
    FlatLattice,
    Lattice,
    LatticeSolution,
    SetLattice,
    solve_lattice,
)
from postproc_cfg.dataflow.liveness import Liveness, killed_registers, liveness
from postproc_cfg.dataflow.low_halves import LowHalves, low_halves
from postproc_cfg.dataflow.must import MustFacts, happened_on_every_path, must_facts
from postproc_cfg.dataflow.ranges import BlockRanges, InstructionFlow
from postproc_cfg.dataflow.reaching import OUTSIDE, ReachingDefinitions, reaching_definitions
from postproc_cfg.dataflow.register_sets import RegisterSets, register_sets
from postproc_cfg.dataflow.registers import RegisterNumbers, register_numbers
from postproc_cfg.dataflow.solver import Solution, solve
from postproc_cfg.dataflow.summaries import Program, Summaries, summarize, with_calls

__all__ = [
    "OUTSIDE",
    "UNKNOWN",
    "UNREACHED",
    "BankModes",
    "BlockRanges",
    "Extreme",
    "FlatLattice",
    "InstructionFlow",
    "Lattice",
    "LatticeSolution",
    "Liveness",
    "LowHalves",
    "MustFacts",
    "Program",
    "ReachingDefinitions",
    "RegisterNumbers",
    "RegisterSets",
    "SetLattice",
    "Solution",
    "Summaries",
    "bank_modes",
    "exec_is_full",
    "happened_on_every_path",
    "killed_registers",
    "liveness",
    "low_halves",
    "mode_effects",
    "must_facts",
    "reaching_definitions",
    "register_numbers",
    "register_sets",
    "solve",
    "solve_lattice",
    "summarize",
    "with_calls",
]
