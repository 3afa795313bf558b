"""What a test of Python is made of: its function, and what that and its decorators name in the file (FLW-04)."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
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
    known = _definitions(text)
    for test in known.get(leaf, ()):
        if test.is_function and classes in {None, test.classes}:
            parts = _reached_from(test, known)
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
class _Definition:
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
def _definitions(text: str) -> Mapping[str, tuple[_Definition, ...]]:
    found: dict[str, list[_Definition]] = {}
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


def _defined_by(statement: ast.stmt, classes: tuple[str, ...]) -> Iterator[_Definition]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield _definition(name, classes, statement, is_function=True)
        case ast.Import() | ast.ImportFrom() | ast.ClassDef():
            return
        case _:
            stored = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
            for name in {node.id for node in stored if isinstance(node.ctx, ast.Store)}:
                yield _definition(name, classes, statement, is_function=False)


def _definition(name: str, classes: tuple[str, ...], statement: ast.stmt, *, is_function: bool) -> _Definition:
    names: set[str] = set()
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=named) | ast.Attribute(attr=named) | ast.arg(arg=named):
                names.add(named)
            case _:
                pass
    files = frozenset(_files_named(statement))
    return _Definition(name, classes, is_function, ast.dump(statement), frozenset(names), files)


def _files_named(tree: ast.AST) -> Iterator[str]:
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return (PurePosixPath(text).name for text in texts)


def _reached_from(test: _Definition, known: Mapping[str, tuple[_Definition, ...]]) -> set[_Definition]:
    reached, open_ = {test}, [test]
    while open_:
        for name in open_.pop().names:
            more = [part for part in known.get(name, ()) if part not in reached]
            reached.update(more)
            open_ += more
    return reached
