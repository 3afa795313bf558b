"""A step in one request, held by a schema: what is sent in place of a conversation with tools (MOD-12). Calls and
results are spelled as text, so that the model reads what it is to write.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue

from remit_governance.intents import SELECT_INTENT
from remit_server.models.ports import (
    AssistantMessage,
    GenerateRequest,
    Message,
    Nameable,
    ProposedCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from remit_server.models.profile import Profile
from remit_server.models.steps.schema import MOST_PATHS, Form, step_schema
from remit_server.models.steps.telling import FORMS, standing_messages


def held_request(
    request: GenerateRequest,
    messages: Sequence[Message],
    profile: Profile,
    nameable: Nameable | None,
    most_paths: int = MOST_PATHS,
) -> GenerateRequest:
    """Returns the request for one JSON value, which is a step; `messages` are those of the conversation, as they may be
    sent. Its answer is read by a `StepReader`. Where there are more than `most_paths`, any path may be spelled.
    """
    form = FORMS[profile.telling]
    first = messages[0] if messages else None
    system = first.text if isinstance(first, SystemMessage) else ""
    standing = standing_messages(profile, system, request.intents)
    return replace(
        request,
        messages=spell_conversation(messages, standing, form),
        intents={},
        paths=None,
        answer_schema=step_schema(request, form, nameable, most_paths),
    )


def fit(request: GenerateRequest, profile: Profile) -> GenerateRequest:
    """Returns the request within the profile: its tokens, and its temperature where nobody set one."""
    return replace(
        request,
        max_tokens=min(request.max_tokens, profile.most_tokens or request.max_tokens),
        temperature=profile.temperature if request.temperature is None else request.temperature,
    )


_RESULT = "Result of "


def spell_conversation(messages: Sequence[Message], standing: Sequence[Message], form: Form) -> tuple[Message, ...]:
    """Returns the conversation as it is sent: the `standing` messages in place of the first one, steps as JSON, results
    in the person's turn."""
    spelled: list[Message] = []
    begun = messages[1:] if messages and isinstance(messages[0], SystemMessage) else messages
    for message in _one_by_one((*standing, *begun)) if form is Form.TOOL_FIRST else (*standing, *begun):
        match message:
            case SystemMessage():
                spelled.append(message)
            case AssistantMessage():
                spelled.append(AssistantMessage(spell_step(message, form)))
            case ToolMessage(tool=tool, text=text):
                # Where a step has one call, it is that one's.
                of = "Result" if form is Form.TOOL_FIRST else f"{_RESULT}{tool}"
                _say(spelled, f"{of}:\n{text}")
            case UserMessage(text=text):
                spelled.append(message)
    return tuple(spelled)


def _say(spelled: list[Message], result: str) -> None:
    """Adds a result to those before it, which are one message."""
    before = spelled[-1] if spelled else None
    if isinstance(before, UserMessage) and before.text.startswith("Result"):
        spelled[-1] = UserMessage(f"{before.text}\n\n{result}")
    else:
        spelled.append(UserMessage(result))


def _one_by_one(messages: Sequence[Message]) -> Iterator[Message]:
    """Yields each call with its result as a step of its own. What a declaration came to is told where it is more than
    that it was taken: a refusal, or a work item's limits."""
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


def spell_step(message: AssistantMessage, form: Form) -> str:
    """Returns what the model would have written."""
    if not message.calls:
        return _json({"answer": message.text})
    none: Mapping[str, JsonValue] = {}
    declared = next((call.arguments for call in message.calls if call.name == SELECT_INTENT), none)
    intent: dict[str, JsonValue] = {"intent": declared.get("intent")}
    item: dict[str, JsonValue] = {"work_item": named} if (named := declared.get("work_item")) is not None else {}
    calls = [call for call in message.calls if call.name != SELECT_INTENT]
    if form is Form.TOOL_FIRST and len(calls) == 1:
        return _json({"tool": calls[0].name, **intent, **item, "arguments": dict(calls[0].arguments)})
    listed: list[JsonValue] = [{"tool": call.name, "arguments": dict(call.arguments)} for call in calls]
    return _json({**intent, **item, "calls": listed})


def _json(value: JsonValue) -> str:
    """Without white space: it costs tokens, and a model that may write some can go on with it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
