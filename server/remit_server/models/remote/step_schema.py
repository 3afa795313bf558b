"""A whole step as one JSON value: an answer, or an intent with calls of the tools that it opens (MOD-12).

For engines that decode by a schema: a tool outside the intent cannot be spelled. The conversation is written the same
way, so that the model reads what it is to write.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue
from pydantic_core import from_json

from remit_governance.intents import SELECT_INTENT
from remit_governance.values import Intent
from remit_server.errors import ModelFailed
from remit_server.models.ports import (
    AssistantMessage,
    CallProposed,
    Message,
    ProposedCall,
    SystemMessage,
    TextDelta,
    ToolMessage,
    ToolSpec,
    UserMessage,
    new_call_id,
)
from remit_server.models.tool_words import matrix_lines

MOST_CALLS = 8
_LONGEST = 2_000
"""A longer limit of a string is left out: engines unroll it, and give up. The dispatcher checks the real one."""
_LEFT_OUT = frozenset({"title", "description", "default", "pattern", "format", "examples"})

Intents = Mapping[Intent, Sequence[ToolSpec]]


def step_schema(intents: Intents, work_items: Sequence[str] = (), *, must_call: bool = False) -> dict[str, JsonValue]:
    """Returns the schema of a step; where there are work items, each names one of them or says null."""
    answer = _object({"answer": {"type": "string"}})
    steps: list[JsonValue] = [_step(intent, tools, work_items) for intent, tools in intents.items()]
    return {"anyOf": steps if must_call else [answer, *steps]}


def _step(intent: Intent, tools: Sequence[ToolSpec], work_items: Sequence[str]) -> JsonValue:
    calls: list[JsonValue] = [
        _object({"tool": {"const": tool.name}, "arguments": plain_schema(dict(tool.parameters))}) for tool in tools
    ]
    listed: JsonValue = {"type": "array", "minItems": 1, "maxItems": MOST_CALLS, "items": {"anyOf": calls}}
    item: dict[str, JsonValue] = {"work_item": {"enum": [*work_items, None]}} if work_items else {}
    return _object({"intent": {"const": intent.value}, **item, "calls": listed})


def _object(properties: dict[str, JsonValue]) -> JsonValue:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def plain_schema(value: JsonValue) -> JsonValue:
    """Returns a schema with what engines decode by: no words, no patterns, no long limits. `$ref`s stay."""
    if isinstance(value, list):
        return [plain_schema(part) for part in value]
    if not isinstance(value, dict):
        return value
    plain = {key: plain_schema(part) for key, part in value.items() if _is_kept(key, part)}
    if isinstance(properties := value.get("properties"), dict):  # whose names are no keywords
        plain["properties"] = {name: plain_schema(part) for name, part in properties.items()}
    return plain


def _is_kept(key: str, part: JsonValue) -> bool:
    if key in {"maxLength", "maxItems"}:
        return isinstance(part, int) and part <= _LONGEST
    return key not in _LEFT_OUT


def spell_conversation(messages: Sequence[Message], intents: Intents) -> tuple[Message, ...]:
    """Returns the conversation with its calls and results as text: steps as JSON, results in the person's turn."""
    spelled: list[Message] = []
    for message in messages:
        match message:
            case SystemMessage(text=text):
                spelled.append(SystemMessage(f"{text}\n\n{describe_step(intents)}" if intents else text))
            case AssistantMessage():
                spelled.append(AssistantMessage(_spell_step(message)))
            case ToolMessage(tool=tool, text=text):
                result = f"Result of {tool}:\n{text}"
                before = spelled[-1] if spelled else None
                if isinstance(before, UserMessage) and _is_result(before):
                    spelled[-1] = UserMessage(f"{before.text}\n\n{result}")
                else:
                    spelled.append(UserMessage(result))
            case UserMessage():
                spelled.append(message)
    return tuple(spelled)


def _is_result(message: UserMessage) -> bool:
    return message.text.startswith("Result of ")


def describe_step(intents: Intents) -> str:
    """Returns how a step is written, and the tools: the same text as long as the same is offered."""
    tools = {tool.name: tool for offered in intents.values() for tool in offered}
    matrix = "\n".join(matrix_lines({each.value: [tool.name for tool in offered] for each, offered in intents.items()}))
    listed = "\n".join(f"- {signature(tool)}: {tool.description}{_words(tool)}" for tool in tools.values())
    return (
        'Answer with one JSON object: {"intent": "INTENT", "calls": [{"tool": "NAME", "arguments": {…}}]} to act, or '
        '{"answer": "…"} when the work is done.\n'
        f"Intents and the tools they open:\n{matrix}\n"
        f"Tools (what has a question mark may be left out):\n{listed}{_example(intents)}"
    )


