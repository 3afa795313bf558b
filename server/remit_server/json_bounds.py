"""A bound on what reading one JSON text may cost, checked before it is read (LSP-02)."""

from __future__ import annotations

import re

MOST_VALUES = 500_000
"""The most values of one message; a value in memory takes some 60 to 250 bytes."""

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SEPARATORS = (b",", b"[", b"{")


def has_too_many_values(data: bytes, most: int = MOST_VALUES) -> bool:
    """Returns whether a JSON text holds more than `most` values. Takes linear time, and builds no values."""
    if _separators(data) <= most:  # signs in strings are counted, too, so this is never too low
        return False
    return _separators(_STRING.sub(b"", data)) > most


def _separators(data: bytes) -> int:
    """Returns how many values begin, the outermost one not counted: each follows a comma, or the beginning of a list or
    an object."""
    return sum(map(data.count, _SEPARATORS))
