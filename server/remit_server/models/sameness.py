"""Whether a model only repeats itself: small ones do, until their last token, if nobody stops them (MOD-22). Pure."""

from __future__ import annotations

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
    """
    if len(text) < least:
        return False
    tail = text[-least:]
    longest = min(LONGEST_PERIOD, least // TIMES)
    period = (tail + tail).find(tail[: least - longest], 1)
    return 0 < period <= longest and tail[period:] == tail[:-period]
