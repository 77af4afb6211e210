# SPDX-License-Identifier: Apache-2.0
"""A whole plugin: delay hints go away, and what they spoke of must stay as it is."""

import msgspec

from postproc import hookimpl
from postproc.codeobject import TextRange
from postproc.passes import PassContext
from postproc.transaction import Claim, ClaimMode, Edit, Proposal, Snippet


class Config(msgspec.Struct, frozen=True):
    fail: bool = False
    required: bool = False


@hookimpl
def postproc_config_schema() -> type[msgspec.Struct]:
    return Config


@hookimpl
def postproc_prepare(context: PassContext) -> Proposal:
    edits = []
    for section in context.code_object.executable_sections:
        decoded = context.decoded(section)
        for index in decoded.where(context.isa.match("s_delay_alu")):
            delay, after = decoded[index], decoded[index + 1]
            if context.config.fail:
                raise ZeroDivisionError("the sample was told to fail")
            window = TextRange(section.index, delay.offset, after.offset)
            target = TextRange(section.index, after.offset, after.offset + after.size)
            claim = Claim(context.owner, target, ClaimMode.READ, True, "what the delay was for")
            site = context.site(section, delay, "no-delay")
            required = context.config.required
            edit = Edit(site=site, window=window, snippet=Snippet("s_nop 0"), claims=(claim,),
                        required=required, reason="a hint only")  # fmt: skip
            edits.append(edit)
    return Proposal(edits)
