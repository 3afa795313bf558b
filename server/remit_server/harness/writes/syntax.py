"""Tells whether a change breaks the syntax of a file: Python, JSON and notebooks, which need no further program
(TOOL-13). Pure.
"""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from remit_governance.visible import visible
from remit_server.errors import ToolError
from remit_server.tools.spec import FileChange

MOST_BYTES = 200_000
"""A longer file is not checked before it is written."""
MOST_DATA_BYTES = 8_000_000
"""A longer JSON file or notebook is not checked after it is written."""
_DATA = frozenset({"json", "ipynb"})


def refuse_broken(changes: tuple[FileChange, ...]) -> None:
    """Raises ToolError if a change would break the syntax of a file that is new or was valid before."""
    for change in changes:
        before, after = change.before, change.after
        if after is None or len(after) > MOST_BYTES:
            continue
        wrong = find_error(change.path.relative, after)
        if wrong is not None and (before is None or find_error(change.path.relative, before.data) is None):
            why = f"{change.path.relative} would be broken: {wrong}"
            raise ToolError("nothing was written", why, "write all of it correctly, or answer that you cannot")


def describe_broken(changes: Sequence[FileChange]) -> tuple[str, ...]:
    """Returns a remark on each JSON file and notebook that was valid before these changes and is not after them.

    Code is not checked here, because it may be invalid between two edits; a broken data file is of no use at any time.
    """
    told: list[str] = []
    for change in changes:
        path, before, after = change.path.relative, change.before, change.after
        if _ending(path) not in _DATA or before is None or not before.data.strip() or after is None:
            continue
        if change.moved_from is not None or max(len(before.data), len(after)) > MOST_DATA_BYTES:
            continue
        wrong = _no_data(path, after)
        if wrong is not None and _no_data(path, before.data) is None:
            told.append(f"{visible(path, 'show')} is no longer valid JSON, as it was before: {wrong}")
    return tuple(told)


def _no_data(path: str, data: bytes) -> str | None:
    return find_error(path, data) if data.strip() else "line 1: it is empty"


def find_error(path: str, data: bytes) -> str | None:
    """Returns what is wrong with the syntax of a file, or None if nothing is, or if its language is not known."""
    parse = _PARSERS.get(_ending(path))
    if parse is None:
        return None
    try:
        with warnings.catch_warnings(action="ignore"):
            parse(data)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except json.JSONDecodeError as error:
        return f"line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError):  # the file is not text, or is nested too deeply to be parsed
        return None
    return None


def _ending(path: str) -> str:
    return path.rpartition(".")[2]


def _python(data: bytes) -> object:
    return ast.parse(data)


def _json(data: bytes) -> object:
    return json.loads(data) if data.strip() else None


_PARSERS: Mapping[str, Callable[[bytes], object]] = MappingProxyType(
    {"py": _python, "pyi": _python, **dict.fromkeys(_DATA, _json)}
)
