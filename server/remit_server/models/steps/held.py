"""A step in one request, held by a schema (MOD-12). The conversation is sent with calls and results spelled as text, so
that the model reads the form that it has to write, and the step is read while it is generated.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Literal, cast

from pydantic import JsonValue
from pydantic_core import from_json

from remit_governance.intents import SELECT_INTENT
from remit_governance.secrets.cutting import shorten
from remit_governance.values import Intent
from remit_server.errors import ModelFailed
from remit_server.models.ports import (
    UNREADABLE_CALL,
    AssistantMessage,
    CallProposed,
    EndReason,
    Finished,
    GenerateRequest,
    Message,
    ModelEvent,
    Nameable,
    ProposedCall,
    SystemMessage,
    TextDelta,
    ToolMessage,
    UserMessage,
    new_call_id,
)
from remit_server.models.profile import Profile
from remit_server.models.steps.schema import MOST_PATHS, NAMED, Form, nested_tools, step_schema
from remit_server.models.steps.telling import FORMS, standing_messages


def held_request(
    request: GenerateRequest,
    messages: Sequence[Message],
    profile: Profile,
    nameable: Nameable | None,
    most_paths: int = MOST_PATHS,
) -> GenerateRequest:
    """Returns the request for one JSON value, which is a step; `messages` are those of the conversation, as they may be
    sent. `read_step` reads the answer. If there are more than `most_paths` paths, any path may be spelled.
    """
    form = FORMS[profile.telling]
    first = messages[0] if messages else None
    system = first.text if isinstance(first, SystemMessage) else ""
    standing = standing_messages(profile, system, request.intents)
    return replace(
        request,
        messages=spell_conversation(messages, standing, form, nested_tools(request.intents)),
        intents={},
        paths=None,
        answer_schema=step_schema(request, form, nameable, most_paths),
    )


def fit(request: GenerateRequest, profile: Profile) -> GenerateRequest:
    """Returns the request with at most the profile's tokens, and with its temperature if nobody set one."""
    return replace(
        request,
        max_tokens=min(request.max_tokens, profile.most_tokens or request.max_tokens),
        temperature=profile.temperature if request.temperature is None else request.temperature,
    )


_RESULT = "Result of "


def spell_conversation(
    messages: Sequence[Message], standing: Sequence[Message], form: Form, nested: frozenset[str] = frozenset()
) -> tuple[Message, ...]:
    """Returns the conversation as it is sent: the `standing` messages in place of the system message, steps as JSON,
    results in the person's turn. The arguments of `nested` tools stand in an object of their own."""
    spelled: list[Message] = []
    begun = messages[1:] if messages and isinstance(messages[0], SystemMessage) else messages
    for message in _one_by_one((*standing, *begun)) if form is Form.TOOL_FIRST else (*standing, *begun):
        match message:
            case SystemMessage():
                spelled.append(message)
            case AssistantMessage():
                spelled.append(AssistantMessage(spell_step(message, form, nested)))
            case ToolMessage(tool=tool, text=text):
                # If a step has one call, the result can only be that call's.
                of = "Result" if form is Form.TOOL_FIRST else f"{_RESULT}{tool}"
                _say(spelled, f"{of}:\n{text}")
            case UserMessage(text=text):
                spelled.append(message)
    return tuple(spelled)


def _say(spelled: list[Message], result: str) -> None:
    """Adds a result, to the message of the results right before it if there are any."""
    before = spelled[-1] if spelled else None
    if isinstance(before, UserMessage) and before.text.startswith("Result"):
        spelled[-1] = UserMessage(f"{before.text}\n\n{result}")
    else:
        spelled.append(UserMessage(result))


