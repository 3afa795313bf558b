"""What a test is made of in languages that are read as lines: its own, and what these name in the file (FLW-04)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

_DEFINES = re.compile(
    r"\s*(?:(?:export|default|async|declare|pub(?:\([^)]*\))?)\s+)*"
    r"(?:const|let|var|function\*?|class|enum|func|fn|static|import)\s+(?:mut\s+)?(\w+)"
)
_WORD = re.compile(r"\w+")
_FILE = re.compile(r"[\w.-]+\.\w+")
_COMMENT = ("//", "/*", "*")


def text_pieces(text: str, leaf: str, titles: tuple[str, ...] = ()) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """Yields the blocks that each block which makes a test of a name is made of, and the names of files in these.

    It stands below lines that name the `titles`.
    """
    lines = text.splitlines()
    quoted = re.escape(leaf)
    makes = re.compile(rf"(['\"`]){quoted}\1\s*[,)]|\b(?:func|fn)\s+{quoted}\s*[(<]")
    for start, line in enumerate(lines):
        if makes.search(line) and not line.strip().startswith(_COMMENT) and _is_below(lines, start, titles):
            yield _told(_reached_from(start, lines, _definitions(text)))


def loose_text_pieces(text: str, leaf: str, *, named_by_table: bool) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """Yields what `text_pieces` does of each block that names the test, whatever it says of it.

    With `named_by_table` a test whose name stands nowhere is one that the file makes of a table: it is the whole file.
    """
    lines = text.splitlines()
    named = re.compile(rf"(?<!\w){re.escape(leaf)}(?!\w)")
    tests = [start for start, line in enumerate(lines) if named.search(line)]
    for start in tests:
        yield _told(_reached_from(start, lines, _definitions(text)))
    if not tests and named_by_table:
        yield _told({line.strip() for line in lines if not line.strip().startswith(_COMMENT)})


def _is_below(lines: list[str], start: int, titles: tuple[str, ...]) -> bool:
    """Tells whether the lines that a line stands below name all of the titles."""
    depth, above = _indent(lines[start]), [lines[start]]
    for line in reversed(lines[:start]):
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


def _reached_from(test: int, lines: list[str], known: Mapping[str, tuple[_Definition, ...]]) -> set[str]:
    """Returns the texts of a block and of those that it names: what stands deeper than it is another's own."""
    deepest = _indent(lines[test])
    reached, open_ = {test: _block(lines, test)}, [test]
    while open_:
        for name in set(_WORD.findall(reached[open_.pop()])):
            for definition in known.get(name, ()):
                if definition.indent <= deepest and definition.start not in reached:
                    reached[definition.start] = _block(lines, definition.start)
                    open_.append(definition.start)
    return set(reached.values())


def _block(lines: list[str], start: int) -> str:
    """Returns the lines from one down to the first that is indented no deeper, that one only where it closes the block,
    with the attributes of Rust's above it; no comments."""
    first = next((at for at in range(start, 0, -1) if not lines[at - 1].strip().startswith("#[")), 0)
    indent = _indent(lines[start])
    end = next(
        (at for at in range(start + 1, len(lines)) if lines[at].strip() and _indent(lines[at]) <= indent), len(lines)
    )
    closes = end < len(lines) and lines[end].strip().startswith((")", "]", "}"))
    block = (each.strip() for each in lines[first : end + closes])
    return "\n".join(each for each in block if each and not each.startswith("//"))


def _told(parts: set[str]) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(parts), frozenset(file for part in parts for file in _FILE.findall(part))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
