"""Bounds of JSON: what reading one text may cost, checked before it is read (LSP-02); how long the data of a result may
be, and how its lists are cut to fit (TOOL-03).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, to_json

MOST_VALUES = 500_000
"""Values of one message; read, one takes some 60 to 250 bytes."""

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SEPARATORS = (b",", b"[", b"{")


def has_too_many_values(data: bytes, most: int = MOST_VALUES) -> bool:
    """Returns whether a JSON text holds more than `most` values. Linear in its length, and nothing of it is built."""
    if _separators(data) <= most:  # strings counted with the rest: never fewer than there are
        return False
    return _separators(_STRING.sub(b"", data)) > most


def _separators(data: bytes) -> int:
    """Returns how many values begin, the outermost one not counted: each follows a comma or opens a list or an
    object."""
    return sum(map(data.count, _SEPARATORS))


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
