"""Whether what runs and judges tests is what it was before any code of the workspace ran (FLW-04).

It is in one process with the tests, and so with the source that they import, which could put other code in its place.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import unittest.case
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any


def refuse_stops() -> None:
    """Has a TestCase take the exception by which unittest itself ends a test for a pass of no test that raises it.

    unittest raises it after a failure alone, which is told by then.
    """
    outcome: Any = getattr(unittest.case, "_Outcome", None)
    stop: Any = getattr(unittest.case, "_ShouldStop", None)
    run: Any = getattr(outcome, "testPartExecutor", None)
    if stop is None or run is None:
        return

    @contextlib.contextmanager
    def run_part(self: Any, *args: Any, **more: Any) -> Generator[None, Any, None]:
        with run(self, *args, **more):
            try:
                yield
            except stop:
                if self.success and not self.expectedFailure:
                    raise RuntimeError("an exception of unittest's own ended the test") from None
                raise

    run_part.__module__ = outcome.__module__
    outcome.testPartExecutor = run_part


def watch(modules: Iterable[str]) -> Callable[[], str]:
    """Returns what names a function or method of these modules that is another by now, empty where none is."""
    parts = tuple(part for module in modules if module in sys.modules for part in _parts(sys.modules[module]))
    codes = tuple((*part, code_of(part[3])) for part in parts)

    def changed() -> str:
        # Two decorated functions may have one code, that of the decorator.
        now = ((name, owner.__dict__.get(key), old, code) for name, owner, key, old, code in codes)
        return next((name for name, value, old, code in now if value is not old or code_of(value) is not code), "")

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
                    yield f"{module.__name__}.{key}.{name}", value, name, member
        elif hasattr(value, "__code__"):
            yield f"{module.__name__}.{key}", module, key, value


def _members(owner: Any) -> tuple[tuple[str, Any], ...]:
    return tuple(owner.__dict__.items())


def _inner(value: Any) -> Any:
    return getattr(value, "__func__", getattr(value, "fget", value))
