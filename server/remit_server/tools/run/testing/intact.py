"""Tells whether the code that runs and judges tests is still what it was before any code of the workspace ran (FLW-04).

That code shares a process with the tests, and so with the source that they import, which could replace it.
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
"""Modules in whose namespaces tests, and the code that runs them, find what they assert with."""
PATCHED = frozenset({"open", "print", "input", "exit", "quit", "help", "breakpoint", "__import__"})
"""Builtins that programs often replace, and with which nothing is asserted."""
SHOWN = frozenset({"maxDiff", "longMessage", "_diffThreshold"})
"""Attributes of a TestCase that tests set to change what is printed."""
_HERE = os.path.realpath(os.curdir) + os.sep
TRACING = frozenset({"sys.settrace", "sys.monitoring.register_callback"})
TRACERS = ("bdb.py", "pdb.py", "trace.py")
FORKED = "code forked while tests ran, and the tests went on in the new process"
__unittest = True
"""Marks the frames of this module as unittest's own, so that they are left out of a failed test's traceback."""


def refuse_stops(look: Callable[[Any], None]) -> None:
    """Patches unittest so that a test cannot pass by raising the exception with which unittest itself ends a test.

    unittest raises that exception only after a failure, which is already reported by then. `look` is called with each
    case before and after each of its parts (set-up, test, tear-down), so also while it is set up.
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
    """Returns the case of a subtest, or else the test itself. Asks for the type first, because a case may have a method
    named `test_case`."""
    subtest: Any = getattr(unittest.case, "_SubTest", ())
    return test.test_case if isinstance(test, subtest) else test


def hear_of_traces() -> Callable[[], str]:
    """Returns a function that names the file whose code set a trace function since now, or returns an empty text. A
    trace function could jump over assertions. Installed packages, such as coverage.py, may trace. Python 3.7 cannot
    report it.
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
    """Returns a function that says whether this is a new process: code forked, and the tests went on in both
    processes."""
    getpid = os.getpid
    first = getpid()
    return lambda: getpid() != first


def _is_tracer(code: Any) -> bool:
    """Returns whether the code only sets a trace function on behalf of its caller."""
    return code.co_name == "settrace_all_threads" or code.co_filename.rpartition("/")[2] in TRACERS


def watch(modules: Iterable[str]) -> Callable[[], str]:
    """Returns a function that names a replaced function, method or constant of these modules, or a replaced name of one
    of `SPACES`, or returns an empty text. A module that is imported later is compared with its state when it is first
    seen.
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
        # Compare the value as well as its code, because two decorated functions may share the code of the decorator.
        now = ((name, owner.__dict__.get(key), old, code) for name, owner, key, old, code in codes)
        return next((name for name, value, old, code in now if value is not old or code_of(value) is not code), "")

    look()
    return look


def _is_own(code: Any) -> bool:
    """Returns whether the code is from the workspace."""
    file = getattr(code, "co_filename", "")
    is_below = file.startswith(os.sep) and os.path.realpath(file).startswith(_HERE)
    return is_below and not origins.is_installed(file)


def code_of(value: Any) -> Any:
    """Returns the code that a function, method or descriptor runs, or the value itself if it has none."""
    inner = _inner(value)
    return getattr(inner, "__code__", inner)


def parts_of(module: Any) -> Iterator[tuple[str, Any, str, Any]]:
    """Yields the functions and methods that a module defines: each with its full name, its owner and its key in the
    owner."""
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
    """Yields the numbers and classes that a module's classes have as attributes, because judging depends on them."""
    for key, value in _members(module):
        if inspect.isclass(value) and value.__module__ == module.__name__:
            for name, member in _members(value):
                if isinstance(member, (int, float, type)) and name not in SHOWN and not name.startswith("__"):
                    yield f"{module.__name__}.{key}.{name}", value, name, member


def _members(owner: Any) -> tuple[tuple[str, Any], ...]:
    return tuple(owner.__dict__.items())


def _inner(value: Any) -> Any:
    return getattr(value, "__func__", getattr(value, "fget", value))
