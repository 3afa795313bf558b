"""Lines that match a regular expression, with their context, in linear time (TOOL-06).

RE2 is the language and the engine, the only one of the search: it does not backtrack, and other threads run meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import re2  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]

from remit_server.errors import ToolError

MAX_PATTERN_CHARS = 1_000
MAX_STEPS = 5_000
"""Of a compiled pattern: each byte of a text may cost as many of them."""

_re2 = cast("Any", re2)

_MAX_MEMORY = 16 * 1024 * 1024
_STEPS_AT_ONCE = 200_000_000
"""About a second: after each so many it is seen whether the time is over."""
_OVERLAP_BYTES = 10_000
_METACHARACTERS = frozenset(r".^$*+?{}[]\|()")
_LOOK_AROUND = re.compile(r"\(\?<?[=!]")
_WHOLE_TEXT = re.compile(r"(?<!\\)(?:\\\\)*(?:\\[Az]|\(\?[a-zA-Z]*-[a-zA-Z]*m)")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern; `literal` is set where it is plain ASCII, which most encodings write alike."""

    text: str
    compiled: Any
    literal: bytes | None

    @property
    def window(self) -> int:
        """Bytes that are searched at once."""
        steps: int = self.compiled.programsize
        return max(1 << 16, _STEPS_AT_ONCE // steps)


@dataclass(frozen=True, slots=True)
class Match:
    """A matching line, by its number from 1, and the lines around it; the match begins `at` this character."""

    line: int
    content: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    at: int = 0


def parse_pattern(text: str) -> Pattern:
    """Raises ToolError (`invalid_arguments`) for what is no regular expression of RE2's."""
    options = _re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    options.never_nl = True  # a line is matched by itself
    try:
        compiled = _re2.compile(f"(?m)(?:{text})".encode(), options)
    except (_re2.error, UnicodeEncodeError) as error:
        raise _unusable(text, error) from error
    if _WHOLE_TEXT.search(text):
        raise ToolError(f"cannot search for `{text}`", "each line is searched by itself", "use ^ and $")
    if compiled.programsize > MAX_STEPS:
        fix = "shorten its repetitions, or search for a part of it"
        raise ToolError(f"cannot search for `{text}`", "it is too involved", fix)
    literal = text.encode() if text.isascii() and not _METACHARACTERS & set(text) else None
    return Pattern(text, compiled, literal)


def _unusable(text: str, error: Exception) -> ToolError:
    if _LOOK_AROUND.search(text) or re.search(r"\\[1-9]", text):
        why = "look-around and references to groups are not supported"
        return ToolError(f"cannot search for `{text}`", why, "search for a wider pattern without them")
    said = error.args[0] if error.args else error
    why = f"it is not a valid regular expression: {said.decode(errors='replace') if isinstance(said, bytes) else said}"
    fix = "put a backslash before special characters such as ( [ { . * + ?"
    return ToolError(f"cannot search for `{text}`", why, fix)


def matching_lines(data: bytes, pattern: Pattern, left_s: Callable[[], float]) -> list[int]:
    r"""Returns the numbers, from 1, of the lines of a UTF-8 text with `\n` for every line end.

    `left_s` says how many seconds there still are; raises TimeoutError when there are none.
    """
    numbers: list[int] = []
    number, begun = 1, 0
    while begun < len(data) and (at := _search(data, begun, pattern, left_s)) >= 0:
        if at == len(data) and data.endswith(b"\n"):  # a final end starts no other line
            break
        number += data.count(b"\n", begun, at)
        numbers.append(number)
        if not (begun := data.find(b"\n", at) + 1):
            break
        number += 1
    return numbers


def find_match(line: str, pattern: Pattern, left_s: Callable[[], float]) -> int:
    """Returns the character at which the first match in a line begins, -1 where there is none. Raises TimeoutError."""
    data = line.encode()
    at = _search(data, 0, pattern, left_s)
    return at if at <= 0 else len(data[:at].decode())


def _search(data: bytes, begun: int, pattern: Pattern, left_s: Callable[[], float]) -> int:
    """Returns the byte at which the first match from `begun` on starts, or -1. Raises TimeoutError."""
    while True:
        if left_s() <= 0:
            raise TimeoutError
        end = _window_end(data, begun, pattern.window)
        if found := pattern.compiled.search(data, begun, end):
            return cast("int", found.start())
        if end >= len(data):
            return -1
        begun = end if data[end - 1] == ord("\n") else end - _OVERLAP_BYTES


def _window_end(data: bytes, begun: int, size: int) -> int:
    """Returns where the last line that fits in ends; within a line that is longer."""
    end = begun + size
    return len(data) if end >= len(data) else data.rfind(b"\n", begun, end) + 1 or end


def with_context(lines: Sequence[str], number: int, context: int, at: int = 0) -> Match:
    """Returns the line of that number, its match beginning `at` a character, with `context` lines on both sides."""
    here = number - 1
    before, after = lines[max(0, here - context) : here], lines[number : number + context]
    return Match(number, lines[here], tuple(before), tuple(after), at)