def _one_by_one(messages: Sequence[Message]) -> Iterator[Message]:
    """Yields each call with its result as a step of its own. A declaration's result is kept only if it says more than
    that the declaration was accepted: a refusal, or a work item's limits."""
    position = 0
    while position < len(messages):
        message = messages[position]
        position += 1
        if not (isinstance(message, AssistantMessage) and message.calls):
            yield message
            continue
        results: dict[str, ToolMessage] = {}
        while position < len(messages) and isinstance(answer := messages[position], ToolMessage):
            results[answer.call_id] = answer
            position += 1
        yield from _steps(message.calls, results)


def _steps(calls: Sequence[ProposedCall], results: Mapping[str, ToolMessage]) -> Iterator[Message]:
    declared: ProposedCall | None = None
    for call in calls:
        result = results.get(call.id)
        if call.name == SELECT_INTENT:
            declared = call
            if len(calls) > 1 and not (result and _tells_more(call, result)):
                continue
        named = () if declared is None or declared is call else (declared,)
        yield AssistantMessage("", (*named, call))
        if result is not None:
            yield result


def _tells_more(declared: ProposedCall, result: ToolMessage) -> bool:
    return declared.arguments.get("work_item") is not None or result.text.startswith("error")


def spell_step(message: AssistantMessage, form: Form, nested: frozenset[str] = frozenset()) -> str:
    """Returns a step as the model would have written it."""
    if not message.calls:
        return _json({"answer": message.text})
    none: Mapping[str, JsonValue] = {}
    declared = next((call.arguments for call in message.calls if call.name == SELECT_INTENT), none)
    intent = declared.get("intent")
    item: dict[str, JsonValue] = {"work_item": named} if (named := declared.get("work_item")) is not None else {}
    calls = [call for call in message.calls if call.name != SELECT_INTENT]
    if form is Form.TOOL_FIRST and len(calls) == 1:
        given = dict(calls[0].arguments)
        apart = calls[0].name in nested or not (NAMED | {calls[0].name}).isdisjoint(given)
        return _json({calls[0].name: intent, **item, **({"arguments": given} if apart else given)})
    listed: list[JsonValue] = [{"tool": call.name, "arguments": dict(call.arguments)} for call in calls]
    return _json({"intent": intent, **item, "calls": listed})


def _json(value: JsonValue) -> str:
    """Returns JSON without white space, which costs tokens; a model that may write some can also go on writing it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_ENDED: Mapping[EndReason, str] = {
    "length": "it was cut off at the token limit of a step; write less at once",
    "alike": "it only went on repeating itself",
}


_MOST_BEFORE = 200
"""How many characters may stand before an answer's text; if there are more, the text is passed on only at the end."""
_ANSWER = re.compile(r'"answer"\s*:\s*"')
_CHARACTERS = re.compile(
    r'[^"\\\x00-\x1f\ud800-\udfff]+|\\["\\/bfnrt]|\\u(?![Dd][89A-Fa-f])[0-9A-Fa-f]{4}'
    r"|\\u[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2}"
)
"""Matches complete characters of a JSON string; of a surrogate pair, both escapes have to be there."""
_LONGEST_CHARACTER = 12


async def read_step(steps: AsyncGenerator[ModelEvent]) -> AsyncGenerator[ModelEvent]:
    """Reads a step that comes as one JSON value."""
    reader = StepReader()
    async with aclosing(steps) as events:
        async for event in events:
            match event:
                case TextDelta(text=text):
                    for delta in reader.feed(text):
                        yield delta
                case Finished(reason=reason):
                    for read in reader.finish(reason):
                        yield read
                    yield event
                case _:
                    yield event


