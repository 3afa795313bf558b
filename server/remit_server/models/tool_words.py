"""What a model is told about the tools: only what it needs to call them, and each thing once (AGT-11).

The grammar and the dispatcher still use the whole schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import JsonValue

_LIMITS = frozenset({"minLength", "maxLength", "pattern", "format", "minimum", "maximum", "minItems", "maxItems"})
_UNTOLD = _LIMITS | {"title", "additionalProperties", "exclusiveMinimum", "exclusiveMaximum"}


def shown_parameters(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Returns the schema of a tool's arguments without what only a check needs: limits, and null as an option."""
    shown = _shown(dict(schema))
    assert isinstance(shown, dict)
    shown.pop("description", None)  # the tool itself has a description
    return shown


def _shown(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_shown(part) for part in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _shown(part) for key, part in value.items() if key not in _UNTOLD and (key != "default" or part)}
    if isinstance(properties := value.get("properties"), dict):  # its names are no keywords
        kept["properties"] = {name: _shown(part) for name, part in properties.items()}
    options = kept.get("anyOf")
    if isinstance(options, list):
        others = [option for option in options if option != {"type": "null"}]
        if len(others) == 1 and isinstance(others[0], dict):
            del kept["anyOf"]
            kept = {**others[0], **kept}
        else:
            kept["anyOf"] = others
    return kept


def matrix_lines(intents: Mapping[str, Iterable[str]]) -> list[str]:
    """Returns lines of intents and their tools; intents that open the same tools share a line."""
    opened: dict[tuple[str, ...], list[str]] = {}
    for intent, tools in intents.items():
        opened.setdefault(tuple(tools), []).append(intent)
    return [f"{', '.join(names)}: {', '.join(tools) or 'nothing'}" for tools, names in opened.items()]


def without_words(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Returns a schema without the descriptions of the arguments."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return dict(schema)
    bare: dict[str, JsonValue] = {
        name: {key: value for key, value in part.items() if key != "description"} if isinstance(part, dict) else part
        for name, part in properties.items()
    }
    return {**schema, "properties": bare}
