"""Limits of a call's arguments: two limits are intersected, and neither replaces the other (AGT-05)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import JsonValue

Schema = Mapping[str, JsonValue]
_ALTERNATIVES = ("anyOf", "oneOf")


def limit_properties(schema: Schema, names: Sequence[str], values: Sequence[str]) -> dict[str, JsonValue] | None:
    """Returns an object's schema with each of its properties `names` limited as by `limit_property`, or None if no such
    object exists.
    """
    limited: dict[str, JsonValue] | None = dict(schema)
    for name in names:
        limited = None if limited is None else limit_property(limited, name, values)
    return limited


def limit_property(schema: Schema, name: str, values: Sequence[str]) -> dict[str, JsonValue] | None:
    """Returns an object's schema with its property `name` limited to those of `values` that the schema admits.

    Returns None if no value is left and the property is required, as no such object exists. In a schema of alternatives
    each is limited, and impossible ones are dropped. `schema` has no references.
    """
    result = dict(schema)
    for key in _ALTERNATIVES:
        parts = result.get(key)
        if isinstance(parts, list):
            left = (limit_property(part, name, values) for part in parts if isinstance(part, dict))
            possible: list[JsonValue] = [part for part in left if part is not None]
            if not possible:
                return None
            result[key] = possible
    properties = result.get("properties")
    if not isinstance(properties, dict) or name not in properties:
        return result
    admitted: list[JsonValue] = [*_admitted_values(properties[name], values)]
    if admitted:
        return {**result, "properties": {**properties, name: {"enum": admitted}}}
    required = result.get("required")
    if isinstance(required, list) and name in required:
        return None
    return {**result, "properties": {each: part for each, part in properties.items() if each != name}}


def _admitted_values(part: JsonValue, values: Sequence[str]) -> list[str]:
    """Returns those of `values` that satisfy the schema of a property."""
    match part:
        case True:
            return [*values]
        case {"enum": [*named]}:
            return [value for value in values if value in named]
        case {"const": named}:
            return [value for value in values if value == named]
        case _:
            return _satisfying(part, values)


def _satisfying(part: JsonValue, values: Sequence[str]) -> list[str]:
    # Imported here, so that a process that never needs it does not load it.
    from jsonschema import Draft202012Validator

    validator = cast(Any, Draft202012Validator)(part)
    return [value for value in values if validator.is_valid(value)]
