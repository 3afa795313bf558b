"""Parameters of a tool, made of whatever JSON Schema its server describes them by (TOOL-18).

What is kept is small, and refers to nothing; what cannot be said in it is left to the server to check.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from pydantic import JsonValue

from remit_governance.visible import without_hidden

MAX_CHARS = 8_000
"""Of the parameters of one tool, as JSON."""

_DEEPEST, _WORDS = 6, 300
_TYPES = frozenset({"string", "integer", "number", "boolean", "array", "object"})
_LIMITS = ("minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength")


def parameters_of(schema: JsonValue) -> Mapping[str, JsonValue]:
    """Returns a JSON Schema of an object. Raises ValueError where it is too large, or none."""
    if not isinstance(schema, dict):
        raise ValueError("its parameters are no object")
    found = schema.get("$defs", schema.get("definitions"))
    made = _part(schema, cast("Mapping[str, JsonValue]", found) if isinstance(found, dict) else {}, 0)
    if made.get("type") != "object":
        raise ValueError("its parameters are not those of an object")
    made.setdefault("properties", {})
    if len(json.dumps(made)) > MAX_CHARS:
        raise ValueError(f"its parameters take more than {MAX_CHARS} characters")
    return made


def _part(schema: JsonValue, named: Mapping[str, JsonValue], depth: int) -> dict[str, JsonValue]:
    """Returns one value's schema: `{}`, anything, for what is not understood."""
    if depth > _DEEPEST or not isinstance(schema, dict):
        return {}
    if isinstance(to := schema.get("$ref"), str):
        return _part(named.get(to.rpartition("/")[2]), named, depth + 1)
    kind = _kind_of(schema)
    if kind is None:
        options = schema.get("anyOf", schema.get("oneOf"))
        made = [_part(option, named, depth + 1) for option in options] if isinstance(options, list) else []
        nothing: dict[str, JsonValue] = {}
        part = next((each for each in made if each), nothing)
    else:
        part = _of_kind(kind, schema, named, depth)
    if isinstance(said := schema.get("description"), str) and said.strip():
        part["description"] = " ".join(without_hidden(said).split())[:_WORDS]
    return part


def _kind_of(schema: Mapping[str, JsonValue]) -> str | None:
    given = schema.get("type")
    kinds = given if isinstance(given, list) else [given]
    return next((kind for kind in kinds if isinstance(kind, str) and kind in _TYPES), None)


def _of_kind(
    kind: str, schema: Mapping[str, JsonValue], named: Mapping[str, JsonValue], depth: int
) -> dict[str, JsonValue]:
    part: dict[str, JsonValue] = {"type": kind}
    part |= {name: value for name in _LIMITS if _is_number(value := schema.get(name))}
    enum = schema.get("enum")
    if isinstance(enum, list) and enum and all(isinstance(each, str | int | float) for each in enum):
        part["enum"] = enum
    if kind == "array":
        part["items"] = _part(schema.get("items"), named, depth + 1)
    properties = schema.get("properties")
    if kind == "object" and isinstance(properties, dict):
        part["properties"] = {
            name: _part(value, named, depth + 1) for name, value in properties.items() if without_hidden(name) == name
        }
        required = schema.get("required")
        part["required"] = [name for name in required if name in properties] if isinstance(required, list) else []
    return part


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
