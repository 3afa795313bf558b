"""What a test is made of in languages that are read as lines: its own, and what these name in the file (FLW-04)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

_DEFINES = re.compile(
    r"\s*(?:(?:export|default|async|declare|pub(?:\([^)]*\))?)\s+)*"
    r"(?:const|let|var|function\*?|class|enum|func|fn|static|import)\s+(?:mut\s+)?(\w+)"
)
_WORD = re.compile(r"\w+")
_FILE = re.compile(r"(?<![\w.-])[\w.-]+\.\w+")
_COMMENT = ("//", "/*", "*")
MOST_LOOKED_AT = 200_000
"""Lines that are looked at, each as often as it is, for one test. Of a file in which that is not enough a test is all
of it: then whatever is changed there changes the test."""


class _TooManyError(Exception):
    """More lines would have to be looked at."""


@dataclass(slots=True)
class _Lines:
    """The lines of a file, and how many may still be looked at."""

    all: list[str]
    left: int = MOST_LOOKED_AT

    def look(self, count: int) -> None:
        """Counts lines before they are looked at. Raises _TooManyError."""
        self.left -= count
        if self.left < 0:
            raise _TooManyError


def text_pieces(text: str, leaf: str, titles: tuple[str, ...] = ()) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """Yields the blocks that each block which makes a test of a name is made of, and the names of files in these.

    It stands below lines that name the `titles`.
    """
    lines = _Lines(text.splitlines())
    quoted = re.escape(leaf)
    makes = re.compile(rf"(['\"`]){quoted}\1\s*[,)]|\b(?:func|fn)\s+{quoted}\s*[(<]")
    tests = (
        start
        for start, line in enumerate(lines.all)
        if makes.search(line) and not line.strip().startswith(_COMMENT) and _is_below(lines, start, titles)
    )
    yield from _pieces(tests, lines, text)


def loose_text_pieces(text: str, leaf: str, *, named_by_table: bool) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """Yields what `text_pieces` does of each block that names the test, whatever it says of it.

    With `named_by_table` a test whose name stands nowhere is one that the file makes of a table: it is the whole file.
    """
    lines = _Lines(text.splitlines())
    named = re.compile(rf"(?<!\w){re.escape(leaf)}(?!\w)")
    tests = [start for start, line in enumerate(lines.all) if named.search(line)]
    yield from _pieces(tests, lines, text)
    if not tests and named_by_table:
        yield _whole(lines)


def _pieces(tests: Iterable[int], lines: _Lines, text: str) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    try:
        for start in tests:
            yield _told(_reached_from(start, lines, _definitions(text)))
    except _TooManyError:
        yield _whole(lines)


def _whole(lines: _Lines) -> tuple[frozenset[str], frozenset[str]]:
    return _told({line.strip() for line in lines.all if not line.strip().startswith(_COMMENT)})


def _is_below(lines: _Lines, start: int, titles: tuple[str, ...]) -> bool:
    """Tells whether the lines that a line stands below name all of the titles."""
    lines.look(start)
    depth, above = _indent(lines.all[start]), [lines.all[start]]
    for line in reversed(lines.all[:start]):
        if line.strip() and _indent(line) < depth:
            depth = _indent(line)
            above.append(line)
    return all(any(title in line for line in above) for title in titles)


@dataclass(frozen=True, slots=True)
class _Definition:
    """A line that gives something a name, and how deep it stands."""

    start: int
    indent: int


@lru_cache(maxsize=64)
def _definitions(text: str) -> Mapping[str, tuple[_Definition, ...]]:
    found: dict[str, list[_Definition]] = {}
    for start, line in enumerate(text.splitlines()):
        if (defined := _DEFINES.match(line)) is not None:
            found.setdefault(defined[1], []).append(_Definition(start, _indent(line)))
    return MappingProxyType({name: tuple(each) for name, each in found.items()})


def _reached_from(test: int, lines: _Lines, known: Mapping[str, tuple[_Definition, ...]]) -> set[str]:
    """Returns the texts of a block and of those that it names: what stands deeper than it is another's own."""
    deepest = _indent(lines.all[test])
    reached, open_ = {test: _block(lines, test)}, [test]
    while open_:
        for name in set(_WORD.findall(reached[open_.pop()])):
            lines.look(len(known.get(name, ())))
            for definition in known.get(name, ()):
                if definition.indent <= deepest and definition.start not in reached:
                    reached[definition.start] = _block(lines, definition.start)
                    open_.append(definition.start)
    return set(reached.values())


def _block(lines: _Lines, start: int) -> str:
    """Returns the lines from one down to the first that is indented no deeper, that one only where it closes the block,
    with the attributes of Rust's above it; no comments."""
    first = start
    while first > 0 and lines.all[first - 1].strip().startswith("#["):
        first -= 1
    indent, end = _indent(lines.all[start]), start + 1
    lines.look(end - first)
    while end < len(lines.all) and (not lines.all[end].strip() or _indent(lines.all[end]) > indent):
        lines.look(1)
        end += 1
    closes = end < len(lines.all) and lines.all[end].strip().startswith((")", "]", "}"))
    block = (each.strip() for each in lines.all[first : end + closes])
    return "\n".join(each for each in block if each and not each.startswith("//"))


def _told(parts: set[str]) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(parts), frozenset(file for part in parts for file in _FILE.findall(part))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
