"""The schema that a step is decoded by: an answer, or calls of tools that the declared intent opens (MOD-12).

A tool outside the intent cannot be spelled, whichever of the two is named first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from pydantic import JsonValue

from remit_governance.values import Intent
from remit_server.models.limits import limit_properties
from remit_server.models.ports import GenerateRequest, Nameable, ToolSpec, UserMessage

MOST_CALLS = 8
MOST_PATHS = 300
"""The most paths to list in a schema, because engines decode slowly by longer lists; with more, any path may be
spelled."""
_LISTING = "list_files"
_TELLING = 4
"""The fewest characters of a path that does not stand in a request by chance."""
_LONGEST = 2_000
"""The largest limit in a schema. Engines unroll limits and give up at larger ones; the dispatcher checks the real one.
"""
_LEFT_OUT = frozenset({"title", "description", "default", "pattern", "format", "examples"})

Intents = Mapping[Intent, Sequence[ToolSpec]]


class Form(StrEnum):
    """What a step names first."""

    INTENT_FIRST = "intent first"
    """An intent, then up to `MOST_CALLS` calls."""
    TOOL_FIRST = "tool first"
    """One tool with its intent, `{"read_file": "ANALYZE", "path": "a.py"}`: for small models, which choose among tools
    better than among intents, and are slow to write. Nothing runs before the whole step has arrived, so the dispatcher
    still gets the intent first."""


def step_schema(
    request: GenerateRequest, form: Form, nameable: Nameable | None = None, most_paths: int = MOST_PATHS
) -> dict[str, JsonValue]:
    """Returns the schema of a step. If there are work items, a step with calls names one of them, or null."""
    answer = _object({"answer": {"type": "string"}})
    if request.must_answer:
        return {"anyOf": [answer]}
    intents = limit_paths(request, nameable, most_paths)
    spelled = _intent_first if form is Form.INTENT_FIRST else _tool_first
    steps = spelled(intents, request.work_items)
    return {"anyOf": [answer, *steps]}


def limit_paths(request: GenerateRequest, nameable: Nameable | None, most_paths: int = MOST_PATHS) -> Intents:
    """Returns the tools with their paths limited to those on offer, without tools for which no path is left."""
    if (offered := request.paths) is None or nameable is None:
        return request.intents

    names_file = _names_file(request, nameable)

    def limited(tool: ToolSpec) -> ToolSpec | None:
        if names_file and tool.name == _LISTING:
            return None
        named = offered.arguments.get(tool.name)
        if named is None or len(nameable.paths) > most_paths:
            return tool
        parameters = limit_properties(plain(tool.parameters), named, nameable.paths)
        return None if parameters is None else replace(tool, parameters=parameters)

    return {
        intent: [narrow for tool in tools if (narrow := limited(tool)) is not None]
        for intent, tools in request.intents.items()
    }


def _names_file(request: GenerateRequest, nameable: Nameable) -> bool:
    """Returns whether the person has just named a file, because then a list of all files is no useful first step."""
    last = request.messages[-1] if request.messages else None
    if not isinstance(last, UserMessage):
        return False
    asked = last.text.partition("\n\n")[0]  # attachments and the editor's context come below
    return any(path in asked for path in nameable.files if len(path) >= _TELLING)


def _intent_first(intents: Intents, work_items: Sequence[str]) -> list[JsonValue]:
    return [_calls_of(intent, tools, work_items) for intent, tools in intents.items() if tools]


def _calls_of(intent: Intent, tools: Sequence[ToolSpec], work_items: Sequence[str]) -> JsonValue:
    calls: list[JsonValue] = [
        _object({"tool": {"const": tool.name}, "arguments": plain(tool.parameters)}) for tool in tools
    ]
    listed: JsonValue = {"type": "array", "minItems": 1, "maxItems": MOST_CALLS, "items": {"anyOf": calls}}
    return _object({"intent": {"const": intent.value}, **_item(work_items), "calls": listed})


def _tool_first(intents: Intents, work_items: Sequence[str]) -> list[JsonValue]:
    tools = {tool.name: tool for offered in intents.values() for tool in offered if tool.name not in NAMED}
    nested = nested_tools(intents)
    return [_step_of(tool, opening(intents, tool.name), work_items, tool.name in nested) for tool in tools.values()]


def _step_of(tool: ToolSpec, opened_by: Sequence[Intent], work_items: Sequence[str], nested: bool) -> JsonValue:
    named: dict[str, JsonValue] = {
        tool.name: {"enum": [intent.value for intent in opened_by]},
        **_item(work_items),
    }
    parameters = plain(tool.parameters)
    if nested:
        return _object({**named, "arguments": parameters})
    properties, required = parameters.get("properties"), parameters.get("required")
    return {
        **parameters,
        "properties": {**named, **(properties if isinstance(properties, dict) else {})},
        "required": [*named, *(required if isinstance(required, list) else ())],
        "additionalProperties": False,
    }


NAMED = frozenset({"answer", "intent", "work_item", "arguments"})
"""The names that a step has besides a tool and its arguments; a small model is offered no tool with such a name."""
_FLAT = frozenset({"type", "properties", "required", "additionalProperties"})


def nested_tools(intents: Intents) -> frozenset[str]:
    """Returns the tools whose arguments cannot stand beside the intent: an argument has the name of a part of a step,
    or their schema has more than properties."""
    return frozenset(tool.name for offered in intents.values() for tool in offered if _is_nested(tool))


def _is_nested(tool: ToolSpec) -> bool:
    properties = tool.parameters.get("properties")
    names = properties.keys() if isinstance(properties, dict) else ()
    return not plain(tool.parameters).keys() <= _FLAT or not (NAMED | {tool.name}).isdisjoint(names)


def opening(intents: Intents, tool: str) -> tuple[Intent, ...]:
    """Returns the intents that open a tool, in the order of the offer."""
    return tuple(intent for intent, offered in intents.items() if any(each.name == tool for each in offered))


def _item(work_items: Sequence[str]) -> dict[str, JsonValue]:
    return {"work_item": {"enum": [*work_items, None]}} if work_items else {}


def _object(properties: dict[str, JsonValue]) -> JsonValue:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def plain(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Returns a schema with only what engines decode by: no descriptions, no patterns, no long limits. `$ref`s stay."""
    plainer = _plain(dict(schema))
    assert isinstance(plainer, dict)
    return plainer


def _plain(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _plain(part) for key, part in value.items() if _is_kept(key, part)}
    if isinstance(properties := value.get("properties"), dict):  # its names are no keywords
        kept["properties"] = {name: _plain(part) for name, part in properties.items()}
    return kept


def _is_kept(key: str, part: JsonValue) -> bool:
    if key in {"maxLength", "maxItems"}:
        return isinstance(part, int) and part <= _LONGEST
    return key not in _LEFT_OUT
