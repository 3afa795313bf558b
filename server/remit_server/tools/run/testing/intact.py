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
from types import CodeType
from typing import Any

origins = importlib.import_module("origins")
SPACES = ("builtins", "unittest", "pytest")
"""Modules by whose names tests, and what runs them, find what they assert with."""
PATCHED = frozenset({"open", "print", "input", "exit", "quit", "help", "breakpoint", "__import__"})
"""Builtins that programs give themselves another of, and by which nothing is asserted."""
SHOWN = frozenset({"maxDiff", "longMessage", "_diffThreshold"})
"""What tests set of a TestCase for what they print."""
_HERE = os.path.realpath(os.curdir) + os.sep
TRACING = frozenset({"sys.settrace", "sys.monitoring.register_callback"})
TRACERS = ("bdb.py", "pdb.py", "trace.py")
FORKED = "code forked while tests ran, and the tests went on in the new process"
__unittest = True
"""As in modules of unittest: their frames are no part of what a failed test tells."""


def refuse_stops(look: Callable[[Any], None]) -> None:
    """Has a TestCase take the exception by which unittest itself ends a test for a pass of no test that raises it.

    unittest raises it after a failure alone, which is told by then. `look` sees each case before a part of it runs, and
    after that: by then it is set up, and was not taken down.
    """
    outcome: Any = getattr(unittest.case, "_Outcome", None)
    stop: Any = getattr(unittest.case, "_ShouldStop", None)
    run: Any = getattr(outcome, "testPartExecutor", None)
    if stop is None or run is None:
        return

    @contextlib.contextmanager
    def run_part(self: Any, *args: Any, **more: Any) -> Generator[None, Any, None]:
        with run(self, *args, **more):
            case = case_of(args[0])
            look(case)
            try:
                yield
            except stop:
                if self.success and not self.expectedFailure:
                    raise RuntimeError("an exception of unittest's own ended the test") from None
                raise
            finally:
                look(case)

    run_part.__module__ = outcome.__module__
    outcome.testPartExecutor = run_part


def case_of(test: Any) -> Any:
    """Returns a subtest's own case, else the test itself: a case may have a method of the same name as that
    attribute."""
    subtest: Any = getattr(unittest.case, "_SubTest", ())
    return test.test_case if isinstance(test, subtest) else test


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


def hear_of_forks() -> Callable[[], bool]:
    """Returns what tells whether this is another process by now: code forked, and had the tests go on in both."""
    getpid = os.getpid
    first = getpid()
    return lambda: getpid() != first


def _is_tracer(code: Any) -> bool:
    """Returns whether it only traces for who calls it."""
    return code.co_name == "settrace_all_threads" or code.co_filename.rpartition("/")[2] in TRACERS


def watch(modules: Iterable[str]) -> Callable[[], str]:
    """Returns what names a function, method or constant of these modules, or what one of `SPACES` has by a name, that
    is another by now, empty where none is. A module that is imported later counts from when it is first seen.
    """
    names = list(modules)
    parts = [part for space in SPACES if space in sys.modules for part in _spaced(sys.modules[space])]
    codes: list[tuple[str, Any, str, Any, Any]] = [(*part, code_of(part[3])) for part in parts]

    def look() -> str:
        for name in [name for name in names if name in sys.modules]:
            names.remove(name)
            module = sys.modules[name]
            new = [(*part, code_of(part[3])) for part in (*parts_of(module), *_constants(module))]
            codes.extend(new)
            if other := next((part[0] for part in new if _is_own(part[4])), ""):
                return other
        # Two decorated functions may have one code, that of the decorator.
        now = ((name, owner.__dict__.get(key), old, code) for name, owner, key, old, code in codes)
        return next((name for name, value, old, code in now if value is not old or code_of(value) is not code), "")

    look()
    return look


def _is_own(code: Any) -> bool:
    """Returns whether it is code of the workspace."""
    file = getattr(code, "co_filename", "")
    is_below = file.startswith(os.sep) and os.path.realpath(file).startswith(_HERE)
    return is_below and not origins.is_installed(file)


def code_of(value: Any) -> Any:
    """Returns the code that a function, method or descriptor runs, itself where it has none."""
    inner = _inner(value)
    return getattr(inner, "__code__", inner)


def parts_of(module: Any) -> Iterator[tuple[str, Any, str, Any]]:
    """Yields the functions and methods that a module defines: each by name, with what has it by which key."""
    for key, value in _members(module):
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(value):
            for name, member in _members(value):
                if _has_code(member):
                    yield f"{module.__name__}.{key}.{name}", value, name, member
        elif _has_code(value):
            yield f"{module.__name__}.{key}", module, key, value


def _spaced(module: Any) -> Iterator[tuple[str, Any, str, Any]]:
    for key, value in _members(module):
        if callable(value) and key not in PATCHED:
            yield f"{module.__name__}.{key}", module, key, value


def _has_code(value: Any) -> bool:
    return isinstance(code_of(value), CodeType)


def _constants(module: Any) -> Iterator[tuple[str, Any, str, Any]]:
    """Numbers and classes that a module's classes have, by which something is judged."""
    for key, value in _members(module):
        if inspect.isclass(value) and value.__module__ == module.__name__:
            for name, member in _members(value):
                if isinstance(member, (int, float, type)) and name not in SHOWN and not name.startswith("__"):
                    yield f"{module.__name__}.{key}.{name}", value, name, member


def _members(owner: Any) -> tuple[tuple[str, Any], ...]:
    return tuple(owner.__dict__.items())


def _inner(value: Any) -> Any:
    return getattr(value, "__func__", getattr(value, "fget", value))
