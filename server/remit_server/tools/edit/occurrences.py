"""Finds where a text occurs in another, exactly or as a whole identifier; pure (TOOL-04)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, cast

import re2  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]

_re2 = cast("Any", re2)
MAX_LOOSE = 400
_QUOTES = "'", '"'
_PIECE = re.compile(r"\w+|[^\w\s]")


def find_all(content: str, wanted: str, *, whole_word: bool) -> tuple[int, ...]:
    """Returns the offsets of occurrences from left to right, without overlaps. `wanted` must not be empty."""
    return tuple(_occurrences(content, wanted, whole_word, 0, len(wanted)))


def find_each(content: str, wanted: str, *, whole_word: bool, most: int, start: int = 0) -> tuple[int, ...]:
    """Returns the first `most` offsets of `wanted` from `start` on, overlapping occurrences included."""
    return tuple(islice(_occurrences(content, wanted, whole_word, start, 1), most))


def _occurrences(content: str, wanted: str, whole_word: bool, start: int, step: int) -> Iterator[int]:
    at = content.find(wanted, start)
    while at >= 0:
        fits = not whole_word or stands_alone(content, at, at + len(wanted))
        if fits:
            yield at
        at = content.find(wanted, at + step if fits else _next_start(content, wanted, at))


def _next_start(content: str, wanted: str, at: int) -> int:
    """Returns where the next whole-word occurrence can begin: past the word characters that touch the one at `at`.

    To advance by one character would be correct too, but would take hours in a long run of one letter.
    """
    start, end = at, at + len(wanted)
    if start > 0 and _is_word_character(content[start - 1]):
        while start < len(content) and _is_word_character(content[start]):
            start += 1
        # An occurrence that begins with no word character may begin right after the word.
        return max(start, at + 1)
    while end < len(content) and _is_word_character(content[end]):
        end += 1
    return max(end - len(wanted), at + 1)


def stands_alone(content: str, start: int, end: int) -> bool:
    """Returns whether no word character, of any script, touches content[start:end]."""
    return not (start > 0 and _is_word_character(content[start - 1])) and not (
        end < len(content) and _is_word_character(content[end])
    )


def spelled_there(content: str, wanted: str) -> str | None:
    """Returns the text in the content that equals a one-line text except for spaces within the line and the kind of
    quotes; None if there is none, or if `wanted` is longer than `MAX_LOOSE`."""
    pieces = _PIECE.findall(wanted)
    if not pieces or len(wanted) > MAX_LOOSE or "\n" in wanted.strip("\n"):
        return None
    spaced = (
        f"[ \t]{'+' if before[-1].isalnum() and after[0].isalnum() else '*'}{_loose(after)}"
        for before, after in pairwise(pieces)
    )
    # Use RE2, because Python's own engine could take hours on a text that nearly matches at each place.
    try:
        found = _re2.search(_loose(pieces[0]) + "".join(spaced), content)
    except UnicodeEncodeError:  # a lone surrogate, which no file has
        return None
    return None if found is None else str(found[0])


def _loose(piece: str) -> str:
    return "['\"]" if piece in _QUOTES else re.escape(piece)


def quoted_as(there: str, old: str, new: str) -> str:
    """Returns the new text with the kind of quotes that the file has, if the old text had only the other kind."""
    for mine, other in (_QUOTES, _QUOTES[::-1]):
        if mine in old and other not in old and other in there and mine not in there:
            return new.replace(mine, other)
    return new


def replace_at(content: str, offsets: Sequence[int], length: int, new: str) -> str:
    """Returns `content` with `new` in place of `length` characters at each offset; offsets ascend and do not
    overlap."""
    pieces: list[str] = []
    done = 0
    for at in offsets:
        pieces += (content[done:at], new)
        done = at + length
    pieces.append(content[done:])
    return "".join(pieces)


def line_numbers(content: str, offsets: Sequence[int]) -> tuple[int, ...]:
    """Returns the line, from 1, of each offset; the offsets must ascend."""
    numbers: list[int] = []
    line, done = 1, 0
    for at in offsets:
        line += content.count("\n", done, at)
        done = at
        numbers.append(line)
    return tuple(numbers)


def _is_word_character(char: str) -> bool:
    # Whether the character may continue an identifier: letters, digits, `_`, and marks that combine with a letter.
    return ("a" + char).isidentifier()
