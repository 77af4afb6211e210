# SPDX-License-Identifier: Apache-2.0
"""What hooks may return.

A slip in a plugin is found here, where the plugin can be named, and not where the core stumbles
over it later.  Every check answers with the problem in words, after "returned"; None if there is
none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from postproc.passes import PluginInfo

__all__ = ["problem_of", "problem_of_proposal"]


def problem_of(hook: str, result: object) -> str | None:
    """What is wrong with the result of `hook`, which is not None."""
    check = _CHECKS.get(hook)
    return None if check is None else check(result)


def problem_of_proposal(result: object, plugin: str) -> str | None:
    """What is wrong with what a pass of `plugin` proposes."""
    from postproc.transaction import Claim, Edit, Proposal, SiteOutcome

    if not isinstance(result, Proposal):
        return f"{_kind(result)}, not a Proposal"
    parts: Mapping[str, tuple[Iterable[object], type]] = {
        "edits": (result.edits, Edit),
        "outcomes": (result.outcomes, SiteOutcome),
        "claims": (result.claims, Claim),
        "warnings": (result.warnings, str),
    }
    for name, (items, kind) in parts.items():
        for item in items:
            if not isinstance(item, kind):
                return f"a Proposal whose {name} hold {_kind(item)}, not {kind.__name__}"
    sites = [*(edit.site for edit in result.edits), *(o.site for o in result.outcomes)]
    claims = [*result.claims, *(claim for edit in result.edits for claim in edit.claims)]
    problems = (*map(_problem_of_site, sites), *map(_problem_of_claim, claims))
    found = next((problem for problem in problems if problem is not None), None)
    if found is not None:
        return f"a Proposal with {found}"
    owners = {*(site.owner for site in sites), *(claim.owner for claim in claims)} - {plugin}
    return f"a Proposal in the name of {min(owners)!r}" if owners else None


def _problem_of_site(site: object) -> str | None:
    from postproc.codeobject import TextPosition
    from postproc.transaction import Site

    if not isinstance(site, Site) or not isinstance(site.position, TextPosition):
        return f"the site {site!r}"
    words = (site.owner, site.rule, site.mnemonic, site.symbol)
    return None if all(isinstance(word, str) for word in words) else f"the site {site!r}"


def _problem_of_claim(claim: object) -> str | None:
    from postproc.transaction import Claim, ClaimMode, Resource

    if not isinstance(claim, Claim):
        return f"{_kind(claim)} among the claims of an edit"
    resource: object = claim.resource
    mode: object = claim.mode
    right = isinstance(resource, Resource) and isinstance(mode, ClaimMode)
    return None if right else f"the claim {claim!r}"


def _info(result: object) -> str | None:
    from postproc.passes import PluginInfo

    if not isinstance(result, PluginInfo):
        return f"{_kind(result)}, not a PluginInfo"
    if not _is_api(result):
        return f"a PluginInfo whose api is {result.api!r}, not (major, minor)"
    requires: object = result.requires
    if not isinstance(requires, tuple) or not all(isinstance(name, str) for name in requires):
        return f"a PluginInfo that requires {requires!r}, not a tuple of names"
    words = (result.name, result.version, result.description)
    right = all(isinstance(word, str) for word in words)
    return None if right else f"a PluginInfo with something that is no text: {words}"


def _is_api(info: PluginInfo) -> bool:
    api: object = info.api
    return isinstance(api, tuple) and len(api) == 2 and all(isinstance(n, int) for n in api)


def _schema(result: object) -> str | None:
    import msgspec

    if not isinstance(result, type) or not issubclass(result, msgspec.Struct):
        return f"{_kind(result)}, not a msgspec.Struct class"
    try:
        msgspec.inspect.type_info(result)
    except (NameError, TypeError, ValueError) as error:
        return f"a schema that cannot be understood: {error}"
    return None


def _facts(result: object) -> str | None:
    from postproc.codeobject import TextPosition
    from postproc.passes import ControlFlowFact

    if not isinstance(result, Iterable) or isinstance(result, str):
        return f"{_kind(result)}, not control-flow facts"
    for fact in result:
        if not isinstance(fact, ControlFlowFact):
            return f"{_kind(fact)} among control-flow facts"
        tuples = all(isinstance(part, tuple) for part in (fact.targets, fact.evidence))
        if not tuples or not all(
            isinstance(p, TextPosition) for p in (fact.position, *fact.targets)
        ):
            return f"the fact {fact!r}: position and targets (a tuple) are TextPosition"
    return None


def _problems(result: object) -> str | None:
    if not isinstance(result, Iterable) or isinstance(result, str):
        return f"{_kind(result)}, not a list of problems"
    wrong = [item for item in result if not isinstance(item, str)]
    return f"{_kind(wrong[0])} among problems, which are text" if wrong else None


def _contribution(result: object) -> str | None:
    import msgspec

    if not isinstance(result, Mapping):
        return f"{_kind(result)}, not a mapping"
    try:
        msgspec.json.encode(dict(result))
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        return f"a mapping that JSON cannot hold: {error}"
    return None


def _container(result: object) -> str | None:
    from postproc.codeobject import CodeObject
    from postproc.containers import Container

    if not isinstance(result, Container):
        return f"{_kind(result)}, not a Container"
    if not all(isinstance(item, CodeObject) for item in result.code_objects):
        return "a Container whose code_objects are none"
    return None


def _kind(value: object) -> str:
    return type(value).__name__


_CHECKS: Mapping[str, Callable[[Any], str | None]] = {
    "postproc_plugin_info": _info,
    "postproc_config_schema": _schema,
    "postproc_recover": _facts,
    "postproc_verify": _problems,
    "postproc_report": _contribution,
    "postproc_open_container": _container,
}
"""`postproc_prepare` is checked with the passes, whose proposals are the same; the others return
nothing."""
