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


def canonical_bits(target: Target, study: Study) -> int | None:
    """Mask of the ignored bits that the encoder sets; None if it encodes none of the encodings as
    an instance of the leaf (it may choose another number of address registers for an image).

    Raises ValueError if it writes now this, now that.
    """
    ignored = mask_of([b for b in study.ignored if b < study.leaf.size * 8])
    if not ignored:
        return 0
    written: set[int] = set()
    for windows in (study.bases, study.seeds):
        written = written or _written(target, study, windows, ignored)
    if len(written) > 1:
        raise ValueError(
            f"{study.described.name}: LLVM encodes ignored bits as {sorted(map(hex, written))}"
        )
    return next(iter(written), None)


def _written(target: Target, study: Study, windows: np.ndarray, ignored: int) -> set[int]:
    """What the encoder writes into the ignored bits, which held noise."""
    rng = np.random.default_rng([SEED, study.leaf.order, 3])
    windows = windows.copy()
    noise = rng.integers(0, 256, (len(windows), LONGEST), dtype=np.uint8)
    windows[:, :LONGEST] ^= noise & from_int(ignored)
    # some bits are ignored only where an entry that comes first does not look at them
    windows = windows[study.accepts(target.llvm.decode(windows, operands=False))]
    sizes, encoded = target.llvm.reencode(windows)
    same = (sizes >= study.leaf.size) & matches(words(encoded), study.leaf.mask, study.leaf.value)
    return {int.from_bytes(row.tobytes(), "little") & ignored for row in encoded[same, :LONGEST]}
