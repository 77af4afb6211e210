# SPDX-License-Identifier: Apache-2.0
"""Does not import."""

import a_module_that_nobody_has  # noqa: F401  # the point of this plugin
