# SPDX-License-Identifier: Apache-2.0
"""Claims: what a pass needs of the original object for its decision to be right.

A claim is (owner, resource, mode, required, reason).  Two claims of different owners on the same
resource are *compatible* by this table; everything else is for the arbiter to compose or refuse.

    ========  ====  ===  ====  =======
              READ  PIN  MOVE  REPLACE
    READ      yes   yes  yes   no
    PIN       yes   yes  no    no
    MOVE      yes   no   no    no
    REPLACE   no    no   no    no
    ========  ====  ===  ====  =======

READ survives MOVE: an instruction that is relocated whole keeps its value.  MOVE against MOVE or
REPLACE is not hopeless: edits that keep an original can nest, see `postproc.transaction.edits`.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from postproc.codeobject import TextPosition, TextRange

__all__ = [
    "Claim",
    "ClaimMode",
    "DescriptorField",
    "MetadataField",
    "RegisterAt",
    "Resource",
    "SymbolRef",
    "compatible",
    "describe_resource",
]


@final
class ClaimMode(enum.Enum):
    """What the owner of a claim needs of the resource."""

    READ = "read"
    """It must keep its value."""
    PIN = "pin"
    """It must keep its value and its place."""
    MOVE = "move"
    """It may be relocated whole; the owner does so."""
    REPLACE = "replace"
    """The owner writes it."""

    @property
    def writes(self) -> bool:
        """Whether the owner changes the resource or its place."""
        return self in (ClaimMode.MOVE, ClaimMode.REPLACE)


@final
@dataclass(frozen=True, slots=True)
class RegisterAt:
    """One register (`s4`, `v0`, `scc`, `vcc_lo`) just before the instruction at `position`."""

    position: TextPosition
    register: str


@final
@dataclass(frozen=True, slots=True)
class MetadataField:
    """One key of a kernel's msgpack metadata, such as `.sgpr_count`."""

    kernel: str
    key: str


@final
@dataclass(frozen=True, slots=True)
class DescriptorField:
    """One field of a kernel's 64-byte descriptor, named as `KernelDescriptor` names it."""

    kernel: str
    name: str


@final
@dataclass(frozen=True, slots=True)
class SymbolRef:
    """A symbol: its name, value and size."""

    name: str


Resource = TextRange | RegisterAt | MetadataField | DescriptorField | SymbolRef


@final
@dataclass(frozen=True, slots=True)
class Claim:
    """`owner` needs `resource` in `mode`, because of `reason`.

    `required`: whether the owner's decision falls with the claim.  A claim that is not required is
    a wish: it is *waived* (and the report says so) when somebody else writes the resource.
    """

    owner: str
    resource: Resource
    mode: ClaimMode
    required: bool
    reason: str


_COMPATIBLE: Mapping[ClaimMode, frozenset[ClaimMode]] = {
    ClaimMode.READ: frozenset({ClaimMode.READ, ClaimMode.PIN, ClaimMode.MOVE}),
    ClaimMode.PIN: frozenset({ClaimMode.READ, ClaimMode.PIN}),
    ClaimMode.MOVE: frozenset({ClaimMode.READ}),
    ClaimMode.REPLACE: frozenset(),
}


def compatible(one: ClaimMode, other: ClaimMode) -> bool:
    """Whether two claims on one resource can both hold (the table above; symmetric)."""
    return other in _COMPATIBLE[one]


def describe_resource(resource: Resource) -> str:
    """The resource in words, for messages and reports."""
    if isinstance(resource, TextRange):
        return f"bytes 0x{resource.start:x}..0x{resource.end:x} of section {resource.section}"
    if isinstance(resource, RegisterAt):
        at = resource.position
        return f"register {resource.register} at 0x{at.offset:x} of section {at.section}"
    if isinstance(resource, MetadataField):
        return f"metadata field {resource.key} of kernel {resource.kernel}"
    if isinstance(resource, DescriptorField):
        return f"descriptor field {resource.name} of kernel {resource.kernel}"
    return f"symbol {resource.name}"


def resource_key(resource: Resource) -> tuple[str, int, int, int, str, str]:
    """A total order on resources, so that no result depends on the order of arrival."""
    if isinstance(resource, TextRange):
        return ("text", resource.section, resource.start, resource.end, "", "")
    if isinstance(resource, RegisterAt):
        at = resource.position
        return ("register", at.section, at.offset, 0, resource.register, "")
    if isinstance(resource, MetadataField):
        return ("metadata", 0, 0, 0, resource.kernel, resource.key)
    if isinstance(resource, DescriptorField):
        return ("descriptor", 0, 0, 0, resource.kernel, resource.name)
    return ("symbol", 0, 0, 0, resource.name, "")
