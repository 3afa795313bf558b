"""What a `conftest.py` holds besides fixtures that tests share: hooks, by which it could say how tests end (FLW-04)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_HOOK = "pytest_"
_REACHES = frozenset({"globals", "locals", "vars", "setattr", "exec", "eval", "compile", "__import__"})
"""Calls by which a module gets names that its text does not show."""


def beyond_fixtures(text: str) -> tuple[str, ...]:
    """Returns the names in a `conftest.py` by which it may do more than share fixtures; none where it does not."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ("what cannot be read as Python",)
    return tuple(dict.fromkeys(name for node in ast.walk(tree) for name in _named(node)))


def _named(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            found = [name]
        case ast.Name(id=name, ctx=ast.Store()):
            found = [name]
        case ast.ImportFrom(names=names):
            found = [alias.asname or alias.name for alias in names]
        case ast.Import(names=names):
            found = [alias.asname for alias in names if alias.asname]
        case ast.Constant(value=str(text)) if text.strip().startswith(_HOOK):
            found = [text.strip()]
        case ast.Attribute(attr="pluginmanager"):
            yield "pluginmanager"
            return
        case ast.Call(func=ast.Name(id=name)) if name in _REACHES:
            yield name
            return
        case _:
            return
    yield from (name for name in found if name.startswith(_HOOK) or name == "*")
