"""How long the data of a result may be, and how its lists are cut to fit (TOOL-03)."""

from __future__ import annotations

import json
from collections.abc import Iterable

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, to_json

MAX_DATA = 256 * 1024
"""Characters of a result's data as JSON: longer data are not handed on at all."""


def json_length(value: JsonValue) -> int:
    """Returns how many characters the value has as JSON."""
    try:
        return len(to_json(value).decode())
    except PydanticSerializationError:  # half a character, of which only some writers speak
        return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def take_fitting(items: Iterable[JsonValue], room: int) -> list[JsonValue]:
    """Returns the first of the items, as many as fit into so many characters of JSON."""
    taken: list[JsonValue] = []
    for item in items:
        room -= json_length(item) + 1
        if room < 0:
            break
        taken.append(item)
    return taken
