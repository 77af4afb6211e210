# SPDX-License-Identifier: Apache-2.0
"""postproc: rewrites finished AMDGPU code objects after they were linked.

A plugin starts here::

    from postproc import hookimpl

`hookimpl` marks the functions that implement a hook of `postproc.hookspecs`.  Everything is
imported on first use, so that `import postproc` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

PLUGIN_API = (1, 0)
"""(major, minor) of the plugin interface.

A plugin built for another major is not loaded.  The minor grows when a hook, or a last argument of
a hook, is added; a plugin that needs a newer minor than this one is not loaded either.
"""

PROJECT = "postproc"
"""pluggy's project name, and the name of the entry point group."""

if TYPE_CHECKING:
    import pluggy

    hookimpl = pluggy.HookimplMarker(PROJECT)
    hookspec = pluggy.HookspecMarker(PROJECT)

__all__ = ["PLUGIN_API", "PROJECT", "__version__", "hookimpl", "hookspec"]


def __getattr__(name: str) -> object:
    if name not in ("hookimpl", "hookspec"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import pluggy

    marker: object
    if name == "hookimpl":
        marker = pluggy.HookimplMarker(PROJECT)
    else:
        marker = pluggy.HookspecMarker(PROJECT)
    globals()[name] = marker
    return marker
