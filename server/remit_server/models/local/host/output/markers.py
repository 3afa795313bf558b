"""Finds markers in text that arrives in pieces (MOD-04)."""

from __future__ import annotations

from dataclasses import dataclass


def partial_marker_length(text: str, marker: str) -> int:
    """Returns the length of the longest suffix of `text` that a marker could begin with."""
    longest = min(len(text), len(marker) - 1)
    return next((size for size in range(longest, 0, -1) if marker.startswith(text[-size:])), 0)


@dataclass(slots=True)
class JsonStrings:
    """Tells whether a place of a growing JSON text is inside a string; each character is looked at once."""

    at: int = 0
    inside: bool = False
    escaped: bool = False

    def reach(self, text: str, end: int) -> bool:
        """Returns whether a place is inside a string; it must not lie before one that was asked about."""
        for character in text[self.at : end]:
            if self.escaped:
                self.escaped = False
            elif self.inside and character == "\\":
                self.escaped = True
            elif character == '"':
                self.inside = not self.inside
        self.at = end
        return self.inside
