"""Reads a call in a dialect. One that is not certain to the last character is refused, never guessed at (MOD-04)."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never, cast

from pydantic import JsonValue, TypeAdapter, ValidationError

from remit_governance.secrets.cutting import shorten
from remit_governance.secrets.redaction import map_strings
from remit_server.models.dialects.quoted_keys import parse_quoted
from remit_server.models.dialects.table import (
    COMPACT,
    HARMONY,
    PYTHON_WORDS,
    Dialect,
    JsonObject,
    PythonKeywords,
    QuotedKeys,
    Tagged,
)
from remit_server.models.unreadable import TOO_DEEP, is_too_deep, well_formed

Schemas = Mapping[str, Mapping[str, JsonValue]]
"""The schema of each tool's arguments, which is needed because some dialects do not tell numbers from text."""

_NAME = r"[\w.-]+"
_NAMED_JSON = re.compile(rf"\s*(?:functions\.)?({_NAME})(?:\[CALL_ID\]\w+)?\s*\[ARGS\]\s*(?=\{{)")
_HARMONY = re.compile(
    rf"({_NAME})\s*(?:<\|channel\|>\s*\w+)?\s*(?:<\|constrain\|>)?\s*(?:json)?\s*<\|message\|>(?=.)", re.DOTALL
)
_DECODER = json.JSONDecoder()


class UnreadableCall(ValueError):
    """The text between the markers is not a call."""


class TextFollows(UnreadableCall):
    """Text follows the complete calls, so they were quoted (MOD-14)."""


@dataclass(frozen=True, slots=True)
class ReadCall:
    """A complete call as the model spelled it."""

    name: str
    arguments: dict[str, JsonValue]


_CALL = TypeAdapter(ReadCall)


def read_calls(dialect: Dialect, body: str, schemas: Schemas) -> tuple[ReadCall, ...]:
    """Returns the calls of the text between a marker and its end: one, or several if the dialect allows it.

    Raises UnreadableCall if any part of the text is uncertain; no part of it is used then.
    """
    if dialect.end == COMPACT.end and body.lstrip().startswith("{"):  # models with tags fall back to JSON
        return (read_object(body),)
    match dialect.encoding:
        case JsonObject():
            calls = tuple(_read_json(dialect, body))
        case Tagged() as encoding:
            calls = (_read_tagged(dialect, encoding, body, schemas),)
        case QuotedKeys(quote=quote):
            calls = (_read_quoted(body, quote),)
        case PythonKeywords():
            calls = _read_python(body)
        case _:
            assert_never(dialect.encoding)
    if not calls:
        raise UnreadableCall("there is no call between the markers")
    return calls


def read_object(text: str) -> ReadCall:
    """Returns the call of a JSON object with a name and arguments. Raises UnreadableCall."""
    try:
        return as_call(json.loads(text))
    except UnreadableCall:
        raise
    except (ValueError, RecursionError) as error:
        raise UnreadableCall(f"the call is not JSON: {error}") from error


def as_call(value: object) -> ReadCall:
    """Returns an object as a call. Raises UnreadableCall if it has no name or no arguments, or is nested too deep."""
    if isinstance(value, dict) and "arguments" not in value and "parameters" in value:
        value = {**cast("dict[str, object]", value), "arguments": cast("dict[str, object]", value)["parameters"]}
    if isinstance(value, dict) and is_too_deep(cast("dict[str, object]", value).get("arguments")):
        raise UnreadableCall(TOO_DEEP)
    try:
        call = _CALL.validate_python(value)
    except ValidationError as error:
        raise UnreadableCall("the call has no name or no arguments") from error
    return ReadCall(well_formed(call.name), map_strings(call.arguments, well_formed))


def _read_json(dialect: Dialect, body: str) -> Iterator[ReadCall]:
    if dialect is HARMONY:
        yield from _read_named(_HARMONY, body, "")
    elif dialect.marker == "[TOOL_CALLS]" and not body.lstrip().startswith("["):
        yield from _read_named(_NAMED_JSON, body, dialect.marker)
    elif dialect.marker == "[TOOL_CALLS]":
        yield from map(as_call, _as_list(_load(body)))
    elif not dialect.end:  # the marker is the beginning of the object itself
        yield from read_objects(dialect.marker + body)
    else:
        yield read_object(body)


def _read_named(head: re.Pattern[str], text: str, marker: str) -> Iterator[ReadCall]:
    """Yields calls whose name stands before their JSON."""
    while True:
        found = head.match(text)
        if found is None:
            raise UnreadableCall("it is not a name with arguments in JSON")
        value, text = _next_value(text[found.end() :])
        yield as_call({"name": found[1], "arguments": value})
        if not text.strip():
            return
        if not marker or not text.lstrip().startswith(marker):
            raise TextFollows("text follows the arguments")
        text = text.lstrip().removeprefix(marker)


def read_objects(text: str) -> Iterator[ReadCall]:
    """Yields the calls of JSON objects in a row. Raises UnreadableCall."""
    while True:
        value, text = _next_value(text)
        yield as_call(value)
        if not (text := text.strip()):
            return
        if not text.startswith((";", "{")):
            raise TextFollows("text follows the call")
        text = text.removeprefix(";").lstrip()


def _next_value(text: str) -> tuple[object, str]:
    try:
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableCall(f"the call is not JSON: {error}") from error
    return cast("object", value), text[end:]


def _load(text: str) -> object:
    value, rest = _next_value(text.strip())
    if rest:
        raise TextFollows("text follows the calls")
    return value


def _as_list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else [value]


