"""Normalises JSON Schemas from any source: no references, current spelling, no annotations, bounded size.

A grammar is finite, so a recursive definition is expanded a few times and cut off below that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from pydantic import JsonValue

Schema = dict[str, JsonValue]

MOST_NODES = 20_000
MOST_NESTED = 40
REPEATS = (3, 2, 1, 0)
"""The number of times that a definition may be nested in itself; fewer if the schema would become too large."""

SUBSCHEMAS: tuple[str, ...] = ("items", "additionalProperties")
SCHEMA_LISTS: tuple[str, ...] = ("anyOf", "oneOf", "allOf", "prefixItems")
SCHEMA_MAPS: tuple[str, ...] = ("properties", "patternProperties")
_KEPT: frozenset[str] = frozenset(
    (*SUBSCHEMAS, *SCHEMA_LISTS, *SCHEMA_MAPS, "type", "enum", "const", "required", "minProperties", "maxProperties")
) | {"minItems", "maxItems", "minLength", "maxLength", "pattern", "format", "minimum", "maximum", "multipleOf"} | {
    "exclusiveMinimum",
    "exclusiveMaximum",
}  # fmt: skip
UNGUIDED: frozenset[str] = frozenset(
    {"not", "if", "contains", "propertyNames", "dependentRequired", "dependentSchemas", "dependencies"}
) | {"uniqueItems", "unevaluatedItems", "$dynamicRef", "$recursiveRef"}  # fmt: skip
"""Keywords that exclude values and that the grammar cannot express."""
_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"}
)  # fmt: skip


class SchemaError(ValueError):
    """Why a schema cannot be made into a grammar."""


def write_out(schema: Mapping[str, JsonValue], *, strict: bool) -> Schema:
    """Returns the schema without references. Raises SchemaError, with `strict` also for `UNGUIDED` keywords."""
    for repeats in REPEATS:
        try:
            result = _Writer(schema, repeats, strict).expand(dict(schema), {}, 0)
        except _TooLarge:
            continue
        if isinstance(result, dict):
            return result
        if result is True:
            return {}
        raise SchemaError("no value can satisfy it")
    raise SchemaError(f"written out it has more than {MOST_NODES} parts, or is nested over {MOST_NESTED} levels deep")


class _TooLarge(Exception):
    pass


class _Writer:
    """Expands one schema, in which a definition is nested in itself at most `repeats` times."""

    def __init__(self, root: Mapping[str, JsonValue], repeats: int, strict: bool) -> None:
        self._root = root
        self._repeats = repeats
        self._strict = strict
        self._nodes = 0

    def expand(self, node: JsonValue, inside: Mapping[str, int], level: int) -> JsonValue:
        """Returns a node expanded; `inside` counts the references on the way to it. Raises SchemaError, _TooLarge."""
        self._count(1)
        if level > MOST_NESTED:
            raise _TooLarge
        if isinstance(node, bool):
            return node
        if not isinstance(node, dict):
            raise SchemaError("a part of it is neither an object nor true or false")
        if "$ref" in node:
            return self._expand_reference(node, inside, level)
        kept = _modernise(node)
        if self._strict and (unguided := sorted(UNGUIDED & kept.keys())):
            raise SchemaError(f"`{unguided[0]}` cannot be guided")
        parts = {key: self._part(key, value, inside, level) for key, value in kept.items() if key in _KEPT}
        if self._strict and "oneOf" in parts:
            _check_exclusive(parts["oneOf"])
        return parts

    def _part(self, key: str, value: JsonValue, inside: Mapping[str, int], level: int) -> JsonValue:
        if key in SUBSCHEMAS:
            return self.expand(value, inside, level + 1)
        if key in SCHEMA_LISTS:
            if not isinstance(value, list):
                raise SchemaError(f"`{key}` is not a list")
            return [self.expand(part, inside, level + 1) for part in value]
        if key in SCHEMA_MAPS:
            if not isinstance(value, dict):
                raise SchemaError(f"`{key}` is not an object")
            return {name: self.expand(part, inside, level + 1) for name, part in value.items()}
        self._count(len(value) if isinstance(value, list | dict) else 0)
        return value

    def _count(self, parts: int) -> None:
        self._nodes += parts
        if self._nodes > MOST_NODES:
            raise _TooLarge

    def _expand_reference(self, node: Schema, inside: Mapping[str, int], level: int) -> JsonValue:
        reference = node["$ref"]
        if not isinstance(reference, str):
            raise SchemaError("`$ref` is not a string")
        if inside.get(reference, 0) > self._repeats:
            return False
        target = _resolve_reference(self._root, reference)
        deeper = {**inside, reference: inside.get(reference, 0) + 1}
        beside: Schema = {key: value for key, value in node.items() if key in _KEPT | UNGUIDED}
        whole = self.expand(target, deeper, level + 1)
        if not beside or whole is False:
            return whole
        return {"allOf": [whole, self.expand(beside, inside, level + 1)]}


def _resolve_reference(root: Mapping[str, JsonValue], reference: str) -> JsonValue:
    """Returns the node that a local reference names."""
    if reference == "#":
        return dict(root)
    if not reference.startswith("#/"):
        raise SchemaError(f"`{reference[:80]}` refers to something outside of it; only `#/…` can be followed")
    node: JsonValue = dict(root)
    for step in reference[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and name in node:
            node = node[name]
        elif isinstance(node, list) and name.isdecimal() and int(name) < len(node):
            node = node[int(name)]
        else:
            raise SchemaError(f"`{reference[:80]}` refers to nothing")
    return node


def _modernise(node: Schema) -> Schema:
    """Returns a node in the spelling of draft 2020-12, without keywords that have no effect."""
    result = dict(node)
    if isinstance(items := result.get("items"), list):
        result["prefixItems"] = items
        result["items"] = result.pop("additionalItems", True)
    for strict, loose in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if result.get(strict) is True and loose in result:
            result[strict] = result.pop(loose)
        elif isinstance(result.get(strict), bool):
            del result[strict]
    if result.get("format") not in _FORMATS:
        result.pop("format", None)  # an annotation like any other
    if not result.get("uniqueItems") or result.get("maxItems") in (0, 1):
        result.pop("uniqueItems", None)
    if "if" in result and "then" not in result and "else" not in result:
        del result["if"]
    return result


def _check_exclusive(alternatives: JsonValue) -> None:
    """Raises SchemaError if a value could satisfy two alternatives, because a grammar cannot exclude that."""
    assert isinstance(alternatives, list)
    for left, right in combinations(alternatives, 2):
        if isinstance(left, dict) and isinstance(right, dict) and not _is_exclusive(left, right):
            raise SchemaError("two alternatives of `oneOf` overlap; use `anyOf`")


def _is_exclusive(left: Schema, right: Schema) -> bool:
    shared = _kinds(left) & _kinds(right)
    if not shared:
        return True
    values = (values_of(left), values_of(right))
    if values[0] is not None and values[1] is not None:
        return not any(value in values[1] for value in values[0])
    if shared - {"object"}:
        return False
    return _is_tagged(left, right) or (_lacks(left, right) and _lacks(right, left))


def _is_tagged(left: Schema, right: Schema) -> bool:
    """Returns whether a property that both require distinguishes them."""
    for name in set(_required_names(left)) & set(_required_names(right)):
        one, other = _property(left, name), _property(right, name)
        if one is not None and other is not None and _is_exclusive(one, other):
            return True
    return False


def _lacks(left: Schema, right: Schema) -> bool:
    """Returns whether `right` requires a property that objects of `left`, which is closed, never have."""
    listed = left.get("properties")
    open_ended = left.get("additionalProperties", False) is not False or "patternProperties" in left
    if open_ended or not isinstance(listed, dict) or any(key in left for key in ("allOf", "anyOf", "oneOf")):
        return False
    return any(name not in listed and name not in _required_names(left) for name in _required_names(right))


def _property(schema: Schema, name: str) -> Schema | None:
    listed = schema.get("properties")
    found = listed.get(name) if isinstance(listed, dict) else None
    return found if isinstance(found, dict) else None


def _required_names(schema: Schema) -> list[str]:
    names = schema.get("required")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def values_of(schema: Schema) -> list[JsonValue] | None:
    """Returns the only values that a schema allows, or None if it lists none."""
    if "const" in schema:
        return [schema["const"]]
    listed = schema.get("enum")
    return listed if isinstance(listed, list) else None


def _kinds(schema: Schema) -> frozenset[str]:
    values = values_of(schema)
    if values is not None:
        return frozenset(_kind(value) for value in values)
    kinds = kinds_of(schema)
    return frozenset("number" if kind == "integer" else kind for kind in kinds or _ANY)


_ANY = ("string", "number", "boolean", "null", "array", "object")


def _kind(value: JsonValue) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    return "null" if value is None else "object"


_BY_KEYWORD = {
    "object": ("properties", "patternProperties", "additionalProperties", "required", "minProperties", "maxProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems"),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}


def kinds_of(schema: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """Returns the types that a schema names or its keywords imply; none if it has neither."""
    kind = schema.get("type")
    if isinstance(kind, str):
        return (kind,)
    if isinstance(kind, list):
        return tuple(part for part in kind if isinstance(part, str))
    return next(((kind,) for kind, keys in _BY_KEYWORD.items() if any(key in schema for key in keys)), ())


def branches(schema: Mapping[str, JsonValue], *keys: str) -> Iterator[Schema]:
    """Yields the objects among the alternatives or parts under `keys`."""
    for key in keys:
        parts = schema.get(key)
        if isinstance(parts, list):
            yield from (part for part in parts if isinstance(part, dict))
