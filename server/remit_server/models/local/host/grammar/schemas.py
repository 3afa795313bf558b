"""The schema of the intent selection, and bounds for all others (MOD-06)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from remit_server.models.local.host.grammar.json_schema import (
    SCHEMA_LISTS,
    SCHEMA_MAPS,
    SUBSCHEMAS,
    Schema,
    branches,
    kinds_of,
)

SELECT = "select_active_intent"
JUSTIFICATION_CHARACTERS = 200
WIDEST_NUMBER = 1_000_000_000
MOST_ITEMS = 32
MOST_PROPERTIES = 32

_COMBINED = ("allOf", "anyOf", "oneOf")


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limit of strings that state none; `matched`: the limit of strings with a pattern or format, even if they
    state a larger one.

    A string that has to match cannot be closed at any point, so it needs a length within which it ends.
    """

    longest: int
    matched: int | None = None


def selection_schema(intents: Sequence[str], work_items: Sequence[str] = ()) -> Schema:
    """Returns the JSON Schema of `select_active_intent`'s arguments; it may name one of the work items."""
    item: dict[str, JsonValue] = {"work_item": {"enum": list(work_items)}} if work_items else {}
    return {
        "type": "object",
        "properties": {
            "intent": {"enum": list(intents)},
            "justification": {"type": "string", "maxLength": JUSTIFICATION_CHARACTERS},
            **item,
        },
        "required": ["intent"],
        "additionalProperties": False,
    }


def bound_schema(schema: Mapping[str, JsonValue], bounds: Bounds) -> Schema:
    """Adds a bound to every string (see `Bounds`), number, array and object of a plain schema that has none.

    Existing bounds stay. An object that lists its properties admits no others. Where several schemas apply together
    (`allOf`, or alternatives beside other keywords) only objects are closed: one schema's bounds could contradict
    another's.
    """
    if any(key in schema for key in _COMBINED):
        return _bound_combination(schema, bounds)
    result: Schema = {key: _bound_inside(key, value, bounds) for key, value in schema.items()}
    if "enum" in result or "const" in result:
        return result
    kinds = kinds_of(result)
    if not kinds:
        return {"anyOf": [bound_schema({"type": kind}, bounds) for kind in ("string", "number", "boolean", "null")]}
    result.setdefault("type", kinds[0])
    if "string" in kinds:
        _bound_string(result, bounds)
    if "integer" in kinds or "number" in kinds:
        _bound_number(result)
    if "array" in kinds:
        result.setdefault("maxItems", max(MOST_ITEMS, number_of(result, "minItems")))
        if result.get("items", True) is True:
            result["items"] = "prefixItems" not in result and bound_schema({}, bounds)
            _admit_prefix_only(result)
    if "object" in kinds:
        _bound_object(result, bounds)
    return result


def _bound_combination(schema: Mapping[str, JsonValue], bounds: Bounds) -> Schema:
    """Bounds each of several alternatives that stand alone; only closes objects of schemas that apply together."""
    alone = len(schema) == 1 and "allOf" not in schema
    if alone:
        return {key: _bound_inside(key, value, bounds) for key, value in schema.items()}
    result = _close_objects(schema, frozenset())
    described = _described_names(schema)
    for name in sorted(_names(schema) - described):
        properties = result.setdefault("properties", {})
        assert isinstance(properties, dict)
        properties[name] = bound_schema({}, bounds)
    return result


def _close_objects(schema: Mapping[str, JsonValue], others: AbstractSet[str]) -> Schema:
    """Closes objects: only properties that their own schema, or one that applies with it, names are admitted."""
    result: Schema = dict(schema)
    own = _own_names(schema)
    for key in _COMBINED:
        parts = schema.get(key)
        if isinstance(parts, list):
            result[key] = [_close_part(schema, key, part, own | others) for part in parts]
    if "object" in kinds_of(schema):
        properties = schema.get("properties", {})
        assert isinstance(properties, dict)
        names = others | own.union(*(_names(part) for part in branches(schema, *_COMBINED)))
        if schema.get("additionalProperties", True) is True and "patternProperties" not in schema:
            result["additionalProperties"] = False
        result["properties"] = {**properties, **dict.fromkeys(sorted(names - properties.keys()), True)}
        result.setdefault("type", "object")
    return result


