"""Finds markers in text that arrives in pieces (MOD-04)."""

from __future__ import annotations


def partial_marker_length(text: str, marker: str) -> int:
    """Returns the length of the longest suffix of `text` that a marker could begin with."""
    longest = min(len(text), len(marker) - 1)
    return next((size for size in range(longest, 0, -1) if marker.startswith(text[-size:])), 0)


def ends_in_string(body: str) -> bool:
    """Returns whether JSON text ends inside a string."""
    inside = escaped = False
    for character in body:
        if escaped:
            escaped = False
        elif inside and character == "\\":
            escaped = True
        elif character == '"':
            inside = not inside
    return inside
