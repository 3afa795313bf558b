"""Spells a call in a dialect, byte for byte as the templates of its models do (MOD-16)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import assert_never

from pydantic import JsonValue

from remit_server.models.dialects.dialect import Dialect, JsonObject, PythonKeywords, QuotedKeys, Tagged

PYTHON_WORDS: Mapping[str, JsonValue] = {"True": True, "False": False, "None": None}


def spell_call(dialect: Dialect, name: str, arguments: Mapping[str, JsonValue], call_id: str = "") -> str:
    """Returns the text of one call."""
    identified = f"{dialect.call_id}{call_id}" if dialect.call_id else ""
    head = f"{dialect.marker}{dialect.before_name}{name}{identified}{dialect.after_name}"
    return f"{head}{spell_arguments(dialect, arguments)}{dialect.after_arguments}{dialect.end}"


def spell_arguments(dialect: Dialect, arguments: Mapping[str, JsonValue]) -> str:
    """Returns the text of a call's arguments."""
    match dialect.encoding:
        case JsonObject() as encoding:
            return json.dumps(dict(arguments), ensure_ascii=False, separators=encoding.separators)
        case Tagged() as encoding:
            return "".join(
                f"{encoding.open_key}{key}{encoding.open_value}{_tagged(value, encoding)}{encoding.close_value}"
                for key, value in arguments.items()
            )
        case QuotedKeys(quote=quote):
            return _quoted(dict(arguments), quote)
        case PythonKeywords():
            return ", ".join(f"{key}={_python(value)}" for key, value in arguments.items())
        case _:
            assert_never(dialect.encoding)


def _tagged(value: JsonValue, encoding: Tagged) -> str:
    if isinstance(value, str):
        return value
    if encoding.python_words and (value is None or isinstance(value, bool)):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def _quoted(value: JsonValue, quote: str) -> str:
    match value:
        case str():
            return f"{quote}{value}{quote}"
        case list():
            return f"[{','.join(_quoted(item, quote) for item in value)}]"
        case dict():
            return "{" + ",".join(f"{key}:{_quoted(value[key], quote)}" for key in sorted(value)) + "}"
        case None:
            return "None"
        case _:
            return json.dumps(value)


def _python(value: JsonValue) -> str:
    """JSON's strings are Python's as well; only the three words differ."""
    match value:
        case list():
            return f"[{', '.join(map(_python, value))}]"
        case dict():
            return "{" + ", ".join(f"{json.dumps(key)}: {_python(item)}" for key, item in value.items()) + "}"
        case None | bool():
            return str(value)
        case _:
            return json.dumps(value, ensure_ascii=False)
