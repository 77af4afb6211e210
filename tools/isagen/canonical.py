# SPDX-License-Identifier: Apache-2.0
"""What LLVM's encoder writes into the bits that its decoder ignores.

Decoded encodings are encoded again; their ignored bits, which the decoder cannot have seen, then
hold what the encoder puts there.
"""

from __future__ import annotations

import numpy as np

from .seeds import SEED
from .study import Study
from .target import Target
from .windows import LONGEST, from_int, mask_of, matches, words


def canonical_bits(target: Target, study: Study) -> int:
    """Mask of the ignored bits that the encoder sets.

    Raises ValueError if it cannot be asked, or writes now this, now that.
    """
    ignored = mask_of([b for b in study.ignored if b < study.leaf.size * 8])
    if not ignored:
        return 0
    rng = np.random.default_rng([SEED, study.leaf.order, 3])
    windows = study.bases.copy()
    noise = rng.integers(0, 256, (len(windows), LONGEST), dtype=np.uint8)
    windows[:, :LONGEST] ^= noise & from_int(ignored)
    # some bits are ignored only where an entry that comes first does not look at them
    windows = windows[study.accepts(target.llvm.decode(windows, operands=False))]
    sizes, encoded = target.llvm.reencode(windows)
    same = (sizes >= study.leaf.size) & matches(words(encoded), study.leaf.mask, study.leaf.value)
    written = {int.from_bytes(row.tobytes(), "little") & ignored for row in encoded[same, :LONGEST]}
    if len(written) != 1:
        raise ValueError(
            f"{study.described.name}: LLVM encodes ignored bits as {sorted(map(hex, written))}"
        )
    return written.pop()
