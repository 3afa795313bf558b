"""Calls that are held until it is certain that they end an answer: any other were quoted (MOD-14)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from remit_server.models.dialects.quotation import Place
from remit_server.models.dialects.read import ReadCall

MOST_SHOWN = 2000
"""The most characters of an unreadable call that are passed on."""
MOST_STARTS = 16
"""Places of an answer at which calls are looked for; an answer with more of them is about calls."""
_INLINE = "a call begins a line of its own; this one stands in a sentence, and nothing was run"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A malformed call, and what is wrong with it."""

    text: str
    why: str


@dataclass(slots=True)
class LastCalls:
    """Calls in a row, with all of their text, and what they can be where the first of them stands."""

    place: Place
    text: str = ""
    found: list[ReadCall | Unreadable] = field(default_factory=list[ReadCall | Unreadable])

    def end(self) -> Iterator[str | ReadCall | Unreadable]:
        """Yields what they are at the end of an answer. A whole call in a sentence is neither run nor passed over."""
        if self.place == "call":
            yield from self.found
        elif self.place == "inline" and self.found and all(isinstance(each, ReadCall) for each in self.found):
            yield Unreadable(self.text[:MOST_SHOWN], _INLINE)
        else:
            yield self.text
