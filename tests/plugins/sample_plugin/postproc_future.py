# SPDX-License-Identifier: Apache-2.0
"""Was made for a plugin interface that does not exist yet."""

from postproc import hookimpl
from postproc.passes import PluginInfo


@hookimpl
def postproc_plugin_info() -> PluginInfo:
    return PluginInfo("future", "9.0", api=(2, 0))
