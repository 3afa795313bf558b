"""What helps against a module of Python that a test could not import: one of the workspace is told from a package
(FLW-04)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

_MISSING = re.compile(r"ModuleNotFoundError: No module named '(\w+)'")
"""A module that is in no other one: what is missed below a package that is there is code still to be written."""


def advise_on_missing(message: str, files: Iterable[str]) -> str:
    """Returns what makes the module that a test misses be found, by the workspace's files; empty where none is missed.

    `message` is what the runner says of the test, `files` are paths from the folder in which tests run.
    """
    if (missing := _MISSING.search(message)) is None:
        return ""
    name = missing[1]
    folder = min((found for path in files if (found := _found_in(path, name)) is not None), default=None)
    if folder is None:
        return (
            f"`{name}` is no module of this workspace: where it is still to be written, let a test assert first that "
            f"it is there; where it is a package, ask the person to install it in `.venv`"
        )
    return (
        f"`{name}` is a module of this workspace, in `{folder}`, where Python does not look: begin the test with "
        f'`import sys; sys.path.insert(0, "{folder}")`, or ask the person to install the project in `.venv`'
    )


def _found_in(path: str, name: str) -> str | None:
    """Returns the folder from which a file is the module of that name; None where it is another file."""
    file = PurePosixPath(path)
    if file.name == f"{name}.py":
        return str(file.parent)
    return str(file.parent.parent) if file.name == "__init__.py" and file.parent.name == name else None