def _read_tagged(dialect: Dialect, encoding: Tagged, body: str, schemas: Schemas) -> ReadCall:
    before, after = dialect.before_name.strip(), dialect.after_name.strip()
    body = body.lstrip().removeprefix(before) if body.lstrip().startswith(before) else ""
    head = re.match(rf"\s*({_NAME}){re.escape(after)}\s*", body)
    if head is None:
        raise UnreadableCall(f"it does not begin as a call in the model's format, {dialect.name}")
    text = body[head.end() :].rstrip()
    closing = dialect.after_arguments.strip()
    if not text.endswith(closing):
        raise UnreadableCall(f"it does not end with `{closing}`")
    text = text.removesuffix(closing).rstrip(" \t")
    types = _property_schemas(schemas.get(head[1], {}))
    arguments: dict[str, JsonValue] = {}
    for key, value in _pairs(encoding, text):
        if key in arguments:
            raise UnreadableCall(f"the argument `{key}` is given twice")
        arguments[key] = value if can_be_text(types.get(key)) else _typed(value)
    return as_call({"name": head[1], "arguments": arguments})


def _pairs(encoding: Tagged, text: str) -> Iterator[tuple[str, str]]:
    """Yields each argument's name and text, without the newlines that the template puts around a value."""
    opening, middle, closing = encoding.open_key, encoding.open_value.strip(), encoding.close_value.strip()
    between = r"\s*".join(map(re.escape, re.split(r"\n|(?<=>)(?=<)", middle)))
    lead = r"\n?" if encoding.open_value.endswith("\n") else ""
    trail = r"\n?" if encoding.close_value.startswith("\n") else ""
    one = re.compile(
        rf"{re.escape(opening)}([^\s<>]+){between}{lead}((?:(?!{re.escape(closing)}).)*?){trail}{re.escape(closing)}\s*",
        re.DOTALL,
    )
    at = 0
    while at < len(text):
        found = one.match(text, at)
        if found is None:
            raise UnreadableCall("an argument is not closed, or there is text between two")
        yield found[1], found[2]
        at = found.end()


def _property_schemas(schema: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def can_be_text(schema: JsonValue) -> bool:
    """Returns whether a value of this schema can be text; if nothing is known of the schema, it can."""
    if not isinstance(schema, dict):
        return True
    kinds = schema.get("type")
    if kinds == "string" or (isinstance(kinds, list) and "string" in kinds):
        return True
    options = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    if isinstance(options, list) and any(isinstance(option, str) for option in options):
        return True
    nested = [part for key in ("anyOf", "oneOf", "allOf") for part in _as_list(schema.get(key) or [])]
    if nested:
        return any(can_be_text(cast("JsonValue", part)) for part in nested)
    return kinds is None and not options


def _typed(text: str) -> JsonValue:
    """Returns the value that a text spells; an unreadable one stays text, which the tool's schema then refuses."""
    if text.strip() in PYTHON_WORDS:
        return PYTHON_WORDS[text.strip()]
    try:
        return cast("JsonValue", json.loads(text))
    except (ValueError, RecursionError):
        return text


def _read_quoted(body: str, quote: str) -> ReadCall:
    head = re.match(rf"\s*call:({_NAME})(?=\{{)", body)
    if head is None:
        raise UnreadableCall("it does not begin with `call:` and a name")
    try:
        return as_call({"name": head[1], "arguments": parse_quoted(body[head.end() :].strip(), quote)})
    except ValueError as error:
        raise UnreadableCall(str(error)) from error


_PLAIN = (ast.Constant, ast.List, ast.Dict, ast.UnaryOp, ast.USub, ast.Load)
_WORDS: Mapping[str, JsonValue] = {"true": True, "false": False, "null": None}


def _read_python(body: str) -> tuple[ReadCall, ...]:
    try:
        tree = ast.parse(body.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnreadableCall(shorten(f"it is not a Python expression: {error}", 200)) from error
    if not isinstance(tree, ast.List):
        raise UnreadableCall("it is not a list of calls")
    return tuple(map(_read_python_call, tree.elts))


def _read_python_call(node: ast.expr) -> ReadCall:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.args:
        raise UnreadableCall("it is not a list of calls whose arguments have names")
    arguments: dict[str, object] = {}
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in arguments:
            raise UnreadableCall("an argument has no name, or is given twice")
        arguments[keyword.arg] = _python_value(keyword.value)
    return as_call({"name": node.func.id, "arguments": arguments})


def _python_value(node: ast.expr) -> object:
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id not in _WORDS:
            raise UnreadableCall(f"the value `{part.id}` is not a plain one")
        if not isinstance(part, (*_PLAIN, ast.Name)):
            raise UnreadableCall("its arguments are not plain values")
    return _evaluate(node)


def _text(key: ast.expr) -> str:
    if isinstance(key, ast.Constant) and isinstance(key.value, str):
        return key.value
    raise UnreadableCall("a key of its arguments is not text")


def _evaluate(node: ast.expr) -> object:
    match node:
        case ast.Name(id=name):
            return _WORDS[name]
        case ast.List(elts=items):
            return [_evaluate(item) for item in items]
        case ast.Dict(keys=keys, values=values) if all(key is not None for key in keys):
            spelled = [_text(cast("ast.expr", key)) for key in keys]
            return {key: _evaluate(value) for key, value in zip(spelled, values, strict=True)}
        case _:
            try:
                return cast("object", ast.literal_eval(node))
            except (ValueError, RecursionError) as error:
                raise UnreadableCall("its arguments are not plain values") from error
