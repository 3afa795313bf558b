"""How long the data of a result may be, and how its lists are cut to fit (TOOL-03)."""

from __future__ import annotations

import json
from collections.abc import Iterable

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, to_json

MAX_DATA = 256 * 1024
"""Limit for a result's data, in characters of JSON. Longer data are not passed on at all."""


def json_length(value: JsonValue) -> int:
    """Returns how many characters the value has as JSON."""
    try:
        return len(to_json(value).decode())
    except PydanticSerializationError:  # a lone surrogate, which only some serializers can write
        return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def take_fitting(items: Iterable[JsonValue], room: int) -> list[JsonValue]:
    """Returns the first items, as many as fit into `room` characters of JSON."""
    taken: list[JsonValue] = []
    for item in items:
        room -= json_length(item) + 1
        if room < 0:
            break
        taken.append(item)
    return taken
