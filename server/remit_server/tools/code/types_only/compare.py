"""Compares two texts of a file by their syntax trees without types, for the language of the file's name (FLW-09)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from types import MappingProxyType

from remit_server.tools.code.index.languages import language_of
from remit_server.tools.code.index.tags import MAX_SOURCE_BYTES
from remit_server.tools.code.types_only.python_tree import without_types as python_without_types
from remit_server.tools.code.types_only.script_tree import without_types as script_without_types

_TYPES_ALONE = re.compile(r"\.(?:pyi|d\.[cm]?ts|(?:test-d|tst)\.[cm]?tsx?)$", re.IGNORECASE)
"""Names of files that hold only types or tests of types. Nothing in them runs; tsd and TSTyche only read them."""

READERS: Mapping[str, Callable[[bytes], object]] = MappingProxyType(
    {
        "python": python_without_types,
        "typescript": lambda source: script_without_types(source, "typescript"),
        "tsx": lambda source: script_without_types(source, "tsx"),
    }
)
"""For each language, the function that reads a text into a tree without types. It raises ValueError if it cannot."""

WHY_NOT: Mapping[str, str] = MappingProxyType(
    {
        "javascript": "JavaScript has no types",
        "go": "in Go a type decides what runs",
        "rust": "in Rust a type decides what runs",
        "java": "in Java a type decides what runs",
        "c": "in C a type decides what runs",
        "cpp": "in C++ a type decides what runs",
    }
)
"""Why an edit in another language with a grammar never counts as one of types alone."""


def cannot_compare(path: str) -> str | None:
    """Returns why an edit of such a file never counts as one of types alone, or None if it can."""
    language = language_of(path)
    if _TYPES_ALONE.search(path) or language in READERS:
        return None
    return WHY_NOT.get(language or "", f"Remit knows nothing about types in files such as `{PurePosixPath(path).name}`")


def runs_otherwise(path: str, before: bytes | None, after: bytes | None) -> str | None:
    """Returns why a change is more than one of types alone, or None if it changes only types."""
    if (why := cannot_compare(path)) is not None:
        return why
    if _TYPES_ALONE.search(path):
        return None
    if before is None or after is None:
        return "a file of code is added, moved or removed"
    if max(len(before), len(after)) > MAX_SOURCE_BYTES:
        return f"the file is larger than {MAX_SOURCE_BYTES} bytes"
    read = READERS[language_of(path) or ""]
    try:
        same = read(before) == read(after)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TimeoutError):
        return "it cannot be parsed, before the change or after it"
    return None if same else "it changes more than types"
