# SPDX-License-Identifier: Apache-2.0
"""Wants other code where the sample plugin puts its own; both cannot have it."""

from postproc import hookimpl
from postproc.codeobject import TextRange
from postproc.passes import PassContext, PassRegistry, PluginInfo
from postproc.transaction import Edit, Proposal, Snippet


class Rival:
    name = "rivalry"

    def prepare(self, context: PassContext) -> Proposal:
        edits = []
        for section in context.code_object.executable_sections:
            decoded = context.decoded(section)
            for index in decoded.where(context.isa.match("s_delay_alu")):
                delay = decoded[index]
                window = TextRange(section.index, delay.offset, delay.offset + delay.size)
                site = context.site(section, delay, "longer-nop")
                snippet = Snippet("s_nop 1")
                edits.append(Edit(site=site, window=window, snippet=snippet, required=False))
        return Proposal(edits)


@hookimpl
def postproc_plugin_info() -> PluginInfo:
    return PluginInfo("rival", "0.5", api=(1, 0), description="competes with sample")


@hookimpl
def postproc_register_passes(registry: PassRegistry) -> None:
    registry.add(Rival())
