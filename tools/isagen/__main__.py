# SPDX-License-Identifier: Apache-2.0
"""`python tools/isagen`: see `command`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

if __name__ == "__main__":
    # run as a folder, Python does not know that this is a package
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    sys.exit(importlib.import_module("isagen.command").main(sys.argv[1:]))
