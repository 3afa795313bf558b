"""Tells whether the packages of an extra exist, without importing them, and how to install them here (MOD-08)."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

_CLONE = Path(__file__).parents[3]
_MARKED = re.compile(r"extra == ['\"]([\w-]+)['\"]")


def is_installed(module: str) -> bool:
    """Returns whether a module can be imported; `a.b` imports `a`."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the package that the module is in does not exist
        return False


def how_to_install(extra: str) -> str:
    """Returns the one command that adds an extra to this Remit, whether it is a clone or an installed package."""
    if (_CLONE / "uv.lock").is_file():
        return f"run `uv sync --inexact --extra {extra}` in {_CLONE}"
    wanted = " ".join(shlex.quote(each) for each in requirements(extra))
    python = shlex.quote(sys.executable)
    installer = f"{python} -m pip install" if is_installed("pip") else f"uv pip install --python {python}"
    return f"run `{installer} {wanted}`"


def requirements(extra: str) -> tuple[str, ...]:
    """Returns what an extra adds on this platform; nothing if Remit is not installed as a package."""
    try:
        stated = requires("remit") or []
    except PackageNotFoundError:
        return ()
    rows = [each.partition(";") for each in stated]
    return tuple(
        name.strip()
        for name, _, marker in rows
        if (marked := _MARKED.search(marker))
        and marked[1] == extra
        and ("sys_platform" not in marker or f"'{sys.platform}'" in marker)
    )
