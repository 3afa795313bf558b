"""A step in two requests: first the intent, then the calls that it opens (MOD-12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from remit_governance.intents import SELECT_INTENT
from remit_governance.values import Intent
from remit_server.models.ports import AssistantMessage, Message, ProposedCall, ToolMessage, ToolSpec

Intents = Mapping[Intent, Sequence[ToolSpec]]

DECLARED = "the intent is declared; now call its tools, or answer"


def all_tools(intents: Intents, work_items: Sequence[str] = ()) -> tuple[ToolSpec, ...]:
    """Returns every tool once, the declaration of an intent first; the list changes only if the offer does."""
    tools = {tool.name: tool for offered in intents.values() for tool in offered}
    return (select_spec(intents, work_items), *tools.values()) if intents else ()


def select_spec(intents: Intents, work_items: Sequence[str] = ()) -> ToolSpec:
    """Returns the declaration of an intent as a tool, with the matrix in its description."""
    matrix = "; ".join(f"{intent}: {', '.join(tool.name for tool in tools)}" for intent, tools in intents.items())
    properties: dict[str, JsonValue] = {"intent": {"type": "string", "enum": [intent.value for intent in intents]}}
    if work_items:
        properties["work_item"] = {"type": "string", "enum": list(work_items)}
    return ToolSpec(
        SELECT_INTENT,
        f"Declare what this step is about to do, before any other tool. Tools by intent: {matrix}",
        {
            "type": "object",
            "properties": properties,
            "required": ["intent"],
            "additionalProperties": False,
        },
    )


def split_steps(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Returns the conversation with each declaration and its result before the calls that followed it. The requests
    had this form, so the engine finds the conversation in its cache."""
    found: list[Message] = []
    declared: dict[str, ToolMessage] = {}
    for position, message in enumerate(messages):
        if isinstance(message, AssistantMessage) and message.calls and message.calls[0].name == SELECT_INTENT:
            answers = {each.call_id: each for each in _answers(messages, position)}
            first, *others = message.calls
            found.append(AssistantMessage("", (first,)))
            result = answers.get(first.id) or ToolMessage(first.id, first.name, DECLARED)
            declared[first.id] = result
            found.append(result)
            if others or message.text:
                found.append(AssistantMessage(message.text, tuple(others)))
        elif not (isinstance(message, ToolMessage) and message.call_id in declared):
            found.append(message)
    return tuple(found)


def with_declaration(messages: Sequence[Message], call: ProposedCall, said: str | None) -> tuple[Message, ...]:
    """Returns the conversation of the second request: that of the first, then the declaration and its result."""
    result = ToolMessage(call.id, call.name, said or DECLARED)
    return (*messages, AssistantMessage("", (call,)), result)


def _answers(messages: Sequence[Message], position: int) -> Iterator[ToolMessage]:
    for message in messages[position + 1 :]:
        if not isinstance(message, ToolMessage):
            return
        yield message
