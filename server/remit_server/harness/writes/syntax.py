"""Whether a change breaks the syntax of a file: of Python and JSON, which every machine can tell (TOOL-13). Pure."""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType

from remit_server.errors import ToolError
from remit_server.tools.spec import FileChange

MOST_BYTES = 200_000
"""A longer file is not looked at."""


def refuse_broken(changes: tuple[FileChange, ...]) -> None:
    """Raises ToolError for a file that was right before, or is new, and would not be read by its language any more."""
    for change in changes:
        before, after = change.before, change.after
        if after is None or len(after) > MOST_BYTES:
            continue
        wrong = find_error(change.path.relative, after)
        if wrong is not None and (before is None or find_error(change.path.relative, before.data) is None):
            why = f"{change.path.relative} would be broken: {wrong}"
            raise ToolError("nothing was written", why, "write it whole and right, or answer that you cannot")


def find_error(path: str, data: bytes) -> str | None:
    """Returns what is wrong with the syntax of a file; None where nothing is, or where its language is not known."""
    parse = _PARSERS.get(path.rpartition(".")[2])
    if parse is None:
        return None
    try:
        with warnings.catch_warnings(action="ignore"):
            parse(data)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except json.JSONDecodeError as error:
        return f"line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError):  # as a text that is no text, or nested too deep to say anything
        return None
    return None


def _python(data: bytes) -> object:
    return ast.parse(data)


def _json(data: bytes) -> object:
    return json.loads(data) if data.strip() else None


_PARSERS: Mapping[str, Callable[[bytes], object]] = MappingProxyType({"py": _python, "pyi": _python, "json": _json})
