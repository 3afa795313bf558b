"""Whether the package of an extra is there, without importing it (MOD-08)."""

from __future__ import annotations

import importlib.util


def is_installed(module: str) -> bool:
    """Returns whether a module can be imported; `a.b` imports `a`."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of the package that it is in
        return False
