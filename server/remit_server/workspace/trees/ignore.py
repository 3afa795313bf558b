"""Matches paths against a project's ignore files, in time proportional to their length (FILE-05).

The files are untrusted. pathspec translates their rules, and RE2, which matches them, does not backtrack.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import Any, cast

import re2  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]
from pathspec import GitIgnoreSpec

from remit_governance.globs import MAX_GLOB_CHARS

MAX_IGNORE_BYTES = 256 * 1024
MAX_IGNORE_LINES = 2000
BYTE_ORDER_MARK = codecs.BOM_UTF8

_LOWER = {ord(letter): letter.lower() for letter in ascii_uppercase}
"""What git folds: the letters of ASCII alone."""

_error = cast("type[Exception]", cast("Any", re2).error)


@dataclass(frozen=True, slots=True, eq=False)
class IgnoreRules:
    """The rules of an ignore file; compared by identity, which is fast. With `fold` the case of letters does not count,
    as on a disk that keeps none. `cut` says that they are not all of the file's: more would take seconds."""

    _specs: tuple[GitIgnoreSpec, ...]
    _fold: bool = False
    _prefix: str = ""
    cut: bool = False

    def __bool__(self) -> bool:
        return bool(self._specs)

    def ignores(self, path: str) -> bool | None:
        """Returns whether the path (with a final `/` for a folder) is ignored; None where no rule matches it."""
        # A name that is not UTF-8, which only wildcards match.
        whole = self._prefix + path
        text = whole if whole.isascii() else whole.encode(errors="replace").decode()
        text = text.translate(_LOWER) if self._fold else text
        said = (spec.check_file(text).include for spec in reversed(self._specs))
        return next((each for each in said if each is not None), None)


def parse_ignore_file(data: bytes, *, fold: bool = False, prefix: str = "") -> IgnoreRules:
    """Parses an ignore file, whose paths begin with `prefix`. Lines that are too long or malformed are skipped."""
    lines = ignore_lines(data)
    cut = len(data) > MAX_IGNORE_BYTES or data.count(b"\n") > MAX_IGNORE_LINES
    rules = ignore_rules([line.translate(_LOWER) for line in lines] if fold else lines, fold=fold)
    return replace(rules, _prefix=prefix, cut=cut)


def ignore_lines(data: bytes) -> list[str]:
    """Returns the lines of an ignore file as git reads them: without a mark, ended by line feeds only."""
    text = data[:MAX_IGNORE_BYTES].removeprefix(BYTE_ORDER_MARK).decode(errors="replace")
    return [line.removesuffix("\r") for line in text.split("\n")[:MAX_IGNORE_LINES]]


def ignore_rules(lines: Sequence[str], *, fold: bool = False) -> IgnoreRules:
    """Returns the rules in these lines."""
    patterns = [line for line in lines if len(line) <= MAX_GLOB_CHARS and line.strip() and not line.startswith("#")]
    return IgnoreRules(_specs(patterns), fold)


def _specs(lines: Sequence[str]) -> tuple[GitIgnoreSpec, ...]:
    """Compiles the lines in order, in as few parts as RE2's memory limit allows. A line that RE2 refuses is skipped."""
    if not lines:
        return ()
    try:
        return (GitIgnoreSpec.from_lines(lines, backend="re2"),)
    except (_error, re.error, ValueError):
        half = len(lines) // 2
        return (*_specs(lines[:half]), *_specs(lines[half:])) if half else ()
