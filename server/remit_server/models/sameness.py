"""Notices that a model only repeats itself, as small ones do until their last token if nobody stops them (MOD-22).
Pure.
"""

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
"""How many characters have to be alike. A table or a ruled line in a text is hardly ever as long."""
_LOOKED_AT = 64
"""How many characters are between two checks."""
_NUMBER = re.compile(r"\d+")
_WORDS = 8
"""How many letters a piece needs to count as words; a list of numbers has none."""


@dataclass(slots=True)
class Sameness:
    """What has arrived of an answer, which only repeats itself if its last `least` characters are alike.

    The engine counts tokens only at the end. Until then, `read` is the prompt's size as the engine told it while it
    read, and `written` counts one token for each piece of text.
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
    """Passes on an answer until it only repeats itself, then its `end`, and closes the stream, because only the token
    limit would end it."""
    heard = Sameness(least)
    async with aclosing(events):
        async for event in events:
            yield event
            if heard.take(event):
                yield end(heard)
                return


def goes_on_alike(text: str, least: int = ENOUGH) -> bool:
    """Returns whether the last `least` characters repeat one piece of up to `LONGEST_PERIOD` characters at least
    `TIMES` times.

    If `least` is below `ENOUGH`, pieces with words may differ in their numbers, because the smallest models keep
    counting for ever.
    """
    if len(text) < least:
        return False
    tail = text[-least:]
    return _find_period(tail) is not None or (least < ENOUGH and _counts_on(tail))


def _counts_on(text: str) -> bool:
    """Returns whether a text repeats a piece with words in which only the numbers differ."""
    counted = _NUMBER.sub("0", text.lstrip("0123456789"))
    period = _find_period(counted)
    return period is not None and sum(map(str.isalpha, counted[:period])) >= _WORDS


def _find_period(text: str) -> int | None:
    """Returns the length of the piece that a text repeats, or None if it repeats none."""
    longest = min(LONGEST_PERIOD, len(text) // TIMES)
    period = (text + text).find(text[: len(text) - longest], 1)
    return period if 0 < period <= longest and text[period:] == text[:-period] else None
