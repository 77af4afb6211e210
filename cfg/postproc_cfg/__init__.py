# SPDX-License-Identifier: Apache-2.0
"""Control flow of code objects, as far as proofs need it.

So far only straight lines: see `postproc_cfg.straight_line`.
"""

from __future__ import annotations

from postproc_cfg.straight_line import StraightLines, TextFlow, constant_jump, text_flow

__all__ = ["StraightLines", "TextFlow", "constant_jump", "text_flow"]
