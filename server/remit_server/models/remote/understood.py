"""Repairs a served model's call: removes what a template left at the tool's name, and converts arguments to the wanted
types (MOD-19).

Only what can be meant in one way is repaired. Everything else stays as it is, and the dispatcher says what is wrong
with it. Policy judges the repaired call.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue

from remit_server.models.ports import ProposedCall, ToolSpec
from remit_server.models.unreadable import is_too_deep, too_deep

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,17})?")
_WORDS: Mapping[str, JsonValue] = {"true": True, "false": False}
_BEFORE = re.compile(r"\A(?:functions?|tools?|default_api)[.:/]")
_BEHIND = re.compile(r"(?:<\||<tool|[\s({\"'`]).*\Z", re.DOTALL)


def understand(call: ProposedCall, tools: Sequence[ToolSpec]) -> ProposedCall:
    """Returns the call as it was meant, or the same call if nothing has to be repaired."""
    if is_too_deep(dict(call.arguments)):
        return too_deep()
    offered = {tool.name: tool for tool in tools}
    name = call.name if call.name in offered else _BEHIND.sub("", _BEFORE.sub("", call.name.strip()))
    tool = offered.get(name)
    if tool is None:
        return call
    return replace(call, name=name, arguments=_understood(call.arguments, tool.parameters))


def _understood(arguments: Mapping[str, JsonValue], schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict):
        return dict(arguments)
    needed = required if isinstance(required, list) else []
    return {
        name: _typed(value, properties.get(name))
        for name, value in arguments.items()
        # Several servers send null for an optional argument that is absent.
        if value is not None or name in needed or name not in properties or "null" in _types(properties[name])
    }


def _typed(value: JsonValue, schema: JsonValue) -> JsonValue:
    """Returns a text as an integer, number or boolean if it spells exactly that and the schema wants it."""
    types = _types(schema)
    if not isinstance(value, str) or not types or "string" in types:
        return value
    if "integer" in types and _INTEGER.fullmatch(value):
        return int(value)
    if "number" in types and _NUMBER.fullmatch(value):
        return float(value)
    return _WORDS.get(value, value) if "boolean" in types else value


def _types(schema: JsonValue) -> frozenset[str]:
    """Returns the types that a value may have, as far as the schema says so itself."""
    if not isinstance(schema, dict):
        return frozenset()
    stated, options = schema.get("type"), schema.get("anyOf")
    own = [stated] if isinstance(stated, str) else stated if isinstance(stated, list) else []
    inner = [kind for option in options for kind in _types(option)] if isinstance(options, list) else []
    return frozenset(str(kind) for kind in [*own, *inner])
