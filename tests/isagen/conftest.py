# SPDX-License-Identifier: Apache-2.0
"""What the tests of the table generator share.

Tests marked `needs_llvm_dev` build the generator's C++ shim.  They are skipped where llvm-22-dev or
a compiler is missing.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # `tools` is no installed package

MARKER = "needs_llvm_dev: builds the generator's shim; skipped where llvm-22-dev is missing"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


def pytest_runtest_setup(item: pytest.Item) -> None:
    from tools.isagen.build import missing_tools

    if item.get_closest_marker("needs_llvm_dev") is None:
        return
    if missing := missing_tools():
        pytest.skip(f"needs {', '.join(missing)}: apt-get install llvm-22-dev g++")
