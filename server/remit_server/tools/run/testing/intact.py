"""Whether what runs and judges tests is what it was before any code of the workspace ran (FLW-04).

It is in one process with the tests, and so with the source that they import, which could put other code in its place.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import sys
import unittest.case
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

origins = importlib.import_module("origins")
TRACING = frozenset({"sys.settrace", "sys.monitoring.register_callback"})
TRACERS = ("bdb.py", "pdb.py", "trace.py")
__unittest = True
"""As in modules of unittest: their frames are no part of what a failed test tells."""


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


def hear_of_traces() -> Callable[[], str]:
    """Returns what names the file whose code has set a trace function since, with which it could jump over assertions;
    empty where none did. What installed packages trace, as coverage.py does, is theirs. Python 3.7 does not say.
    """
    found: list[str] = []

    def hear(event: str, _arguments: Any) -> None:
        if event not in TRACING or found:
            return
        frame = getattr(inspect.currentframe(), "f_back", None)
        while frame is not None and _is_tracer(frame.f_code):
            frame = frame.f_back
        if frame is not None and not origins.is_installed(os.path.realpath(frame.f_code.co_filename)):
            found.append(frame.f_code.co_filename.rpartition("/")[2])

    if hasattr(sys, "addaudithook"):
        sys.addaudithook(hear)
    return lambda: found[0] if found else ""


def _is_tracer(code: Any) -> bool:
    """Whether it only traces for who calls it."""
    return code.co_name == "settrace_all_threads" or code.co_filename.rpartition("/")[2] in TRACERS


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
