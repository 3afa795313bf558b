"""What a project's ignore files say of a path, found out in time proportional to their length (FILE-05).

The files come with the project. pathspec knows their rules, and RE2, which it asks, has no backtracking.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import re2  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]
from pathspec import GitIgnoreSpec

from remit_governance.globs import MAX_GLOB_CHARS

MAX_IGNORE_BYTES = 256 * 1024
MAX_IGNORE_LINES = 2000

_error = cast("type[Exception]", cast("Any", re2).error)


@dataclass(frozen=True, slots=True, eq=False)
class IgnoreRules:
    """What an ignore file says; equal to itself only, which is found out at once."""

    _specs: tuple[GitIgnoreSpec, ...]

    def __bool__(self) -> bool:
        return bool(self._specs)

    def ignores(self, path: str) -> bool | None:
        """Whether the path, which ends with `/` where it is a folder, is ignored; None where nothing is said of it."""
        # A name that is no UTF-8, for which only wildcards stand.
        text = path if path.isascii() else path.encode(errors="replace").decode()
        said = (spec.check_file(text).include for spec in reversed(self._specs))
        return next((each for each in said if each is not None), None)


def parse_ignore_file(data: bytes) -> IgnoreRules:
    """The rules in an ignore file's bytes. A line too long to be a pattern, or that is none, is left out."""
    return ignore_rules(data[:MAX_IGNORE_BYTES].decode(errors="replace").splitlines()[:MAX_IGNORE_LINES])


def ignore_rules(lines: Sequence[str]) -> IgnoreRules:
    """The rules in these lines."""
    patterns = [line for line in lines if len(line) <= MAX_GLOB_CHARS and line.strip() and not line.startswith("#")]
    return IgnoreRules(_specs(patterns))


def _specs(lines: Sequence[str]) -> tuple[GitIgnoreSpec, ...]:
    """As few as RE2 has the memory for, in the order of the lines. A single line that it does not take is left out."""
    if not lines:
        return ()
    try:
        return (GitIgnoreSpec.from_lines(lines, backend="re2"),)
    except (_error, re.error, ValueError):
        half = len(lines) // 2
        return (*_specs(lines[:half]), *_specs(lines[half:])) if half else ()
