"""Finds what a test is made of (FLW-04): in Python its function, with all definitions of the file that it or its
decorators name; in other languages, which are read as lines, its lines, with all blocks of the file that these name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from types import MappingProxyType

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def python_pieces(
    text: str, leaf: str, classes: tuple[str, ...] | None = None
) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """Yields for each function named `leaf` the syntax trees that it is made of, and the file names that they mention;
    with `classes` only for functions in exactly these classes.
    """
    known = _python_definitions(text)
    for test in known.get(leaf, ()):
        if test.is_function and classes in {None, test.classes}:
            parts = _reached_in_python(test, known)
            yield frozenset(part.tree for part in parts), frozenset(file for part in parts for file in part.files)


@lru_cache(maxsize=64)
def whole_python(text: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """Returns the syntax tree of a whole text, and the file names that it mentions, or None if it cannot be parsed."""
    try:
        tree = ast.parse(text)
        return frozenset({ast.dump(tree)}), frozenset(_files_named(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@dataclass(frozen=True, slots=True)
class _PythonDefinition:
    """A definition of a name: the classes that contain it, its syntax tree, which is independent of comments and
    layout, and the names and file names that the tree mentions.
    """

    name: str
    classes: tuple[str, ...]
    is_function: bool
    tree: str
    names: frozenset[str]
    files: frozenset[str]


@lru_cache(maxsize=64)
def _python_definitions(text: str) -> Mapping[str, tuple[_PythonDefinition, ...]]:
    found: dict[str, list[_PythonDefinition]] = {}
    try:
        for statement, classes in _statements(ast.parse(text)):
            for definition in _defined_by(statement, classes):
                found.setdefault(definition.name, []).append(definition)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return MappingProxyType({})
    return MappingProxyType({name: tuple(each) for name, each in found.items()})


def _statements(parent: ast.AST, classes: tuple[str, ...] = ()) -> Iterator[tuple[ast.stmt, tuple[str, ...]]]:
    """Yields the statements of a module or class, each with the classes that contain it, also those inside conditions
    and other compound statements, but not those inside functions.
    """
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.stmt):
            yield node, classes
        if isinstance(node, ast.stmt | ast.excepthandler | ast.match_case) and not isinstance(node, _FUNCTIONS):
            yield from _statements(node, (*classes, node.name) if isinstance(node, ast.ClassDef) else classes)


def _defined_by(statement: ast.stmt, classes: tuple[str, ...]) -> Iterator[_PythonDefinition]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield _definition(name, classes, statement, is_function=True)
        case ast.Import() | ast.ImportFrom() | ast.ClassDef():
            return
        case _:
            stored = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
            for name in {node.id for node in stored if isinstance(node.ctx, ast.Store)}:
                yield _definition(name, classes, statement, is_function=False)


def _definition(name: str, classes: tuple[str, ...], statement: ast.stmt, *, is_function: bool) -> _PythonDefinition:
    names: set[str] = set()
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=named) | ast.Attribute(attr=named) | ast.arg(arg=named):
                names.add(named)
            case _:
                pass
    files = frozenset(_files_named(statement))
    return _PythonDefinition(name, classes, is_function, ast.dump(statement), frozenset(names), files)


def _files_named(tree: ast.AST) -> Iterator[str]:
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return (PurePosixPath(text).name for text in texts)


def _reached_in_python(
    test: _PythonDefinition, known: Mapping[str, tuple[_PythonDefinition, ...]]
) -> set[_PythonDefinition]:
    reached, open_ = {test}, [test]
    while open_:
        for name in open_.pop().names:
            more = [part for part in known.get(name, ()) if part not in reached]
            reached.update(more)
            open_ += more
    return reached


_DEFINES = re.compile(
    r"\s*(?:(?:export|default|async|declare|pub(?:\([^)]*\))?)\s+)*"
    r"(?:const|let|var|function\*?|class|enum|func|fn|static|import)\s+(?:mut\s+)?(\w+)"
)
_WORD = re.compile(r"\w+")
_FILE = re.compile(r"(?<![\w.-])[\w.-]+\.\w+")
_COMMENT = ("//", "/*", "*")
MOST_LOOKED_AT = 200_000
"""How many lines are read for the tests of one name, repeated reads counted. If that is not enough for a file, the test
is taken to be the whole file, so that any change of the file changes the test."""


class _TooManyError(Exception):
    """More lines would have to be read than allowed."""


@dataclass(slots=True)
class _Lines:
    """The lines of a file, and how many may still be read."""

    all: list[str]
    left: int = MOST_LOOKED_AT

    def look(self, count: int) -> None:
        """Counts lines before they are read. Raises _TooManyError if there are too many."""
        self.left -= count
        if self.left < 0:
            raise _TooManyError


def text_pieces(text: str, leaf: str, titles: tuple[str, ...] = ()) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """Yields for each block that defines a test named `leaf` the blocks that it is made of, and the file names in them.

    The lines above the test that contain it have to name all of the `titles`.
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
    """Yields the same as `text_pieces` for each block that mentions the test's name in any way.

    With `named_by_table`, if the name is nowhere, the file makes the test from a table, and the test is the whole file.
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
    """Returns whether a line and the less indented lines that contain it name all of the titles."""
    lines.look(start)
    depth, above = _indent(lines.all[start]), [lines.all[start]]
    for line in reversed(lines.all[:start]):
        if line.strip() and _indent(line) < depth:
            depth = _indent(line)
            above.append(line)
    return all(any(title in line for line in above) for title in titles)


@dataclass(frozen=True, slots=True)
class _Definition:
    """A line that defines a name, and its indentation."""

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
    """Returns the texts of a block and of all blocks that it names, directly or not, except definitions that are
    indented deeper than the block, because those belong to other blocks."""
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
    """Returns the block that begins at a line: Rust attributes above it, the line, all deeper lines that follow, and
    the next line if it closes the block; without comments."""
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
