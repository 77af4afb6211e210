# SPDX-License-Identifier: Apache-2.0
"""The hooks of the plugin `hotswap`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from postproc import __version__, hookimpl
from postproc.passes import PluginInfo
from postproc_hotswap.config import Config

if TYPE_CHECKING:
    import msgspec

    from postproc.passes import PassRegistry, VerifyContext
    from postproc.report.document import FileReport

__all__ = [
    "postproc_config_schema",
    "postproc_plugin_info",
    "postproc_register_passes",
    "postproc_report",
    "postproc_verify",
]


@hookimpl
def postproc_plugin_info() -> PluginInfo:
    """Present the plugin."""
    about = "rewrites gfx1250 code objects of stepping B0 for stepping A0"
    return PluginInfo("hotswap", __version__, api=(1, 0), description=about)


@hookimpl
def postproc_config_schema() -> type[msgspec.Struct]:
    """The `[plugin.hotswap]` table."""
    return Config


@hookimpl
def postproc_register_passes(registry: PassRegistry) -> None:
    """Register the one pass."""
    from postproc_hotswap.b0_to_a0 import B0ToA0

    registry.add(B0ToA0())


@hookimpl
def postproc_verify(context: VerifyContext) -> Iterator[str]:
    """Nothing that the configuration has rewritten may be left in the output."""
    from postproc_hotswap.detection import detect
    from postproc_hotswap.stepping import decide

    if decide(context.original, context.config).action != "rewrite":
        return
    produced = context.produced
    for section in produced.executable_sections:
        starts = produced.symbol_offsets(section)
        decoded = context.isa.decode(produced.code(section), starts)
        for index, defect in detect(decoded, context.config):
            always = getattr(context.config, defect.policy) in ("rewrite", "refuse", "all")
            if always and defect.rule != "backward-add-pc":
                place = f"{section.name}+0x{int(decoded.offset[index]):x}"
                yield f"{decoded[index].mnemonic} at {place} is left, although {defect.reason}"


@hookimpl
def postproc_report(report: FileReport) -> dict[str, Any] | None:
    """Why code objects of other targets were left alone, by name."""
    from postproc_hotswap.stepping import untouched_target

    notes = {}
    for item in report.code_objects:
        note = untouched_target(_processor(item.target))
        if note is not None:
            notes[item.name] = note
    return {"notes": notes} if notes else None


def _processor(target: str) -> str:
    """`gfx942` of `amdgcn-amd-amdhsa--gfx942:sramecc+`."""
    return target.partition("--")[2].partition(":")[0]
