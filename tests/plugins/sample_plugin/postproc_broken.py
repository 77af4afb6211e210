# SPDX-License-Identifier: Apache-2.0
"""Does not import."""

raise ImportError("a_module_that_nobody_has is missing")
