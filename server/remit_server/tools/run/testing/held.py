"""Tells whether what tests check with is still what was found: their helpers, their cases and the tests themselves
(FLW-04).

Code that they import could replace a locked function, give a test case assertions of its own, or stand in for a
helper's module. This module reports what was replaced, and by which file; the server knows which files are tests. Of
Remit only the files beside this one are in the sandbox, so this module imports only them and the standard library, and
works with any Python 3.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import unittest.case
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any, NamedTuple, cast

intact = importlib.import_module("intact")
origins = importlib.import_module("origins")
MOST_MODULES = 300
ASSERTIONS = frozenset(name for name in dir(unittest.case.TestCase) if name == "fail" or name.startswith("assert"))
OPERATORS = frozenset(
    f"__{name}__"
    for name in (
        *("eq", "ne", "lt", "le", "gt", "ge", "contains", "bool", "len"),
        *("iter", "next", "getitem", "str", "repr", "enter", "exit", "call"),
    )
)
"""The methods that tests call through operators and builtins, without their names."""
# Bound before any code of the workspace runs, so that it cannot replace them.
_realpath, _isfile, _join = os.path.realpath, os.path.isfile, os.path.join


class Other(NamedTuple):
    """Something that replaces something else: its name, the file of its code, and the file whose code it replaces."""

    name: str
    file: str
    of: str


class Held:
    """The functions of the modules of tests, and of the modules of the workspace that they use."""

    def __init__(self, modules: Iterable[str]) -> None:
        self.names = tuple(dict.fromkeys(modules))
        self.modules = _reached(self.names)
        self.parts = [
            (*part, intact.code_of(part[3]), _file_of(module))
            for module in self.modules
            for part in intact.parts_of(module)
        ]
        self.added: dict[Any, frozenset[str]] = {}
        self.used = _used_by(self.names)

    def lent(self) -> Iterator[Other]:
        """Yields functions and methods of installed modules that are code of the workspace, if the tests use their
        names."""
        loaded = cast("tuple[object, ...]", tuple(sys.modules.values()))  # values may be other objects than modules
        for module in loaded:
            if isinstance(module, ModuleType) and not _file_of(module):
                for name, of, value in _called(module, self.used):
                    if file := next(_own_files(value), ""):
                        yield Other(name, file, of)

    def stand_ins(self) -> Iterator[Other]:
        """Yields the modules that tests import if another file of the workspace has the same module name."""
        for module in self.modules:
            for value in tuple(vars(module).values()):
                if isinstance(value, ModuleType):
                    yield from _candidates(value)

    def replaced(self) -> Iterator[Other]:
        """Yields functions and methods whose code was replaced."""
        for name, owner, key, old, code, of in self.parts:
            value = owner.__dict__.get(key)
            if value is not old or intact.code_of(value) is not code:
                yield Other(name, _code_file(value), of)

    def overridden(self, case: Any) -> Iterator[Other]:
        """Yields assertions that a case, or one of its classes, got while tests ran."""
        kind: Any
        own = cast("dict[str, Any]", case.__dict__)
        for kind in type(case).__mro__:
            if kind not in unittest.case.TestCase.__mro__:
                now = ASSERTIONS & {*vars(kind)}
                for name in now - self.added.setdefault(kind, now):
                    yield Other(f"{kind.__qualname__}.{name}", _code_file(vars(kind)[name]), "")
        for name in ASSERTIONS & {*own}:
            yield Other(f"{type(case).__qualname__}.{name}", _code_file(own[name]), "")


def codes_behind(function: Any) -> tuple[Any, ...]:
    """Returns the workspace code that a test runs: its own, and functions that its decorators keep."""
    return tuple(code for code in origins.reach(function) if not origins.is_installed(_realpath(code.co_filename)))


def _used_by(names: Iterable[str]) -> dict[str, str]:
    """Returns the names that the code of these modules uses, each with the file of a module that uses it."""
    known = origins.Origins()
    files = filter(None, (_file_of(sys.modules[name]) for name in names if name in sys.modules))
    return {name: file for file in files for code in known.compiled(file) for name in origins.names_in(code)}


def _called(module: ModuleType, used: dict[str, str]) -> Iterator[tuple[str, str, Any]]:
    """Yields what a module and its classes have under the used names, and the methods behind operators: for each its
    full name, the file that uses it, and its value.
    """
    some = next(iter(used.values()), "")
    for key, value in tuple(vars(module).items()):
        if key in used:
            yield f"{module.__name__}.{key}", used[key], value
        if isinstance(value, type) and value.__module__ == module.__name__:
            for name, member in tuple(vars(value).items()):
                if name in used or name in OPERATORS:
                    yield f"{module.__name__}.{key}.{name}", used.get(name, some), member


def _own_files(value: Any) -> Iterator[str]:
    """Yields the files of the workspace whose code a value runs."""
    yield from filter(None, (_own_file(code.co_filename) for code in origins.reach(value)))
    home = sys.modules.get(str(getattr(value, "__module__", ""))) if isinstance(value, type) else None
    if home is not None and _file_of(home):
        yield _file_of(home)


@functools.lru_cache(None)
def _own_file(name: str) -> str:
    """Returns the real path of a file of the workspace, or an empty text for any other file."""
    file = _realpath(name) if name.startswith(os.sep) else ""
    return file if file and not origins.is_installed(file) and _isfile(file) else ""


def _reached(names: Iterable[str]) -> list[ModuleType]:
    """Returns the workspace modules with these names, and those that they hold or import from, breadth first."""
    pending = list(dict.fromkeys(names))
    seen = set(pending)
    found: list[ModuleType] = []
    while pending and len(found) < MOST_MODULES:
        module = sys.modules.get(pending.pop(0))
        if not isinstance(module, ModuleType) or not _file_of(module):
            continue
        found.append(module)
        for value in tuple(vars(module).values()):
            name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
            if isinstance(name, str) and name not in seen:
                seen.add(name)
                pending.append(name)
    return found


def _candidates(module: ModuleType) -> Iterator[Other]:
    """Yields the files of the workspace that have the name of a module but are not the file that it was loaded from."""
    loaded, told = _file_of(module), vars(module).get("__file__")
    if (told and not loaded) or not module.__name__.isidentifier() or module.__name__ in sys.builtin_module_names:
        return
    for folder in dict.fromkeys(map(_realpath, sys.path)):
        for below in (module.__name__ + ".py", _join(module.__name__, "__init__.py")):
            file = _join(folder, below)
            if _isfile(file) and file != loaded and not origins.is_installed(file):
                yield Other(f"module {module.__name__}", loaded, file)


def _file_of(module: ModuleType) -> str:
    """Returns a module's file, or an empty text if the module is installed or has none."""
    file = vars(module).get("__file__")
    return _own_file(_realpath(file)) if isinstance(file, str) else ""


def _code_file(value: Any) -> str:
    """Returns the file of a value's code, or an empty text if it has none."""
    file: Any = getattr(intact.code_of(value), "co_filename", "")
    return _realpath(file) if isinstance(file, str) and file.startswith(os.sep) else ""
