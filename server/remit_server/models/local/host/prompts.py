"""Renders a conversation for one model, so that generated text comes back unchanged (MOD-02).

Messages contain files and tool output, which may spell the model's control tokens; those are escaped first, so that a
file cannot speak as the person or as the model.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from remit_server.models.local.host.grammar.schemas import SELECT, selection_schema
from remit_server.models.local.host.output.calls import spell_call
from remit_server.models.local.wire import ChatMessage, ToolSchema

TemplateMessage = dict[str, JsonValue]
Template = Callable[[list[TemplateMessage], list[TemplateMessage]], str]
"""Renders messages and tool descriptions, up to the assistant's next message. May raise anything."""

_PROBE_CALL = ("probe_tool", {"path": "a/b.py"})


@dataclass(frozen=True, slots=True)
class Renderer:
    """Renders prompts for one model. `native_calls`: its template spells calls as the grammar does."""

    template: Template
    markers: re.Pattern[str] | None
    native_calls: bool
    shows_tools: bool

    def render(self, messages: Sequence[ChatMessage], intents: Mapping[str, Sequence[ToolSchema]]) -> str:
        """Returns the prompt text. Errors of the template are defects of the model folder and are passed on."""
        tools = describe_tools(intents)
        shown = list(messages) if self.shows_tools or not intents else with_tools(messages, intents)
        return self.template(
            [self._message(message) for message in shown], [_as_object(self._defuse(tool)) for tool in tools]
        )

    def _message(self, message: ChatMessage) -> TemplateMessage:
        content = self._text(message.content)
        rendered: TemplateMessage = {"role": message.role, "content": content}
        if message.role == "tool":
            rendered |= {"name": message.name or "", "tool_call_id": _short(message.tool_call_id or "")}
        if message.tool_calls and self.native_calls:
            rendered["tool_calls"] = [
                _template_call(_short(call.id), call.name, self._defuse(call.arguments)) for call in message.tool_calls
            ]
        elif message.tool_calls:
            calls = (spell_call(call.name, _as_object(self._defuse(call.arguments))) for call in message.tool_calls)
            rendered["content"] = content + "".join(calls)
        return rendered

    def _defuse(self, value: JsonValue) -> JsonValue:
        """Escapes control tokens in every string of a JSON value."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return [self._defuse(part) for part in value]
        if isinstance(value, dict):
            return {key: self._defuse(part) for key, part in value.items()}
        return value

    def _text(self, text: str) -> str:
        return self.markers.sub(_split, text) if self.markers is not None else text


def renderer(
    template: Template | None, control_tokens: Sequence[str], begin: str, end: str, *, own_calls: bool = False
) -> Renderer:
    """Returns the renderer for a template, whose behaviour is found by trying it; without a working one, for the plain
    template.

    `control_tokens` are the spellings of the tokenizer's own markers, `begin` and `end` of its first and last token.
    With `own_calls` the template spells calls in its own format.
    """
    spellings = sorted((token for token in control_tokens if len(token) > 1), key=len, reverse=True)
    markers = re.compile("|".join(map(re.escape, spellings))) if spellings else None
    for candidate in (template, plain_template(begin, end)):
        if candidate is None:
            continue
        try:
            native = _spells_calls(candidate, _PROBE_CALL[0] if own_calls else spell_call(*_PROBE_CALL))
            return Renderer(candidate, markers, native, _shows_tools(candidate))
        except Exception:  # noqa: S112 - a template is a program of the model folder; a failing one is not used
            continue
    raise AssertionError("the plain template renders every role")


def plain_template(begin: str, end: str) -> Template:
    """Returns the template for models without one: a heading for each role, `end` after the model's messages."""

    def template(messages: list[TemplateMessage], tools: list[TemplateMessage]) -> str:
        del tools  # described in the system message instead
        turns = (
            f"### {message['role']}\n{message['content']}{end if message['role'] == 'assistant' else ''}\n\n"
            for message in messages
        )
        return begin + "".join(turns) + "### assistant\n"

    return template


def with_tools(messages: Sequence[ChatMessage], intents: Mapping[str, Sequence[ToolSchema]]) -> list[ChatMessage]:
    """Adds the tools to the system message, for templates that do not render them."""
    schemas = [json.dumps(tool, ensure_ascii=False) for tool in describe_tools(intents)]
    lines = [
        "Answer in plain text, or call tools. Before any other tool, declare an intent:",
        spell_call(SELECT, {"intent": next(iter(intents))}) + spell_call("tool_name", {"argument": "value"}),
        "Intents and their tools:",
        *(f"{intent}: {', '.join(tool.name for tool in tools)}" for intent, tools in intents.items()),
        "Tools:",
        *schemas,
    ]
    return with_instruction(messages, "\n".join(lines))


def with_schema(messages: Sequence[ChatMessage], schema: Mapping[str, JsonValue]) -> list[ChatMessage]:
    """Adds a request for a value of a schema to the messages, where no grammar enforces it."""
    spelled = json.dumps(dict(schema), ensure_ascii=False)
    return with_instruction(messages, f"Answer with one JSON value of this schema, and with nothing else: {spelled}")


def with_instruction(messages: Sequence[ChatMessage], text: str) -> list[ChatMessage]:
    """Adds an instruction at the end of the system message."""
    if messages and messages[0].role == "system":
        first = messages[0].model_copy(update={"content": f"{messages[0].content}\n\n{text}"})
        return [first, *messages[1:]]
    return [ChatMessage(role="system", content=text), *messages]


def describe_tools(intents: Mapping[str, Sequence[ToolSchema]]) -> list[TemplateMessage]:
    """Describes the callable tools as chat templates take them, the declaration of an intent first."""
    if not intents:
        return []
    matrix = "; ".join(f"{intent}: {', '.join(tool.name for tool in tools)}" for intent, tools in intents.items())
    select = ToolSchema(
        name=SELECT,
        description=f"Declare what this step is about to do, before any other tool. Tools by intent: {matrix}",
        parameters=selection_schema(list(intents)),
    )
    tools = {tool.name: tool for offered in intents.values() for tool in offered}
    return [{"type": "function", "function": tool.model_dump(mode="json")} for tool in (select, *tools.values())]


def _spells_calls(template: Template, spelled: str) -> bool:
    """Returns whether the template renders a call with `spelled` in it. Raises what the template raises."""
    name, arguments = _PROBE_CALL
    conversation: list[TemplateMessage] = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "", "tool_calls": [_template_call(_short("1"), name, dict(arguments))]},
        {"role": "tool", "content": "r", "name": "", "tool_call_id": _short("1")},
    ]
    return spelled in template(conversation, [])


def _shows_tools(template: Template) -> bool:
    name, _ = _PROBE_CALL
    tool: TemplateMessage = {
        "type": "function",
        "function": {"name": name, "description": "d", "parameters": {"type": "object", "properties": {}}},
    }
    return name in template([{"role": "user", "content": "u"}], [tool])


def _template_call(call_id: str, name: str, arguments: JsonValue) -> TemplateMessage:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _short(call_id: str) -> str:
    """Returns a call's id as nine letters and digits: some templates accept no other."""
    return hashlib.sha256(call_id.encode()).hexdigest()[:9]


def _split(match: re.Match[str]) -> str:
    spelled = match.group()
    return f"{spelled[0]} {spelled[1:]}"


def _as_object(value: JsonValue) -> dict[str, JsonValue]:
    assert isinstance(value, dict)
    return value
