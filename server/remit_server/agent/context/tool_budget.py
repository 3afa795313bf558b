"""Chooses the tools that are offered to a model, so that they fit its window (AGT-11)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from pydantic import JsonValue

from remit_governance.values import Intent
from remit_server.agent.context.budget import GUESSED_TOKENS_PER_CHAR
from remit_server.models.ports import ToolSpec
from remit_server.models.profile import LARGE, Profile
from remit_server.models.tool_words import shown_parameters, without_words
from remit_server.tools.external.find_tools import FIND_TOOLS
from remit_server.tools.skills.read_skill import READ_SKILL
from remit_server.tools.spec import Follows
from remit_server.tools.table import TOOLS

Intents = Mapping[Intent, tuple[ToolSpec, ...]]

MOST_TOOL_TOKENS = 4_000
_SHARE = 0.2
"""The share of the window that the descriptions of tools may take."""

MOST_OWN_TOKENS = 600
_OWN_SHARE = 0.05
"""The same for the person's own tools. If they need more, a model has to ask for those that it needs."""

MOST_SKILL_TOKENS = 400
"""The same for what is told of skills. If a window has no room for that, skills are left out."""

IF_NAMED = tuple(name for name, tool in TOOLS.items() if tool.if_named)
"""Tools that are offered only if a profile names them. Other models edit exact texts instead."""

LEADS_ON = frozenset(name for name, tool in TOOLS.items() if tool.workflow.strict_only)
"""Tools that are offered only where the workflow is enforced, and that the work cannot proceed without there."""
FOLLOWED = frozenset(name for name, tool in TOOLS.items() if tool.workflow.follows in {Follows.TESTS, Follows.COMMIT})
"""The other tools that the enforced workflow asks for."""

DROPPED_FIRST = tuple(
    name for _, name in sorted((tool.drop_rank, name) for name, tool in TOOLS.items() if tool.drop_rank is not None)
)
"""The tools that are left out for a small window, in the order in which they are left out. The remaining tools read,
write and edit files, and move the workflow on where it is enforced."""


def context_cost(tool: ToolSpec) -> int:
    """Returns roughly how many tokens a tool's description takes."""
    spelled = _shown_chars(json.dumps(dict(tool.parameters)))
    return round((len(tool.name) + len(tool.description) + spelled) * GUESSED_TOKENS_PER_CHAR)


@lru_cache(maxsize=64)
def _shown_chars(parameters: str) -> int:
    """Returns how long a schema is as a model is shown it. Each turn asks for the same tools."""
    return len(json.dumps(shown_parameters(json.loads(parameters))))


def fit_tools(intents: Intents, window: int | None, profile: Profile = LARGE, found: Collection[str] = ()) -> Intents:
    """Returns the tools that a model of this profile with a window of `window` tokens is offered (MOD-21).

    To save room, the descriptions of arguments are left out first, then tools. The same window gives the same offer, so
    that a session's prompt does not change. The person's own tools are offered all if there is room for them, else only
    those that the model has `found`.
    """
    own = _own_tools(intents, window, found, profile)
    built_in = _fit_built_in(_without_tools(intents, tuple(_names(intents) - TOOLS.keys())), window, profile)
    offer = {
        intent: (*built_in.get(intent, ()), *(tool for tool in tools if tool.name in own))
        for intent, tools in intents.items()
    }
    return {intent: tools for intent, tools in offer.items() if tools}


def _own_tools(intents: Intents, window: int | None, found: Collection[str], profile: Profile) -> frozenset[str]:
    """Returns the names of the person's own tools that the model is told of."""
    own = {tool.name: tool for tools in intents.values() for tool in tools if tool.name not in TOOLS}
    room = MOST_OWN_TOKENS if window is None else min(MOST_OWN_TOKENS, int(window * _OWN_SHARE))
    finder, reader = frozenset({FIND_TOOLS} & own.keys()), frozenset({READ_SKILL} & own.keys())
    told = own.keys() - finder - reader
    skills = frozenset(name for name in reader if context_cost(own[name]) <= min(MOST_SKILL_TOKENS, room))
    if sum(context_cost(own[name]) for name in told) <= room:
        return frozenset(told) | skills
    return (frozenset(found) & told) | (frozenset[str]() if profile.tools else finder) | skills


def _fit_built_in(intents: Intents, window: int | None, profile: Profile) -> Intents:
    if profile.tools:
        return _chosen(intents, profile)
    intents = _without_tools(intents, IF_NAMED)
    room = MOST_TOOL_TOKENS if window is None else min(MOST_TOOL_TOKENS, int(window * _SHARE))
    least = _without_tools(_without_words(intents), DROPPED_FIRST)
    return next((offer for offer in _smaller(intents) if _cost(offer) <= room), least)


def _chosen(intents: Intents, profile: Profile) -> Intents:
    """Returns the profile's tools in the profile's order, and those that the workflow needs where it is enforced.

    Leaves out each intent whose tools other intents open too."""
    offered = {tool.name: tool for tools in intents.values() for tool in tools}
    enforced = LEADS_ON | FOLLOWED if LEADS_ON & offered.keys() else frozenset[str]()
    names = [name for name in dict.fromkeys((*profile.tools, *offered)) if name in {*profile.tools, *enforced}]
    left = {
        intent: tuple(_told(offered[name], profile) for name in names if name in {tool.name for tool in tools})
        for intent, tools in intents.items()
    }
    needed: dict[Intent, tuple[ToolSpec, ...]] = {}
    for intent in sorted(left, key=lambda each: -len(left[each])):
        known = {tool.name for tools in needed.values() for tool in tools}
        if {tool.name for tool in left[intent]} - known:
            needed[intent] = left[intent]
    return {intent: needed[intent] for intent in left if intent in needed}


def _told(tool: ToolSpec, profile: Profile) -> ToolSpec:
    """Returns a tool with only the arguments that a model of the profile is told of."""
    properties, required = tool.parameters.get("properties"), tool.parameters.get("required")
    if tool.name not in profile.tools or not isinstance(properties, dict) or not isinstance(required, list):
        return tool
    given = profile.given.get(tool.name, {})
    needed: list[JsonValue] = [name for name in required if name not in given]
    kept = [*needed, *profile.optional.get(tool.name, ())]
    told: dict[str, JsonValue] = {name: part for name, part in properties.items() if name in kept}
    return replace(tool, parameters={**tool.parameters, "properties": told, "required": needed})


def _smaller(intents: Intents) -> Iterator[Intents]:
    yield intents
    bare = _without_words(intents)
    for number in range(len(DROPPED_FIRST)):
        yield _without_tools(bare, DROPPED_FIRST[:number])


def _names(intents: Intents) -> frozenset[str]:
    return frozenset(tool.name for tools in intents.values() for tool in tools)


def _cost(intents: Intents) -> int:
    tools = {tool.name: tool for offered in intents.values() for tool in offered}
    return sum(map(context_cost, tools.values()))


def _without_words(intents: Intents) -> Intents:
    bare = {
        tool.name: replace(tool, parameters=without_words(tool.parameters))
        for offered in intents.values()
        for tool in offered
    }
    return {intent: tuple(bare[tool.name] for tool in offered) for intent, offered in intents.items()}


def _without_tools(intents: Intents, names: tuple[str, ...]) -> Intents:
    left = {intent: tuple(tool for tool in offered if tool.name not in names) for intent, offered in intents.items()}
    return {intent: offered for intent, offered in left.items() if offered}
