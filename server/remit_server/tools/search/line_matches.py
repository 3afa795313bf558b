"""Finds lines that match a regular expression, with their context, in linear time (TOOL-06).

RE2 is the search's only pattern language and engine: it does not backtrack, and other threads run meanwhile.

Also translates a pattern for ripgrep, which only names the files that may match; RE2 decides in each of them (TOOL-06).

Also shows matches: whole ones, as many as fit; of a long line, the part around its match (TOOL-03).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import re2  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]
from pydantic import JsonValue

from remit_server.errors import ToolError

MAX_PATTERN_CHARS = 1_000
MAX_STEPS = 5_000
"""The largest size of a compiled pattern in steps. Each byte of a text may cost as many steps."""

_re2 = cast("Any", re2)

_MAX_MEMORY = 16 * 1024 * 1024
_STEPS_AT_ONCE = 200_000_000
"""About a second of work, after which the search checks whether its time is over."""
_OVERLAP_BYTES = 10_000
_METACHARACTERS = frozenset(r".^$*+?{}[]\|()")
_LOOK_AROUND = re.compile(r"\(\?<?[=!]")
_WHOLE_TEXT = re.compile(r"(?<!\\)(?:\\\\)*(?:\\[Az]|\(\?[a-zA-Z]*-[a-zA-Z]*m)")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern. `literal` is set if the pattern is plain ASCII text, which most encodings write alike."""

    text: str
    compiled: Any
    literal: bytes | None

    @property
    def window(self) -> int:
        """How many bytes are searched at once."""
        steps: int = self.compiled.programsize
        return max(1 << 16, _STEPS_AT_ONCE // steps)


@dataclass(frozen=True, slots=True)
class Match:
    """A matching line, by its number from 1, and the lines around it. The match begins at character `at` of the
    line."""

    line: int
    content: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    at: int = 0


def parse_pattern(text: str) -> Pattern:
    """Returns the compiled pattern. Raises ToolError (`invalid_arguments`) if RE2 cannot use it."""
    options = _re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    options.never_nl = True  # each line is matched by itself
    try:
        compiled = _re2.compile(f"(?m)(?:{text})".encode(), options)
    except (_re2.error, UnicodeEncodeError) as error:
        raise _unusable(text, error) from error
    if _WHOLE_TEXT.search(text):
        raise ToolError(f"cannot search for `{text}`", "each line is searched by itself", "use ^ and $")
    if compiled.programsize > MAX_STEPS:
        fix = "shorten its repetitions, or search for a part of it"
        raise ToolError(f"cannot search for `{text}`", "it is too complex", fix)
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
    r"""Returns the numbers, from 1, of the matching lines of a UTF-8 text with `\n` for every line end.

    `left_s` returns how many seconds are left; TimeoutError is raised when there are none.
    """
    numbers: list[int] = []
    number, begun = 1, 0
    while begun < len(data) and (at := _search(data, begun, pattern, left_s)) >= 0:
        if at == len(data) and data.endswith(b"\n"):  # a final line end starts no new line
            break
        number += data.count(b"\n", begun, at)
        numbers.append(number)
        if not (begun := data.find(b"\n", at) + 1):
            break
        number += 1
    return numbers


def find_match(line: str, pattern: Pattern, left_s: Callable[[], float]) -> int:
    """Returns the character at which the first match in a line begins, or -1 if there is none. Raises TimeoutError."""
    data = line.encode()
    at = _search(data, 0, pattern, left_s)
    return at if at <= 0 else len(data[:at].decode())


def _search(data: bytes, begun: int, pattern: Pattern, left_s: Callable[[], float]) -> int:
    """Returns the byte at which the first match from `begun` on starts, or -1 if there is none. Raises TimeoutError."""
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
    """Returns the end of the last line that fits into `size` bytes, or if the line is longer, an end within it."""
    end = begun + size
    return len(data) if end >= len(data) else data.rfind(b"\n", begun, end) + 1 or end


def with_context(lines: Sequence[str], number: int, context: int, at: int = 0) -> Match:
    """Returns the match on the line of that number, where it begins at character `at`, with `context` lines on both
    sides."""
    here = number - 1
    before, after = lines[max(0, here - context) : here], lines[number : number + context]
    return Match(number, lines[here], tuple(before), tuple(after), at)


MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
"""How a file in UTF-16 or UTF-32 begins. Its text is no ASCII, so ripgrep has to name every such file."""

_MARKED = "|".join("".join(f"\\x{code:02x}" for code in mark) for mark in MARKS)
# Bytes that are no UTF-8, as in a text in an older encoding, which RE2 gets converted to UTF-8.
_OLDER = r"[\x00-\x7f][\x80-\xbf]|^[\x80-\xbf]|[\xc0-\xff](?:[\x00-\x7f]|$)"

_PUNCTUATION = r"""[!-/:;=?@\[-`{-~]"""
_MEMBER = rf"(?:[^\\\[\]&~\n-]|\\[dwst]|\\{_PUNCTUATION})"
_REPEAT = r"(?:[*+?]|\{\d{1,3}(?:,\d{0,3})?\})"
# What both engines understand alike, after `_translate`.
_TOKEN = re.compile(
    rf"""(?P<kept>[^\\\[\](){{}}|*+?^$\n] | \\{_PUNCTUATION} | \\t | \( (?!\?) | \(\?: | [)|] | \^(?!{_REPEAT})
        | {_REPEAT}\??(?!{_REPEAT}) )
    | (?P<class>\[\^?{_MEMBER}(?:{_MEMBER}|-{_MEMBER})*-?\])
    | (?P<escape>\\[dDsSwW] | \\[bB](?!{_REPEAT}))
    | (?P<end>\$(?!{_REPEAT}))
    | (?P<brace>[{{}}](?![\d,]))""",
    re.VERBOSE,
)
_MEMBERS = {r"\d": "0-9", r"\w": "0-9A-Za-z_", r"\s": r"\t\f\r "}
_ESCAPES = {
    **{escape: f"[{members}]" for escape, members in _MEMBERS.items()},
    **{escape.upper(): f"[^{members}]" for escape, members in _MEMBERS.items()},
    r"\b": r"(?-u:\b)",
    r"\B": r"(?-u:\B)",
}
_PLAIN = re.compile(rf"(?:[^\\\[\](){{}}|*+?^$.]|\\{_PUNCTUATION})*")
_NEGATED = re.compile(r"\\[DSWB]")


def ripgrep_expression(pattern: str) -> str | None:
    """Returns an expression that matches a file's bytes, without Unicode, wherever the pattern matches its text; None
    if ripgrep may read the pattern differently from RE2."""
    ignore_case = pattern.startswith("(?i)")
    text = pattern.removeprefix("(?i)")
    if ignore_case and _NEGATED.search(text):
        return None
    parts: list[str] = []
    at = 0
    while at < len(text):
        if (token := _TOKEN.match(text, at)) is None:
            return None
        parts.append(_translate(token))
        at = token.end()
    plain = text.isascii() and not ignore_case and _PLAIN.fullmatch(text)
    older = "" if plain else f"|{_OLDER}"
    return f"{_MARKED}|(?u{'i' if ignore_case else ''}:{''.join(parts)}){older}"


def _translate(token: re.Match[str]) -> str:
    match token.lastgroup:
        case "class":
            return re.sub(r"\\.", lambda found: _MEMBERS.get(found[0], found[0]), token[0])
        case "escape":
            return _ESCAPES[token[0]]
        case "end":
            return r"\r?$"
        case "brace":
            return f"\\{token[0]}"
        case _:
            return token[0]


MAX_SHOWN_CHARS = 300

_BEFORE_MATCH = 100


def render_matches(matches: Iterable[tuple[str, Match]], room: int) -> tuple[list[str], int]:
    """Returns the lines as ripgrep prints them (`12:` is a match, `11-` a line beside it) that fit into `room`
    characters, and how many matches fitted."""
    lines: list[str] = []
    current, fitted = "", 0
    for relative, match in matches:
        block = [relative] if relative != current else ["--"] if match.before or match.after else []
        current = relative
        first = match.line - len(match.before)
        block += [f"{n}-{_cut_line(line)}" for n, line in enumerate(match.before, first)]
        block.append(f"{match.line}:{_excerpt(match)}")
        block += [f"{n}-{_cut_line(line)}" for n, line in enumerate(match.after, match.line + 1)]
        room -= sum(len(line) + 1 for line in block)
        if room < 0:
            break
        lines += block
        fitted += 1
    return lines, fitted


def as_data(matches: Sequence[tuple[str, Match]]) -> list[JsonValue]:
    """Returns the matches as JSON values."""
    return [
        {
            "file": relative,
            "line": match.line,
            "content": _excerpt(match),
            "context_before": [_cut_line(line) for line in match.before],
            "context_after": [_cut_line(line) for line in match.after],
        }
        for relative, match in matches
    ]


def _cut_line(line: str) -> str:
    over = len(line) - MAX_SHOWN_CHARS
    return line if over <= 0 else f"{line[:MAX_SHOWN_CHARS]}… ({over} more characters)"


def _excerpt(match: Match) -> str:
    """Returns the matching line, or the part of a long line around the match."""
    begun = match.at - _BEFORE_MATCH
    if begun <= 0 or len(match.content) <= MAX_SHOWN_CHARS:
        return _cut_line(match.content)
    return f"({begun} characters) …{_cut_line(match.content[begun:])}"