def signature(tool: ToolSpec) -> str:
    """Returns a tool as a function is written, `read_file(path, offset?)`: small models copy any notation that looks
    like the arguments themselves as their values (MOD-20)."""
    properties, required = tool.parameters.get("properties"), tool.parameters.get("required")
    needed = required if isinstance(required, list) else []
    names = properties if isinstance(properties, dict) else {}
    return f"{tool.name}({', '.join(name if name in needed else f'{name}?' for name in names)})"


def _words(tool: ToolSpec) -> str:
    """What is said of the arguments, behind what is said of the tool."""
    properties = tool.parameters.get("properties")
    said = {
        name: part["description"]
        for name, part in (properties.items() if isinstance(properties, dict) else ())
        if isinstance(part, dict) and "description" in part
    }
    return f" ({'; '.join(f'{name}: {words}' for name, words in said.items())})" if said else ""


_EXAMPLE_TOOL, _EXAMPLE_PATH = "read_file", "docs/intro.md"


def _example(intents: Intents) -> str:
    """One whole step, where reading is offered: what a step looks like, with arguments that are real ones."""
    opening = [each for each, tools in intents.items() if any(tool.name == _EXAMPLE_TOOL for tool in tools)]
    if not opening:
        return ""
    intent = Intent.READ_FILE if Intent.READ_FILE in opening else opening[0]
    step = {"intent": intent.value, "calls": [{"tool": _EXAMPLE_TOOL, "arguments": {"path": _EXAMPLE_PATH}}]}
    return f"\nA step that reads a file: {json.dumps(step)}"


def _spell_step(message: AssistantMessage) -> str:
    if not message.calls:
        return json.dumps({"answer": message.text}, ensure_ascii=False)
    intent: JsonValue = None
    named: dict[str, JsonValue] = {}
    calls: list[JsonValue] = []
    for call in message.calls:
        if call.name == SELECT_INTENT:
            intent = call.arguments.get("intent")
            named = {"work_item": item} if (item := call.arguments.get("work_item")) is not None else {}
        else:
            calls.append({"tool": call.name, "arguments": dict(call.arguments)})
    return json.dumps({"intent": intent, **named, "calls": calls}, ensure_ascii=False)


@dataclass(slots=True)
class StepReader:
    """Reads a step as it is generated: the answer's text while it comes, calls when all of it is there."""

    text: str = ""
    shown: int = 0

    def feed(self, more: str) -> Iterator[TextDelta]:
        """Yields what more there is of the answer's text."""
        self.text += more
        if not self.text.lstrip().startswith('{"answer"') and '"answer"' not in self.text[:40]:
            return
        try:
            value = cast("JsonValue", from_json(self.text, allow_partial="trailing-strings"))
        except ValueError:
            return
        answer = value.get("answer") if isinstance(value, dict) else None
        if isinstance(answer, str) and len(answer) > self.shown:
            yield TextDelta(answer[self.shown :])
            self.shown = len(answer)

    def finish(self, *, cut: bool) -> Iterator[TextDelta | CallProposed]:
        """Yields what is left. Raises ModelFailed where it is no step."""
        try:
            value = cast("JsonValue", from_json(self.text))
        except ValueError as error:
            if cut and self.shown:
                return
            raise _no_step(self.text, cut=cut) from error
        match value:
            case {"answer": str(answer)}:
                if len(answer) > self.shown:
                    yield TextDelta(answer[self.shown :])
            case {"intent": str(intent), "calls": [*calls], **more}:
                declared: dict[str, JsonValue] = {"intent": intent}
                if (item := cast("JsonValue", more.get("work_item"))) is not None:
                    declared["work_item"] = item
                yield CallProposed(ProposedCall(new_call_id(), SELECT_INTENT, declared))
                yield from map(CallProposed, map(_call, calls))
            case _:
                raise _no_step(self.text, cut=cut)


def _call(value: JsonValue) -> ProposedCall:
    if isinstance(value, dict):
        tool, arguments = value.get("tool"), value.get("arguments")
        if isinstance(tool, str) and isinstance(arguments, dict):
            return ProposedCall(new_call_id(), tool, arguments)
    raise _no_step(json.dumps(value), cut=False)


def _no_step(text: str, *, cut: bool) -> ModelFailed:
    if cut:
        fix = "allow more tokens with REMIT_MAX_TOKENS, or ask for less at once"
        return ModelFailed("the model's step is not complete", "it was cut off at its token limit", fix)
    why = f"it is no step: {text[:80]!r}"
    fix = "use an engine that answers by a JSON schema, or choose its row with REMIT_ENGINE"
    return ModelFailed("the model's answer cannot be used", why, fix)
