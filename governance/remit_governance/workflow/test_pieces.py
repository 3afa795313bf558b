"""What a test is made of, in the texts of a workspace's tests: by this a changed test is told from an old one (FLW-04).

Of Python these are the function, what it and its decorators name in the same file, and the files of data that those
name; of other languages the lines of the test.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import TypeAlias

Pieces: TypeAlias = frozenset[str]

_GO_TEST = re.compile(r"\.((?:Test|Fuzz|Example)\w*)(?:/|$)")
_CLASSES = 2
"""How deep definitions are looked for: in the module and in its classes."""


def pieces_of(texts: Mapping[str, str], path: str, test_id: str) -> frozenset[Pieces]:
    """Returns the pieces of each test that an id can mean in a file; empty where it has none, or cannot be read."""
    text, leaf = texts.get(path), leaf_of(test_id)
    if text is None or leaf not in text:
        return frozenset()
    if path.endswith(".py"):
        return frozenset(_python_pieces(_definitions(text), leaf, texts))
    return frozenset(frozenset({piece}) for piece in _text_pieces(text, leaf))


def leaf_of(test_id: str) -> str:
    """Returns a test's own name: of pytest's `a.py::C::test_x[1]`, Vitest's `a.ts > adds`, Go's `pkg.TestX/sub`,
    Cargo's `m::x` or unittest's `m.C.test_x`.
    """
    if " > " in test_id:
        return test_id.rpartition(" > ")[2]
    if "::" in test_id:
        return test_id.partition("[")[0].rpartition("::")[2]
    if (go := _GO_TEST.search(test_id)) is not None:
        return go[1]
    return test_id.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class _Definition:
    """What a name stands for: its syntax tree, which knows of no comment and no layout, and what that mentions."""

    name: str
    is_function: bool
    tree: str
    names: frozenset[str]
    files: frozenset[str]


@lru_cache(maxsize=64)
def _definitions(text: str) -> Mapping[str, tuple[_Definition, ...]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return MappingProxyType({})
    found: dict[str, list[_Definition]] = {}
    for statement in _statements(tree.body, _CLASSES):
        for definition in _defined_by(statement):
            found.setdefault(definition.name, []).append(definition)
    return MappingProxyType({name: tuple(each) for name, each in found.items()})


def _statements(body: list[ast.stmt], depth: int) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.ClassDef) and depth:
            yield from _statements(statement.body, depth - 1)
        elif isinstance(statement, ast.If | ast.Try | ast.With):
            inner = [node for node in ast.iter_child_nodes(statement) if isinstance(node, ast.stmt)]
            yield from _statements(inner, depth)


def _defined_by(statement: ast.stmt) -> Iterator[_Definition]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield _definition(name, statement, is_function=True)
        case ast.Import() | ast.ImportFrom() | ast.ClassDef():
            return
        case _:
            stored = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
            for name in {node.id for node in stored if isinstance(node.ctx, ast.Store)}:
                yield _definition(name, statement, is_function=False)


def _definition(name: str, statement: ast.stmt, *, is_function: bool) -> _Definition:
    names: set[str] = set()
    files: set[str] = set()
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=named) | ast.Attribute(attr=named) | ast.arg(arg=named):
                names.add(named)
            case ast.Constant(value=str(value)):
                files.add(PurePosixPath(value).name)
            case _:
                pass
    return _Definition(name, is_function, ast.dump(statement), frozenset(names), frozenset(files))


def _python_pieces(
    known: Mapping[str, tuple[_Definition, ...]], leaf: str, texts: Mapping[str, str]
) -> Iterator[Pieces]:
    for test in known.get(leaf, ()):
        if test.is_function:
            parts = _reached_from(test, known)
            named = {file for part in parts for file in part.files}
            data = {f"{path}\n{text}" for path, text in texts.items() if PurePosixPath(path).name in named}
            yield frozenset({*(part.tree for part in parts), *data})


def _reached_from(test: _Definition, known: Mapping[str, tuple[_Definition, ...]]) -> set[_Definition]:
    reached, open_ = {test}, [test]
    while open_:
        for name in open_.pop().names:
            more = [part for part in known.get(name, ()) if part not in reached]
            reached.update(more)
            open_ += more
    return reached


def _text_pieces(text: str, leaf: str) -> Iterator[str]:
    """Yields the lines from each that names the test down to the first that is indented no deeper."""
    lines = text.splitlines()
    named = re.compile(rf"(?<!\w){re.escape(leaf)}(?!\w)")
    for start, line in enumerate(lines):
        if not named.search(line):
            continue
        indent = _indent(line)
        end = next(
            (at for at in range(start + 1, len(lines)) if lines[at].strip() and _indent(lines[at]) <= indent),
            len(lines),
        )
        yield "\n".join(each.strip() for each in lines[start : end + 1] if each.strip())


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
