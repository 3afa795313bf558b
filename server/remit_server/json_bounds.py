"""Bounds on what one JSON text may cost: checked before it is read (LSP-02), and on how deep its value is nested."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast

MOST_VALUES = 500_000
"""The most values of one message; a value in memory takes some 60 to 250 bytes."""

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SEPARATORS = (b",", b"[", b"{")


def has_too_many_values(data: bytes, most: int = MOST_VALUES) -> bool:
    """Returns whether a JSON text holds more than `most` values. Takes linear time, and builds no values."""
    if _separators(data) <= most:  # signs in strings are counted, too, so this is never too low
        return False
    return _separators(_STRING.sub(b"", data)) > most


def has_values_below(value: object, levels: int) -> bool:
    """Returns whether a JSON value has others below so many levels of lists and objects; looks at no more levels."""
    level: list[object] = [value]
    for _ in range(levels):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return False
    return True


def _inside(value: object) -> Iterable[object]:
    match value:
        case dict():
            return cast("dict[str, object]", value).values()
        case list():
            return cast("list[object]", value)
        case _:
            return ()


def _separators(data: bytes) -> int:
    """Returns how many values begin, the outermost one not counted: each follows a comma, or the beginning of a list or
    an object."""
    return sum(map(data.count, _SEPARATORS))
