"""Text in LSP's units: lines end with LF, CRLF or CR, and characters count units of the encoding (FILE-03; LSP-07)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias

_LINE_END = re.compile(r"\r\n|\r|\n")
_IDENTIFIER = re.compile(r"[^\W\d]\w*")


Encoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]
"""The unit of `Place.character`: bytes, units of UTF-16, or code points."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A zero-based line and a character in units of the encoding."""

    line: int
    character: int


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces the text between two places, end exclusive, by `text`."""

    start: Place
    end: Place
    text: str


def split_lines(text: str) -> list[str]:
    """Returns the lines with their line ends, which the last one may lack. Joined, the lines are `text`."""
    lines: list[str] = []
    start = 0
    for end in _LINE_END.finditer(text):
        lines.append(text[start : end.end()])
        start = end.end()
    if start < len(text):
        lines.append(text[start:])
    return lines


def apply_changes(text: str, edits: Iterable[Edit | str], encoding: Encoding = "utf-16") -> str:
    """Applies the edits in order and returns the text; a bare string is the whole new text.

    Places past the end of a line or of the text mean that end, as in LSP. Each edit touches only its own lines, so that
    thousands of edits in a long text take time in proportion to their own size.
    """
    lines = split_lines(text)
    for edit in edits:
        if isinstance(edit, str):
            lines = split_lines(edit)
        else:
            _edit_lines(lines, edit, encoding)
    return "".join(lines)


def _edit_lines(lines: list[str], edit: Edit, encoding: Encoding) -> None:
    (first, before), (last, after) = sorted(_in_lines(lines, place, encoding) for place in (edit.start, edit.end))
    head = lines[first][:before] if first < len(lines) else ""
    tail = lines[last][after:] if last < len(lines) else ""
    low, high = max(0, first - 1), last + 2  # with the neighbours, because a CR may meet an LF, or a line lose its end
    beside = ("".join(lines[low:first]), "".join(lines[last + 1 : high]))
    lines[low:high] = split_lines(beside[0] + head + edit.text + tail + beside[1])


def _in_lines(lines: list[str], place: Place, encoding: Encoding) -> tuple[int, int]:
    """Returns a place as a line's index and an index into that line; (number of lines, 0) if it is past the lines."""
    if place.line >= len(lines):
        return len(lines), 0
    line = lines[place.line]
    return place.line, _index_of_unit(line.rstrip("\r\n"), place.character, encoding)


def offset_at(text: str, place: Place, encoding: Encoding = "utf-16") -> int:
    """Returns a place's index into `text`."""
    start = 0
    if place.line > 0:
        end = next(islice(_LINE_END.finditer(text), place.line - 1, None), None)
        if end is None:
            return len(text)
        start = end.end()
    stop = _LINE_END.search(text, start)
    line = text[start : stop.start() if stop else len(text)]
    return start + _index_of_unit(line, place.character, encoding)


def minimal_edit(before: str, after: str, encoding: Encoding = "utf-16") -> Edit:
    """Returns the one edit that turns `before` into `after`, without the lines that both begin or end with."""
    old, new = split_lines(before), split_lines(after)
    shortest = min(len(old), len(new))
    head = 0
    while head < shortest and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shortest - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return Edit(
        _line_start(old, head, encoding),
        _line_start(old, len(old) - tail, encoding),
        "".join(new[head : len(new) - tail]),
    )


def identifier_at(text: str, start: Place, end: Place, encoding: Encoding = "utf-16") -> str | None:
    """Returns the identifier that the selection lies in or exactly covers; a cursor is an empty selection."""
    first, last = sorted(offset_at(text, place, encoding) for place in (start, end))
    line_start = max(text.rfind("\n", 0, first), text.rfind("\r", 0, first)) + 1
    for found in _IDENTIFIER.finditer(text, line_start):
        if found.start() > first:
            return None
        if last <= found.end():
            return found.group()
    return None


def same_but_for_line_ends(one: str, other: str) -> bool:
    """Returns whether two texts are equal apart from line ends, which the editor chooses."""
    return one == other or _LINE_END.sub("\n", one) == _LINE_END.sub("\n", other)


def _line_start(lines: list[str], index: int, encoding: Encoding) -> Place:
    """Returns the start of line `index`. Past a last line without a line end, this is the end of that line."""
    if 0 < index == len(lines) and not lines[-1].endswith(("\n", "\r")):
        return Place(index - 1, units(lines[-1], encoding))
    return Place(index, 0)


def units(text: str, encoding: Encoding = "utf-16") -> int:
    """Returns how many units of the encoding a text has."""
    return len(text) if encoding == "utf-32" or text.isascii() else sum(map(_UNITS[encoding], text))


_UNITS: Mapping[Encoding, Callable[[str], int]] = {
    "utf-8": lambda character: 1 + (character > "\u007f") + (character > "\u07ff") + (character > "\uffff"),
    "utf-16": lambda character: 1 + (character > "\uffff"),
    "utf-32": lambda _: 1,
}
"""How many units a character has."""


def _index_of_unit(line: str, unit: int, encoding: Encoding) -> int:
    if unit <= 0:
        return 0
    if line[:unit].isascii():
        return min(unit, len(line))
    seen, size = 0, _UNITS[encoding]
    for index, character in enumerate(line[:unit]):
        seen += size(character)
        if seen >= unit:
            return index + 1 if seen == unit else index
    return len(line)
