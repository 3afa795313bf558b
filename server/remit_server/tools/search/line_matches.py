"""Lines that match a regular expression, with their context, in bounded time (TOOL-06)."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import regex

from remit_server.errors import ToolError

MAX_PATTERN_CHARS = 1_000
MAX_PART_CHARS = 1_000_000
"""A longer line is judged in parts, for an engine takes memory in proportion; they overlap."""

_OVERLAP_CHARS = 10_000

# `regex` and not `re`: it stops when its time is over, and lets other threads run meanwhile.
_METACHARACTERS = frozenset(r".^$*+?{}[]\|()")
# A pattern that calls itself takes a gigabyte on a short line.
_RECURSION = re.compile(r"\(\?(?:R|[-+]?\d+|&\w+|P>\w+)\)")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern; `literal` is set where it is plain text, which is looked for without an engine."""

    text: str
    compiled: regex.Pattern[str]
    literal: str | None


@dataclass(frozen=True, slots=True)
class Match:
    """A matching line, by its number from 1, and the lines around it; the match begins `at` this character."""

    line: int
    content: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    at: int = 0


def parse_pattern(text: str) -> Pattern:
    """Raises ToolError (`invalid_arguments`) for what is no regular expression."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = regex.compile(text)
    except (regex.error, OverflowError, RecursionError, MemoryError) as error:
        raise _unusable(text, f"it is no regular expression: {error}") from error
    if _RECURSION.search(text):
        raise _unusable(text, "it calls itself")
    return Pattern(text, compiled, None if _METACHARACTERS & set(text) else text)


def _unusable(text: str, why: str) -> ToolError:
    fix = "put a backslash before special characters such as ( [ { . * + ?"
    return ToolError(f"cannot search for `{text}`", why, fix)


def matching_lines(
    lines: Sequence[str], pattern: Pattern, left_s: Callable[[], float], among: Iterable[int] | None = None
) -> list[int]:
    """Numbers, from 1, of the lines that match.

    `among` are those of the lines that may, where that is known. `left_s` says how many seconds there still are; raises
    TimeoutError when there are none, or no memory.
    """
    candidates = range(1, len(lines) + 1) if among is None else among
    if pattern.literal is not None:
        return [n for n in candidates if pattern.literal in lines[n - 1]]
    return [n for n in candidates if find_match(lines[n - 1], pattern, left_s) >= 0]


def find_match(line: str, pattern: Pattern, left_s: Callable[[], float]) -> int:
    """Where the first match in a line begins; -1 where there is none. Raises TimeoutError as `matching_lines` does."""
    if pattern.literal is not None:
        return line.find(pattern.literal)
    for begun in range(0, max(len(line), 1), MAX_PART_CHARS):
        seconds = left_s()
        if seconds <= 0:
            raise TimeoutError
        end = begun + MAX_PART_CHARS + _OVERLAP_CHARS
        try:
            match = pattern.compiled.search(line, begun, end, concurrent=True, timeout=seconds)
        except MemoryError as error:
            raise TimeoutError from error
        if match:
            return match.start()
    return -1


def with_context(lines: Sequence[str], number: int, context: int, at: int = 0) -> Match:
    """The line of that number, in which the match begins `at` a character, with `context` lines on either side."""
    here = number - 1
    before, after = lines[max(0, here - context) : here], lines[number : number + context]
    return Match(number, lines[here], tuple(before), tuple(after), at)
