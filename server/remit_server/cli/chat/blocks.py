"""Splits Markdown that is still being written into blocks that are whole; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LIST = re.compile(r" {0,3}([-*+]|\d{1,9}[.)])\s")


@dataclass(slots=True)
class Blocks:
    """What was written and not taken yet. A block ends at an empty line outside of code, or where code ends."""

    rest: str = ""

    def take(self, more: str) -> list[str]:
        """Returns the blocks that are whole now, in order."""
        self.rest += more
        whole: list[str] = []
        while (end := _end_of_block(self.rest)) is not None:
            block, self.rest = self.rest[:end], self.rest[end:]
            if block.strip():
                whole.append(block.strip("\n"))
        return whole

    def finish(self) -> list[str]:
        """Returns what is left, as the last block."""
        left, self.rest = self.rest.strip("\n"), ""
        return [left] if left.strip() else []


def _end_of_block(text: str) -> int | None:
    """Where the first block ends; None where that is not known yet. Items of a list stay together."""
    at, fence, in_list, begun = 0, "", False, False
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if not line.endswith("\n"):
            return None
        at += len(line)
        mark = _FENCE.match(line)
        if fence:
            if mark is not None and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                return at
        elif mark is not None:
            fence, begun = mark[1], True
        elif line.strip():
            in_list, begun = in_list or _LIST.match(line) is not None, True
        elif begun and in_list:
            following = lines[number + 1] if number + 1 < len(lines) else ""
            # Only a whole line says whether it is an item.
            if following.endswith("\n") and following.strip() and not _goes_on(following):
                return at
        elif begun:
            return at
    return None


def _goes_on(line: str) -> bool:
    """Whether a list goes on with this line: with another item, or because it is indented."""
    return line.startswith(("  ", "\t")) or _LIST.match(line) is not None
