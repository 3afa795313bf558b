"""Matches as they are shown: whole ones, as many as fit, and of a long line what is around its match (TOOL-03)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import JsonValue

from remit_server.tools.search.line_matches import Match

MAX_SHOWN_CHARS = 300

_BEFORE_MATCH = 100


def render_matches(matches: Iterable[tuple[str, Match]], room: int) -> tuple[list[str], int]:
    """As ripgrep prints them, within `room` characters: `12:` is a match, `11-` a line beside it. And how many."""
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
    """The same for a program."""
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
    """The matching line, of a long one what is around the match."""
    begun = match.at - _BEFORE_MATCH
    if begun <= 0 or len(match.content) <= MAX_SHOWN_CHARS:
        return _cut_line(match.content)
    return f"({begun} characters) …{_cut_line(match.content[begun:])}"
