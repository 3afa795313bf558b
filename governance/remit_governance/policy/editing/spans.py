"""Spans of a text as offsets into it, and the conversion of the lines and columns of YAML's marks to offsets."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

_YAML_LINE_END = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_NOT_COUNTED = "\ufeff"
_CONTENT = re.compile(r"\S(?:[^\r\n]*\S)?")


@dataclass(frozen=True, slots=True)
class Span:
    """Characters of a text, `end` exclusive."""

    start: int
    end: int


class YamlLines:
    """The lines of a text as YAML counts them, which ends lines at more characters than editors do."""

    def __init__(self, text: str) -> None:
        self._text = text
        ends = list(_YAML_LINE_END.finditer(text))
        self._starts = [0, *(end.end() for end in ends)]
        self._ends = [*(end.start() for end in ends), len(text)]

    def offset(self, line: int, column: int) -> int:
        """Returns the offset of a line and column, both from 1. A place beyond the text or the line becomes its end."""
        index = min(max(line, 1), len(self._starts)) - 1
        start, end = self._starts[index], self._ends[index]
        if _NOT_COUNTED not in self._text[start:end]:
            return min(start + max(column, 1) - 1, end)
        counted = [i for i in range(start, end) if self._text[i] != _NOT_COUNTED]
        return counted[column - 1] if 0 < column <= len(counted) else end

    def span(self, line: int) -> Span:
        """Returns the span of what stands in a line, without the space around it; an empty span at the line's start if
        nothing does."""
        index = min(max(line, 1), len(self._starts)) - 1
        return self._content(self._starts[index], self._ends[index])

    def rest(self, offset: int) -> Span:
        """Returns the span from the offset to the end of its line; if nothing is left there, the span of the nearest
        line with content, from this one upwards."""
        index = max(bisect_right(self._starts, offset) - 1, 0)
        found = self._content(min(offset, self._ends[index]), self._ends[index])
        while found.start == found.end and index >= 0:
            found = self._content(self._starts[index], self._ends[index])
            index -= 1
        return found

    def _content(self, start: int, end: int) -> Span:
        found = _CONTENT.search(self._text, start, end)
        return Span(found.start(), found.end()) if found else Span(start, start)
