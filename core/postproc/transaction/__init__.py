# SPDX-License-Identifier: Apache-2.0
"""The transaction: passes propose, the core disposes.

    Proposal --arbitrate--> Arbitration --place--> Plan --commit--> bytes

Nothing here looks at instructions; placement encodes, the verifier checks.
"""

from __future__ import annotations

from postproc.transaction.arbitration import Arbitration, Decision, RefusedEdit, arbitrate
from postproc.transaction.claims import (
    Claim,
    ClaimMode,
    DescriptorField,
    MetadataField,
    RegisterAt,
    Resource,
    SymbolRef,
    describe_resource,
)
from postproc.transaction.commit import commit
from postproc.transaction.composition import MergedEdit
from postproc.transaction.edits import (
    ANYONE,
    Edit,
    Piece,
    Proposal,
    Site,
    SiteOutcome,
    SiteStatus,
    Snippet,
)
from postproc.transaction.plan import Move, Patch, PlacedEdit, Plan

__all__ = [
    "ANYONE",
    "Arbitration",
    "Claim",
    "ClaimMode",
    "Decision",
    "DescriptorField",
    "Edit",
    "MergedEdit",
    "MetadataField",
    "Move",
    "Patch",
    "Piece",
    "PlacedEdit",
    "Plan",
    "Proposal",
    "RefusedEdit",
    "RegisterAt",
    "Resource",
    "Site",
    "SiteOutcome",
    "SiteStatus",
    "Snippet",
    "SymbolRef",
    "arbitrate",
    "commit",
    "describe_resource",
]
