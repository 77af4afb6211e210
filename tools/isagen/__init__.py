# SPDX-License-Identifier: Apache-2.0
"""Generates the instruction tables by asking LLVM's MC layer; for maintainers only."""
