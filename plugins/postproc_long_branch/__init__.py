# SPDX-License-Identifier: Apache-2.0
"""Recovery of long branches, computed calls and returns, and `postproc cfg`, which shows them."""
