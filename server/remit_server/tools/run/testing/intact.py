"""Whether what runs and judges tests is what it was before any code of the workspace ran (FLW-04).

It is in one process with the tests, and so with the source that they import, which could put other code in its place.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any


def watch(modules: Iterable[str]) -> Callable[[], str]:
    """Returns what names a function or method of these modules that is another by now, empty where none is."""
    parts = tuple(part for module in modules if module in sys.modules for part in _parts(sys.modules[module]))

    def changed() -> str:
        return next((name for name, owner, key, old in parts if code_of(owner.__dict__.get(key)) is not old), "")

    return changed


def code_of(value: Any) -> Any:
    """Returns the code that a function, method or descriptor runs, itself where it has none."""
    inner = _inner(value)
    return getattr(inner, "__code__", inner)


def _parts(module: Any) -> Iterator[tuple[str, Any, str, Any]]:
    for key, value in _members(module):
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(value):
            for name, member in _members(value):
                if hasattr(_inner(member), "__code__"):
                    yield f"{module.__name__}.{key}.{name}", value, name, code_of(member)
        elif hasattr(value, "__code__"):
            yield f"{module.__name__}.{key}", module, key, code_of(value)


def _members(owner: Any) -> tuple[tuple[str, Any], ...]:
    return tuple(owner.__dict__.items())


def _inner(value: Any) -> Any:
    return getattr(value, "__func__", getattr(value, "fget", value))