@dataclass(slots=True)
class StepReader:
    """Reads a step in either form: the answer's text while it arrives, calls when the step is complete.

    Each character is read once when it arrives and once at the end, however many pieces there are.
    """

    shown: int = 0
    _pieces: list[str] = field(default_factory=list[str])
    _reading: Literal["before", "answer", "no more"] = "before"
    _held: str = ""

    def feed(self, more: str) -> Iterator[TextDelta]:
        """Yields the next part of the answer's text."""
        self._pieces.append(more)
        if self._reading == "no more":
            return
        self._held += more
        if self._reading == "before":
            self._find_text()
        if self._reading == "answer" and (text := self._take_text()):
            self.shown += len(text)
            yield TextDelta(text)

    def _find_text(self) -> None:
        """Looks for the quote that opens the answer's text, and goes on after it."""
        self._held = self._held.lstrip()
        beginning = self._held[:_MOST_BEFORE]
        for found in _ANSWER.finditer(beginning):
            try:
                value = cast("JsonValue", from_json(beginning[: found.end()], allow_partial="trailing-strings"))
            except ValueError:
                continue
            if isinstance(value, dict) and value.get("answer") == "":
                self._reading, self._held = "answer", self._held[found.end() :]
                return
        if len(self._held) > _MOST_BEFORE:
            self._reading, self._held = "no more", ""

    def _take_text(self) -> str:
        """Returns the certain part of the text; stops reading if the text ends or is no longer JSON."""
        end = 0
        while found := _CHARACTERS.match(self._held, end):
            end = found.end()
        certain, self._held = self._held[:end], self._held[end:]
        if self._held.startswith('"') or len(self._held) >= _LONGEST_CHARACTER:
            self._reading, self._held = "no more", ""
        return cast("str", from_json(f'"{certain}"'))

    def finish(self, ended: EndReason) -> Iterator[TextDelta | CallProposed]:
        """Yields the rest, or why a call was cut off. Raises ModelFailed if the text is no step."""
        whole = "".join(self._pieces)
        try:
            value = cast("JsonValue", from_json(whole))
        except ValueError as error:
            if ended not in _ENDED:
                raise _no_step(whole) from error
            if not self.shown:
                yield CallProposed(ProposedCall(new_call_id(), UNREADABLE_CALL, {"why": _ENDED[ended]}))
            return
        match value:
            case {"answer": str(answer)}:
                if len(answer) > self.shown:
                    yield TextDelta(answer[self.shown :])
            case dict() if value and ended in _ENDED:  # the JSON was closed early, so its texts are cut off
                yield CallProposed(ProposedCall(new_call_id(), UNREADABLE_CALL, {"why": _ENDED[ended]}))
            case {"intent": str(intent), "calls": [*calls], **more}:
                yield _declared(intent, more.get("work_item"))
                yield from map(CallProposed, map(_call, calls))
            case dict():
                yield from _one_call(value, whole)
            case _:
                raise _no_step(whole)


_INTENTS = frozenset(intent.value for intent in Intent)


def _one_call(step: dict[str, JsonValue], whole: str) -> Iterator[CallProposed]:
    """Yields the declaration and the call of a step that names a tool first; the arguments stand beside the tool, or in
    an object of their own."""
    tool = next(iter(step), "")
    intent, item, beside = step.pop(tool, None), step.pop("work_item", None), step
    if tool in NAMED or not isinstance(intent, str) or intent not in _INTENTS:
        raise _no_step(whole)
    yield _declared(intent, item)
    apart = beside.get("arguments")
    given = apart if beside.keys() == {"arguments"} and isinstance(apart, dict) else beside
    yield CallProposed(ProposedCall(new_call_id(), tool, given))


def _declared(intent: str, item: object) -> CallProposed:
    named: dict[str, JsonValue] = {} if item is None else {"work_item": cast("JsonValue", item)}
    return CallProposed(ProposedCall(new_call_id(), SELECT_INTENT, {"intent": intent, **named}))


def _call(value: JsonValue) -> ProposedCall:
    if isinstance(value, dict):
        tool, arguments = value.get("tool"), value.get("arguments")
        if isinstance(tool, str) and isinstance(arguments, dict):
            return ProposedCall(new_call_id(), tool, arguments)
    raise _no_step(json.dumps(value))


def _no_step(text: str) -> ModelFailed:
    why = f"it is not a step: {shorten(text, 80)!r}"
    fix = "use an engine that answers by a JSON schema, or choose its row with REMIT_ENGINE"
    return ModelFailed("the model's answer cannot be used", why, fix)