def _close_part(schema: Mapping[str, JsonValue], key: str, part: JsonValue, others: AbstractSet[str]) -> JsonValue:
    if not isinstance(part, dict):
        return part
    elsewhere = branches(schema, *(each for each in _COMBINED if each != key or key == "allOf"))
    beside = (_names(each) for each in elsewhere if each is not part)
    return _close_objects(part, others | frozenset[str]().union(*beside))


def _names(schema: Mapping[str, JsonValue]) -> frozenset[str]:
    """Returns the property names in a schema and its combinations."""
    return _own_names(schema).union(*(_names(part) for part in branches(schema, *_COMBINED)))


def _described_names(schema: Mapping[str, JsonValue]) -> frozenset[str]:
    properties = schema.get("properties")
    own = frozenset(properties) if isinstance(properties, dict) else frozenset[str]()
    return own.union(*(_described_names(part) for part in branches(schema, *_COMBINED)))


def _own_names(schema: Mapping[str, JsonValue]) -> frozenset[str]:
    properties, required = schema.get("properties"), schema.get("required")
    listed = frozenset(properties) if isinstance(properties, dict) else frozenset[str]()
    needed = frozenset(cast(list[str], required)) if isinstance(required, list) else frozenset[str]()
    return listed | needed


def _bound_inside(key: str, value: JsonValue, bounds: Bounds) -> JsonValue:
    if key in SUBSCHEMAS and isinstance(value, dict):
        return bound_schema(value, bounds)
    if key in SCHEMA_LISTS and isinstance(value, list):
        return [_bound_part(part, bounds) for part in value]
    if key in SCHEMA_MAPS and isinstance(value, dict):
        return {name: _bound_part(part, bounds) for name, part in value.items()}
    return value


def _bound_part(part: JsonValue, bounds: Bounds) -> JsonValue:
    if part is True:
        return bound_schema({}, bounds)
    return bound_schema(part, bounds) if isinstance(part, dict) else part


def number_of(schema: Schema, key: str) -> int:
    """Returns the number under a key, or 0 if there is none."""
    value = schema.get(key, 0)
    return int(value) if isinstance(value, int | float) else 0


def _admit_prefix_only(schema: Schema) -> None:
    """Closes an array that describes only its first items, unless it must have more."""
    prefix = schema.get("prefixItems")
    if isinstance(prefix, list) and number_of(schema, "minItems") > len(prefix):
        schema["items"] = bound_schema({}, Bounds(64))


def _bound_string(schema: Schema, bounds: Bounds) -> None:
    least = number_of(schema, "minLength")
    schema.setdefault("maxLength", max(bounds.longest, least))
    if bounds.matched is not None and ("pattern" in schema or "format" in schema):
        schema["maxLength"] = min(number_of(schema, "maxLength"), max(bounds.matched, least))


def _bound_number(schema: Schema) -> None:
    if "minimum" not in schema and "exclusiveMinimum" not in schema:
        schema["minimum"] = _upper_bound(schema, "maximum", "exclusiveMaximum")
    if "maximum" not in schema and "exclusiveMaximum" not in schema:
        schema["maximum"] = _lower_bound(schema, "minimum", "exclusiveMinimum")


def _upper_bound(schema: Schema, *keys: str) -> JsonValue:
    limits = [cast(float, schema[key]) for key in keys if isinstance(schema.get(key), int | float)]
    return int(min([-WIDEST_NUMBER, *(limit - WIDEST_NUMBER for limit in limits)]))


def _lower_bound(schema: Schema, *keys: str) -> JsonValue:
    limits = [cast(float, schema[key]) for key in keys if isinstance(schema.get(key), int | float)]
    return int(max([WIDEST_NUMBER, *(limit + WIDEST_NUMBER for limit in limits)]))


def _bound_object(schema: Schema, bounds: Bounds) -> None:
    required = schema.get("required")
    if isinstance(required, list) and required:
        properties = schema.setdefault("properties", {})
        assert isinstance(properties, dict)
        if schema.get("additionalProperties", True) is True and "patternProperties" not in schema:
            for name in cast(list[str], required):
                properties.setdefault(name, bound_schema({}, bounds))
    lists = "properties" in schema or "patternProperties" in schema
    if lists and schema.get("additionalProperties", True) is True:
        schema["additionalProperties"] = False
    if schema.get("additionalProperties", True) is not False:
        schema.setdefault("maxProperties", max(MOST_PROPERTIES, number_of(schema, "minProperties")))
        if not isinstance(schema.get("additionalProperties"), dict):
            schema["additionalProperties"] = bound_schema({}, bounds)
