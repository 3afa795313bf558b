"""A step in two requests: first the intent, then the calls that it opens (MOD-12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from remit_governance.intents import SELECT_INTENT
from remit_governance.values import Intent
from remit_server.models.ports import AssistantMessage, Message, ProposedCall, ToolMessage, ToolSpec

Intents = Mapping[Intent, Sequence[ToolSpec]]

DECLARED = "the intent is declared; now call its tools, or answer"


def all_tools(intents: Intents) -> tuple[ToolSpec, ...]:
    """Returns every tool once, the declaration of an intent first: the same list as long as the same is offered."""
    tools = {tool.name: tool for offered in intents.values() for tool in offered}
    return (select_spec(intents), *tools.values()) if intents else ()


def select_spec(intents: Intents) -> ToolSpec:
    """Returns the declaration of an intent as a tool, with the matrix in its description."""
    matrix = "; ".join(f"{intent}: {', '.join(tool.name for tool in tools)}" for intent, tools in intents.items())
    names: list[JsonValue] = [intent.value for intent in intents]
    return ToolSpec(
        SELECT_INTENT,
        f"Declare what this step is about to do, before any other tool. Tools by intent: {matrix}",
        {
            "type": "object",
            "properties": {"intent": {"type": "string", "enum": names}},
            "required": ["intent"],
            "additionalProperties": False,
        },
    )


def split_steps(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Returns the conversation with each declaration and its result before the calls that followed it: as it was asked,
    so that the engine finds it in its cache."""
    found: list[Message] = []
    declared: dict[str, ToolMessage] = {}
    for position, message in enumerate(messages):
        if isinstance(message, AssistantMessage) and _begins_with_intent(message):
            answers = {each.call_id: each for each in _answers(messages, position)}
            first, *others = message.calls
            found.append(AssistantMessage("", (first,)))
            result = answers.get(first.id) or ToolMessage(first.id, first.name, DECLARED)
            declared[first.id] = result
            found.append(_declared(result))
            if others or message.text:
                found.append(AssistantMessage(message.text, tuple(others)))
        elif not (isinstance(message, ToolMessage) and message.call_id in declared):
            found.append(message)
    return tuple(found)


def with_declaration(messages: Sequence[Message], call: ProposedCall) -> tuple[Message, ...]:
    """Returns the conversation of the second request: the first one's, then the declaration."""
    result = ToolMessage(call.id, call.name, DECLARED)
    return (*messages, AssistantMessage("", (call,)), result)


def _begins_with_intent(message: AssistantMessage) -> bool:
    return bool(message.calls) and message.calls[0].name == SELECT_INTENT


def _answers(messages: Sequence[Message], position: int) -> Iterator[ToolMessage]:
    for message in messages[position + 1 :]:
        if not isinstance(message, ToolMessage):
            return
        yield message


def _declared(result: ToolMessage) -> ToolMessage:
    """A refusal stays as it is: the model reads why."""
    return result if result.text.startswith("error ") else ToolMessage(result.call_id, result.tool, DECLARED)
