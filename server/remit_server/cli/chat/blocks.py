"""Splits Markdown that is still being written into blocks that are whole; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LIST = re.compile(r" {0,3}([-*+]|\d{1,9}[.)])(?:\s|$)")


@dataclass(slots=True)
class Blocks:
    """What was written and not taken yet. A block ends at an empty line outside of code, or where code ends.

    Items of a list stay together. Each line is looked at once, when it is whole.
    """

    _lines: list[str] = field(default_factory=list[str])
    _line: list[str] = field(default_factory=list[str])
    _fence: str = ""
    _in_list: bool = False
    _paused: bool = False

    def take(self, more: str) -> list[str]:
        """Returns the blocks that are whole now, in order."""
        *ends, rest = more.split("\n")
        whole: list[str] = []
        for end in ends:
            line = "".join((*self._line, end))
            self._line = []
            # Only the line behind an empty one says whether a list goes on.
            if self._paused and line.strip() and not _goes_on(line):
                whole += self._end()
            self._lines.append(line)
            if self._ends_with(line):
                whole += self._end()
        self._line.append(rest)
        return whole

    def last_lines(self, most: int) -> list[str]:
        """Returns the last lines of the block that is being written; none where all of it is blank."""
        if not any(map(str.strip, self._lines)) and not any(map(str.strip, self._line)):
            return []
        return [*self._lines[-most:], "".join(self._line)][-most:]

    def finish(self) -> list[str]:
        """Returns what is left, as the last block."""
        self._lines.append("".join(self._line))
        self._line = []
        return self._end()

    def _ends_with(self, line: str) -> bool:
        """Whether a line that was added certainly ends the block."""
        mark = _FENCE.match(line)
        if self._fence:
            return mark is not None and mark[1].startswith(self._fence) and not line.strip().strip(self._fence[0])
        self._paused = self._in_list and not line.strip()
        if mark is not None:
            self._fence = mark[1]
        self._in_list = self._in_list or (mark is None and _LIST.match(line) is not None)
        return not line.strip() and not self._in_list

    def _end(self) -> list[str]:
        """Returns the block, unless it is empty, and begins the next one."""
        block = "\n".join(self._lines).strip("\n")
        self._lines, self._fence, self._in_list, self._paused = [], "", False, False
        return [block] if block.strip() else []


def _goes_on(line: str) -> bool:
    """Whether a list goes on with this line: with another item, or because it is indented."""
    return line.startswith(("  ", "\t")) or _LIST.match(line) is not None
