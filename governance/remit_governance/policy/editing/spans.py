"""Where things stand in a text, as offsets into it; and the lines and columns of YAML's marks brought to offsets."""

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
        """Returns the offset of a line and column, both from 1; what lies beyond the text or line is brought to its
        end."""
        index = min(max(line, 1), len(self._starts)) - 1
        start, end = self._starts[index], self._ends[index]
        if _NOT_COUNTED not in self._text[start:end]:
            return min(start + max(column, 1) - 1, end)
        counted = [i for i in range(start, end) if self._text[i] != _NOT_COUNTED]
        return counted[column - 1] if 0 < column <= len(counted) else end

    def span(self, line: int) -> Span:
        """Finds what stands in a line, without the space around it; its start where that is nothing."""
        index = min(max(line, 1), len(self._starts)) - 1
        return self._content(self._starts[index], self._ends[index])

    def rest(self, offset: int) -> Span:
        """From the offset to the end of its line; where nothing is left there, the last line before with content."""
        index = max(bisect_right(self._starts, offset) - 1, 0)
        found = self._content(min(offset, self._ends[index]), self._ends[index])
        while found.start == found.end and index >= 0:
            found = self._content(self._starts[index], self._ends[index])
            index -= 1
        return found

    def _content(self, start: int, end: int) -> Span:
        found = _CONTENT.search(self._text, start, end)
        return Span(found.start(), found.end()) if found else Span(start, start)
