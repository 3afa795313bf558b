"""A module that is imported when one of its functions is first called, so that a table can name them all (CLI-19).

For type checkers, the table imports the modules themselves, so that a row without its function is an error.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Later:
    """Stands for a module; each attribute is a function that imports the module, and calls its function of that
    name."""

    module: str

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):  # what Python itself looks for
            raise AttributeError(name)

        def function(*given: Any, **named: Any) -> Any:
            return getattr(importlib.import_module(self.module), name)(*given, **named)

        return function


def later_modules(package: str) -> Callable[[str], Later]:
    """Returns the `__getattr__` of a package, each of whose modules is imported when it is used."""

    def module(name: str) -> Later:
        if name.startswith("_"):
            raise AttributeError(name)
        return Later(f"{package}.{name}")

    return module
