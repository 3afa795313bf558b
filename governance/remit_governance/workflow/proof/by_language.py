"""What a test is made of (FLW-04): in Python its function, and what that and its decorators name in the file; in
languages that are read as lines its own, and what these name in the file.
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
    """Yields the syntax trees that each function of a name is made of, and the names of files in these; with `classes`
    only functions that stand in just these.
    """
    known = _python_definitions(text)
    for test in known.get(leaf, ()):
        if test.is_function and classes in {None, test.classes}:
            parts = _reached_in_python(test, known)
            yield frozenset(part.tree for part in parts), frozenset(file for part in parts for file in part.files)


@lru_cache(maxsize=64)
def whole_python(text: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """Returns the syntax tree of all of a text, and the names of files in it; None where it cannot be read."""
    try:
        tree = ast.parse(text)
        return frozenset({ast.dump(tree)}), frozenset(_files_named(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@dataclass(frozen=True, slots=True)
class _PythonDefinition:
    """What a name stands for: its syntax tree, which knows of no comment and no layout, and what that mentions; and the
    classes that it stands in.
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
    """Yields the statements of a module or class with the classes that each stands in, those below conditions and the
    like too, and of no function.
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
