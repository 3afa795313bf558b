"""Constrains a request to the embedded model: to a skill's next step, or to the sentence that ends the turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from remit_governance.values import Intent
from remit_server.models.embedded.argument_candidates import is_ambiguous, is_certain, narrow_intents
from remit_server.models.embedded.closing_text import AMBIGUOUS, Ending, ending
from remit_server.models.embedded.turns import turn_of
from remit_server.models.limits import limit_property
from remit_server.models.ports import GenerateRequest, Nameable, PathsOnOffer, ToolSpec

Offer = Mapping[Intent, tuple[ToolSpec, ...]]


@dataclass(frozen=True, slots=True)
class Guided:
    """The constrained request, and the turn's ending if the model makes no call."""

    request: GenerateRequest
    ending: Ending


def constrain_request(request: GenerateRequest, nameable: Nameable | None = None) -> Guided | Ending | None:
    """Constrains the request to the possible next calls, or ends the turn where there is none.

    Returns None for a request that is not a step of a turn: one with an answer schema, or one without tools and paths.
    The model may name a path that the conversation names and that is among `nameable`, where these are known.
    """
    if request.answer_schema is not None or not (request.intents or request.paths):
        return None
    messages = request.messages
    said = ending(turn_of(messages))
    offered: Offer = narrow_intents(messages, request.intents)
    if is_ambiguous(messages, None if nameable is None else nameable.files):
        return Ending(AMBIGUOUS)
    if nameable is not None and request.paths is not None:
        offered = _limit_offer(offered, request.paths, nameable.paths)
    if not offered:
        return said
    must_call = request.must_call or is_certain(messages)
    return Guided(replace(request, intents=offered, must_call=must_call), said)


def _limit_offer(offered: Offer, on_offer: PathsOnOffer, paths: tuple[str, ...]) -> Offer:
    """Returns the offer without tools that cannot name one of `paths`."""
    return {
        intent: left
        for intent, tools in offered.items()
        if (left := tuple(each for tool in tools if (each := _limit_tool(tool, on_offer, paths)) is not None))
    }


def _limit_tool(tool: ToolSpec, on_offer: PathsOnOffer, paths: tuple[str, ...]) -> ToolSpec | None:
    argument = on_offer.arguments.get(tool.name)
    if argument is None:
        return tool
    schema = limit_property(tool.parameters, argument, paths)
    return None if schema is None else replace(tool, parameters=schema)
