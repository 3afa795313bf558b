"""Whether a model only repeats itself: small ones do, until their last token, if nobody stops them (MOD-22). Pure."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TypeVar

from remit_server.models.ports import PromptRead, TextDelta

T = TypeVar("T")

LONGEST_PERIOD = 200
TIMES = 6
ENOUGH = 1_500
"""Characters that are alike: no table and no rule of a text is so long, hardly ever."""
_LOOKED_AT = 64
"""Characters between two looks."""
_NUMBER = re.compile(r"\d+")
_WORDS = 8
"""Letters in a piece that counts: a list of numbers has none."""


@dataclass(slots=True)
class Sameness:
    """What has come of an answer: it only repeats itself where its last `least` characters are alike.

    The engine counts tokens at the end alone. Until then they are what it said of the prompt while it read it, and one
    for each piece of text.
    """

    least: int = ENOUGH
    tail: str = ""
    length: int = 0
    read: int = 0
    written: int = 0

    def take(self, event: object) -> bool:
        """Takes in an event; returns whether the answer only repeats itself by now."""
        match event:
            case PromptRead(total=total):
                self.read = total
            case TextDelta(text=more):
                self.written += 1
                before, self.length = self.length, self.length + len(more)
                self.tail = (self.tail + more)[-self.least :]
                return before // _LOOKED_AT != self.length // _LOOKED_AT and goes_on_alike(self.tail, self.least)
            case _:
                pass
        return False


async def end_where_alike(events: AsyncGenerator[T], least: int, end: Callable[[Sameness], T]) -> AsyncGenerator[T]:
    """Passes on an answer until it only repeats itself, then its `end`, and closes the stream: nothing but its limit
    would end it."""
    heard = Sameness(least)
    async with aclosing(events):
        async for event in events:
            yield event
            if heard.take(event):
                yield end(heard)
                return


def goes_on_alike(text: str, least: int = ENOUGH) -> bool:
    """Returns whether the last `least` characters are one piece over and over, at least `TIMES`, of up to
    `LONGEST_PERIOD` characters.

    Where fewer than `ENOUGH` are enough, a piece with words in it is the same with another number: the smallest models
    count on for ever.
    """
    if len(text) < least:
        return False
    tail = text[-least:]
    return _find_period(tail) is not None or (least < ENOUGH and _counts_on(tail))


def _counts_on(text: str) -> bool:
    """Returns whether numbers alone differ in the pieces that a text is made of."""
    counted = _NUMBER.sub("0", text.lstrip("0123456789"))
    period = _find_period(counted)
    return period is not None and sum(map(str.isalpha, counted[:period])) >= _WORDS


def _find_period(text: str) -> int | None:
    """Returns how long the piece is that a text is made of, over and over."""
    longest = min(LONGEST_PERIOD, len(text) // TIMES)
    period = (text + text).find(text[: len(text) - longest], 1)
    return period if 0 < period <= longest and text[period:] == text[:-period] else None
