"""Constrains a request to the embedded model: to a skill's next step, or to the sentence that ends the turn."""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import assert_never

from remit_governance.values import Intent
from remit_server.models.embedded.argument_candidates import is_ambiguous, is_certain, narrow_intents
from remit_server.models.embedded.closing_text import AMBIGUOUS, DECLINED, UNCHANGED, Ending, ending
from remit_server.models.embedded.patterns import MADE_UP
from remit_server.models.embedded.route_answers import HELP, answer, answer_edit, files_found
from remit_server.models.embedded.route_edits import NoPlace, lines_of, plan_edit
from remit_server.models.embedded.routes import Edited, Help, Missing, Routed, route
from remit_server.models.embedded.sentences import says
from remit_server.models.embedded.turns import Turn, turn_of
from remit_server.models.limits import limit_property
from remit_server.models.ports import GenerateRequest, Nameable, PathsOnOffer, ProposedCall, ToolSpec

Offer = Mapping[Intent, tuple[ToolSpec, ...]]


@dataclass(frozen=True, slots=True)
class Guided:
    """The constrained request, and the turn's ending if the model makes no call."""

    request: GenerateRequest
    ending: Ending


def by_rule(turn: Turn, request: GenerateRequest, files: AbstractSet[str]) -> Routed | Ending | None:
    """Returns what a rule makes of the sentence: its next call, what is answered after it, or a question for what is
    missing; None where no rule takes it, or its tool is not offered."""
    return _follow(turn.request.text, turn, request, files if turn.call is None else _before(turn.call, files))


def _is_concrete(turn: Turn, nameable: Nameable | None) -> bool:
    """Whether a sentence names a file, a line or a name of code: the network takes any other for one of its skills."""
    request = turn.request
    named = [path.removeprefix("./") for path in request.paths]
    there = bool(named) if nameable is None else any(path in nameable.files for path in named)
    return there or request.line or says("defined", request.bare) or any(map(MADE_UP.search, request.words))


def _follow(text: str, turn: Turn, request: GenerateRequest, files: AbstractSet[str]) -> Routed | Ending | None:
    found = route(text, files)
    match found:
        case Help():
            return Ending(HELP, done=True)
        case Missing(question=question):
            return _seek(found, text, turn, request, files) if found.sought else Ending(question)
        case Edited():
            return _edit_line(found, turn, request)
        case Routed() if turn.call is not None:
            made = turn.call.name == found.tool and dict(turn.call.arguments) == dict(found.arguments)
            return answer(found, turn.result) if made else None
        case Routed():
            return found if _is_offered(found, request) else None
        case None:
            return None
        case _:
            assert_never(found)


def _edit_line(edited: Edited, turn: Turn, request: GenerateRequest) -> Routed | Ending | None:
    """Returns the next of its two calls, the read and the edit, or what is answered after the second."""
    read = Routed(Intent.ANALYZE, "read_file", {"path": edited.path})
    match turn.call:
        case None:
            return read if _is_offered(read, request) else None
        case ProposedCall(name="edit_file"):
            return answer_edit(edited.edit, turn.result)
        case _ if turn.refused:
            return answer(read, turn.result)
        case _:
            pass
    try:
        step = Routed(Intent.CODE, "edit_file", plan_edit(edited.path, edited.edit, lines_of(turn.result)))
    except NoPlace as why:
        return Ending(f"{UNCHANGED} {str(why)[:1].upper()}{str(why)[1:]}.")
    return step if _is_offered(step, request) else Ending(UNCHANGED)


def _seek(
    missing: Missing, text: str, turn: Turn, request: GenerateRequest, files: AbstractSet[str]
) -> Routed | Ending | None:
    """Looks for the one file that a sentence leaves out, by what is to be changed in it; then goes on as if it were
    named."""
    look = Routed(Intent.ANALYZE, "search_files", {"pattern": re.escape(missing.sought), "context_lines": 0})
    if turn.call is None:
        return look if _is_offered(look, request) else Ending(missing.question)
    if turn.call.name != look.tool:
        path = str(turn.call.arguments.get("path"))
        return _follow(f"{text} in {path}", turn, request, files) if path in files else None
    if turn.refused:
        return answer(look, turn.result)
    places = files_found(turn.result)
    if len(places) != 1:
        where = (
            f"{missing.sought} is in {' and '.join(places[:4])}. "
            if places
            else f"I stopped: {missing.sought} is in no file. "
        )
        return Ending(f"{where}{missing.question}" if places else where.strip())
    return _follow(f"{text} in {places[0]}", replace(turn, call=None), request, files)


def _is_offered(step: Routed, request: GenerateRequest) -> bool:
    return any(tool.name == step.tool for tool in request.intents.get(step.intent, ()))


def _before(call: ProposedCall, files: AbstractSet[str]) -> AbstractSet[str]:
    """The files as they were before a call that may have made, moved or removed one."""
    path, new_path = str(call.arguments.get("path")), str(call.arguments.get("new_path"))
    match call.name:
        case "write_file":
            return files - {path}
        case "delete_file":
            return files | {path}
        case "move_file":
            return (files - {new_path}) | {path}
        case _:
            return files


def constrain_request(request: GenerateRequest, nameable: Nameable | None = None) -> Guided | Ending | Routed | None:
    """Takes the request by a rule, or constrains it to the possible next calls, or ends the turn where there is none.

    Returns None for a request that is not a step of a turn: one with an answer schema, or one without tools and paths.
    The model may name a path that the conversation names and that is among `nameable`, where these are known.
    """
    if request.answer_schema is not None or not (request.intents or request.paths):
        return None
    messages = request.messages
    turn = turn_of(messages)
    if (known := by_rule(turn, request, frozenset() if nameable is None else nameable.files)) is not None:
        return known
    if turn.call is None and not _is_concrete(turn, nameable):
        return Ending(DECLINED)
    said = ending(turn)
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
