"""The schema of the intent selection, and bounds for all others (004 §Tool Schema Injection)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from pydantic import JsonValue

Schema = dict[str, JsonValue]

SELECT = "select_active_intent"
JUSTIFICATION_CHARACTERS = 200
WIDEST_NUMBER = 1_000_000_000
MOST_ITEMS = 32
MOST_PROPERTIES = 32

_UNTYPED: tuple[str, ...] = ("anyOf", "oneOf", "allOf", "$ref", "enum", "const", "not", "if")
_SUBSCHEMAS: tuple[str, ...] = ("items", "additionalProperties", "not", "if", "then", "else", "contains")
_SCHEMA_LISTS: tuple[str, ...] = ("anyOf", "oneOf", "allOf", "prefixItems")
_SCHEMA_MAPS: tuple[str, ...] = ("properties", "$defs", "definitions", "patternProperties")


def selection_schema(intents: Sequence[str]) -> Schema:
    """Return the arguments of `select_active_intent`, as a JSON Schema."""
    return {
        "type": "object",
        "properties": {
            "intent": {"enum": list(intents)},
            "justification": {"type": "string", "maxLength": JUSTIFICATION_CHARACTERS},
        },
        "required": ["intent"],
        "additionalProperties": False,
    }


def bounded(schema: Mapping[str, JsonValue], longest: int) -> Schema:
    """Give every string (`longest` characters), number, array and object of a JSON Schema that has no bound one.

    Bounds that are there stay. An object that lists its properties admits no others.
    """
    result: Schema = {key: _inside(key, value, longest) for key, value in schema.items()}
    if any(key in result for key in _UNTYPED):
        return result
    kinds = _kinds(result)
    if not kinds:
        return {"anyOf": [bounded({"type": kind}, longest) for kind in ("string", "number", "boolean", "null")]}
    if "string" in kinds:
        result.setdefault("maxLength", longest)
    if "integer" in kinds or "number" in kinds:
        _bound_number(result)
    if "array" in kinds:
        result.setdefault("maxItems", MOST_ITEMS)
        if "prefixItems" not in result:
            result.setdefault("items", bounded({}, longest))
    if "object" in kinds:
        _bound_object(result, longest)
    return result


def _inside(key: str, value: JsonValue, longest: int) -> JsonValue:
    if key in _SUBSCHEMAS and isinstance(value, dict):
        return bounded(value, longest)
    if key in _SCHEMA_LISTS and isinstance(value, list):
        return [bounded(part, longest) if isinstance(part, dict) else part for part in value]
    if key in _SCHEMA_MAPS and isinstance(value, dict):
        return {name: bounded(part, longest) if isinstance(part, dict) else part for name, part in value.items()}
    return value


def _kinds(schema: Schema) -> set[str]:
    kind = schema.get("type")
    if isinstance(kind, str):
        return {kind}
    if isinstance(kind, list):
        return {part for part in kind if isinstance(part, str)}
    if "properties" in schema:
        schema["type"] = "object"
        return {"object"}
    return set()


def _bound_number(schema: Schema) -> None:
    if "minimum" not in schema and "exclusiveMinimum" not in schema:
        schema["minimum"] = _below(schema, "maximum", "exclusiveMaximum")
    if "maximum" not in schema and "exclusiveMaximum" not in schema:
        schema["maximum"] = _above(schema, "minimum", "exclusiveMinimum")


def _below(schema: Schema, *keys: str) -> JsonValue:
    limits = [cast(float, schema[key]) for key in keys if isinstance(schema.get(key), int | float)]
    return int(min([-WIDEST_NUMBER, *(limit - WIDEST_NUMBER for limit in limits)]))


def _above(schema: Schema, *keys: str) -> JsonValue:
    limits = [cast(float, schema[key]) for key in keys if isinstance(schema.get(key), int | float)]
    return int(max([WIDEST_NUMBER, *(limit + WIDEST_NUMBER for limit in limits)]))


def _bound_object(schema: Schema, longest: int) -> None:
    if "properties" in schema:
        schema.setdefault("additionalProperties", False)
    if schema.get("additionalProperties", True) is not False:
        schema.setdefault("maxProperties", MOST_PROPERTIES)
        if not isinstance(schema.get("additionalProperties"), dict):
            schema["additionalProperties"] = bounded({}, longest)
