"""Where a text occurs in another, exactly or as a whole identifier; pure (TOOL-04)."""

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
    """Returns offsets of the occurrences from left to right, none overlapping another. `wanted` must not be empty."""
    return tuple(_occurrences(content, wanted, whole_word, 0, len(wanted)))


def find_each(content: str, wanted: str, *, whole_word: bool, most: int, start: int = 0) -> tuple[int, ...]:
    """Returns the first `most` offsets from `start` on at which `wanted` stands, also where one overlaps another."""
    return tuple(islice(_occurrences(content, wanted, whole_word, start, 1), most))


def _occurrences(content: str, wanted: str, whole_word: bool, start: int, step: int) -> Iterator[int]:
    at = content.find(wanted, start)
    while at >= 0:
        fits = not whole_word or stands_alone(content, at, at + len(wanted))
        if fits:
            yield at
        at = content.find(wanted, at + step if fits else _next_start(content, wanted, at))


def _next_start(content: str, wanted: str, at: int) -> int:
    """Returns where the next occurrence can begin that stands alone: past the word that spoils the one at `at`.

    One character further would do as well, and would take hours in a long run of one letter.
    """
    start, end = at, at + len(wanted)
    if start > 0 and _is_word_character(content[start - 1]):
        while start < len(content) and _is_word_character(content[start]):
            start += 1
        # An occurrence that begins with another character than a letter may begin right behind the word.
        return max(start, at + 1)
    while end < len(content) and _is_word_character(content[end]):
        end += 1
    return max(end - len(wanted), at + 1)


def stands_alone(content: str, start: int, end: int) -> bool:
    """Returns whether no word character touches content[start:end], in any script."""
    return not (start > 0 and _is_word_character(content[start - 1])) and not (
        end < len(content) and _is_word_character(content[end])
    )


def spelled_there(content: str, wanted: str) -> str | None:
    """Returns how a text of one line is spelled in the content, where only spaces within the line and the kind of
    quotes differ; None where it is not there, or is longer than `MAX_LOOSE`."""
    pieces = _PIECE.findall(wanted)
    if not pieces or len(wanted) > MAX_LOOSE or "\n" in wanted.strip("\n"):
        return None
    spaced = (
        f"[ \t]{'+' if before[-1].isalnum() and after[0].isalnum() else '*'}{_loose(after)}"
        for before, after in pairwise(pieces)
    )
    # By RE2: text in which a beginning of this stands at each place would take Python's own engine hours.
    try:
        found = _re2.search(_loose(pieces[0]) + "".join(spaced), content)
    except UnicodeEncodeError:  # half a character, which no file has
        return None
    return None if found is None else str(found[0])


def _loose(piece: str) -> str:
    return "['\"]" if piece in _QUOTES else re.escape(piece)


def quoted_as(there: str, old: str, new: str) -> str:
    """Returns the new text with the quotes of the file, where all of the old one's were of the other kind."""
    for mine, other in (_QUOTES, _QUOTES[::-1]):
        if mine in old and other not in old and other in there and mine not in there:
            return new.replace(mine, other)
    return new


def replace_at(content: str, offsets: Sequence[int], length: int, new: str) -> str:
    """`content` with `new` for the `length` characters at each offset; offsets ascend and do not overlap."""
    pieces: list[str] = []
    done = 0
    for at in offsets:
        pieces += (content[done:at], new)
        done = at + length
    pieces.append(content[done:])
    return "".join(pieces)


def line_numbers(content: str, offsets: Sequence[int]) -> tuple[int, ...]:
    """Returns the line, from 1, of each offset; offsets ascend."""
    numbers: list[int] = []
    line, done = 1, 0
    for at in offsets:
        line += content.count("\n", done, at)
        done = at
        numbers.append(line)
    return tuple(numbers)


def _is_word_character(char: str) -> bool:
    # What may continue an identifier: letters, digits, `_`, and marks that belong to the letter before them.
    return ("a" + char).isidentifier()
