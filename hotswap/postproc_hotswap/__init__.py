# SPDX-License-Identifier: Apache-2.0
"""HotSwap: gfx1250 code objects built for stepping B0, rewritten so that stepping A0 runs them.

`defects` is the table of what A0 lacks or gets wrong, `detection` finds it in decoded text, each
module of `rules` says what becomes of one kind of site, and `b0_to_a0` is the pass.
"""

from __future__ import annotations
