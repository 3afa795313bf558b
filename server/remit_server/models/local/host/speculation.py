"""Guesses what a model writes next from what it has read, because most of an edited file is the old file (MOD-17).

A guess is only a proposal: the model scores all of it in one pass, and tokens that it would not have chosen are
dropped.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from remit_server.models.dialects.table import Encoding, JsonObject

MATCHED = 3
"""How many tokens have to agree before anything is guessed."""
SMALLEST, LARGEST = 4, 16
"""The fewest and the most tokens of a guess; there are twice as many after each guess that was right."""
MOST_PAUSE = 64
"""The most tokens without a guess after guesses that were wrong from their first token."""
MOST_SOURCES = 8
MOST_CHARACTERS = 60_000
"""The most characters of one source."""
_NUMBERED = re.compile(r"^ *\d+\|(.*)$", re.MULTILINE)
_FEW_LINES = 3


@dataclass(frozen=True, slots=True)
class Source:
    """Tokens that may be written again, and the places that follow each `MATCHED` tokens in a row."""

    tokens: Sequence[int]
    places: Mapping[tuple[int, ...], Sequence[int]]


def make_source(tokens: Sequence[int]) -> Source:
    """Returns a source."""
    places: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for end in range(MATCHED, len(tokens)):
        places[tuple(tokens[end - MATCHED : end])].append(end)
    return Source(tokens, places)


def find_files(texts: Iterable[str], encoding: Encoding) -> Iterator[str]:
    """Yields the files that were shown with numbered lines, as a call's argument spells them."""
    for text in texts:
        lines = _NUMBERED.findall(text[:MOST_CHARACTERS])
        if len(lines) > _FEW_LINES:
            plain = "\n".join(lines)
            yield json.dumps(plain, ensure_ascii=False)[1:-1] if isinstance(encoding, JsonObject) else plain


class Drafter:
    """Guesses for one generation, from sources that may be written again."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._tail: tuple[int, ...] = ()
        self._at: tuple[int, int] | None = None
        self._last = (0, 0)
        self._size = SMALLEST
        self._pause = self._paused = 0

    def observe(self, tokens: Sequence[int]) -> None:
        """Notes tokens that were written."""
        for token in tokens:
            self._tail = (*self._tail, token)[-MATCHED:]
            self._paused = max(0, self._paused - 1)
            if self._at is not None:
                number, position = self._at
                source = self._sources[number].tokens
                self._last = self._at
                on_track = position < len(source) and source[position] == token
                self._at = (number, position + 1) if on_track else None
        if self._at is None:
            self._at = self._find()

    def propose(self, most: int) -> list[int]:
        """Returns the guess for the next tokens, at most `most`; an empty list if there is none."""
        if self._at is None or self._paused:
            return []
        number, position = self._at
        return list(self._sources[number].tokens[position : position + min(most, self._size)])

    def rate(self, guessed: int, right: int) -> None:
        """Notes how many tokens of a guess were right."""
        if right == guessed:
            self._size, self._pause = min(2 * self._size, LARGEST), 0
            return
        self._size = max(SMALLEST, self._size // 2)
        if right == 0:
            self._pause = min(max(1, 2 * self._pause), MOST_PAUSE)
            self._paused = self._pause

    def _find(self) -> tuple[int, int] | None:
        """Returns the place after the last tokens that is nearest to where the text agreed last, or None."""
        last, position = self._last
        places = (
            (number, place)
            for number, source in enumerate(self._sources)
            for place in source.places.get(self._tail, ())
        )
        return min(places, key=lambda found: (found[0] != last, abs(found[1] - position)), default=None)
