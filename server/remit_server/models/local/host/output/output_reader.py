"""Reads a model's output piece by piece: its thinking, its text, its calls (MOD-04).

Everything between the markers of thinking is thinking: a call spelled there is not a call. Calls are held back until it
is certain that they end the answer, because any others were quoted (MOD-14).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, assert_never

from remit_server.models.dialects.quotation import Place
from remit_server.models.dialects.read import ReadCall
from remit_server.models.local.host.grammar.arguments import Piece
from remit_server.models.local.wire import Call, Delta, Frame, ThinkingFrame, UnreadableFrame
from remit_server.models.thinking import Thought, ThoughtReader


@dataclass(slots=True)
class JsonStrings:
    """Tells whether a place of a growing JSON text is inside a string; each character is looked at once."""

    at: int = 0
    inside: bool = False
    escaped: bool = False

    def reach(self, text: str, end: int) -> bool:
        """Returns whether the place `end` is inside a string; it must not lie before a place that was asked about."""
        for character in text[self.at : end]:
            if self.escaped:
                self.escaped = False
            elif self.inside and character == "\\":
                self.escaped = True
            elif character == '"':
                self.inside = not self.inside
        self.at = end
        return self.inside


@dataclass(frozen=True, slots=True)
class ThinkMarkers:
    """The markers of a model's thinking; `close_pieces` begins with a single token."""

    open: str
    close: str
    open_pieces: tuple[Piece, ...]
    close_pieces: tuple[Piece, ...]

    def is_opened_by(self, prompt: str) -> bool:
        """Returns whether the prompt ends inside thinking that the template opened."""
        return prompt.rstrip().endswith(self.open)

    def close_thinking(self, prompt: str) -> str:
        """Returns the prompt with thinking closed if the template opened it, for a model that is not to think."""
        return f"{prompt.rstrip()}\n\n{self.close}\n\n" if self.is_opened_by(prompt) else prompt


MOST_SHOWN = 2000
"""The most characters of an unreadable call that are passed on."""
MOST_STARTS = 16
"""The most places of an answer that are tried as the start of calls; an answer with more of them is about calls."""
_INLINE = "a call has to begin on a line of its own; this one is inside a sentence, and nothing was run"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A malformed call, and what is wrong with it."""

    text: str
    why: str


@dataclass(slots=True)
class LastCalls:
    """Calls in a row with their whole text, and what a call is at the place of the first one."""

    place: Place
    text: str = ""
    found: list[ReadCall | Unreadable] = field(default_factory=list[ReadCall | Unreadable])

    def end(self) -> Iterator[str | ReadCall | Unreadable]:
        """Yields the calls at the end of an answer, or their text if they were quoted. A complete call in a sentence
        becomes an unreadable one, so that it is neither run nor ignored."""
        if self.place == "call":
            yield from self.found
        elif self.place == "inline" and self.found and all(isinstance(each, ReadCall) for each in self.found):
            yield Unreadable(self.text[:MOST_SHOWN], _INLINE)
        else:
            yield self.text


Part = str | ReadCall | Unreadable | Thought


class Reader(Protocol):
    """Splits an answer. Both methods may raise if the answer cannot be used."""

    def feed(self, piece: str) -> Iterator[Part]:
        """Adds text; yields what is certain."""
        ...

    def finish(self, *, cut: bool) -> Iterator[Part]:
        """Yields what was held back; `cut`: the token limit ended the text."""
        ...


class Verbatim:
    """Reads an answer without structure: a value that the grammar guarantees."""

    def feed(self, piece: str) -> Iterator[str]:
        """Yields the text unchanged."""
        yield piece

    def finish(self, *, cut: bool) -> Iterator[str]:
        """Yields nothing, because nothing is held back."""
        del cut
        yield from ()


@dataclass(frozen=True, slots=True)
class OutputReader:
    """Separates the thinking, if there may be any, and reads the rest."""

    id: str
    reader: Reader
    thoughts: ThoughtReader | None = None

    def feed(self, piece: str) -> Iterator[Frame]:
        """Adds text; yields the frames that are certain."""
        yield from self._to_frames(self._answer(self._split(piece)))

    def finish(self, *, cut: bool) -> Iterator[Frame]:
        """Yields what was held back. Raises what the reader raises."""
        rest = self.thoughts.finish() if self.thoughts is not None else ()
        yield from self._to_frames(self._answer(rest))
        yield from self._to_frames(self.reader.finish(cut=cut))

    def _split(self, piece: str) -> Iterable[Thought | str]:
        return (piece,) if self.thoughts is None else self.thoughts.feed(piece)

    def _answer(self, parts: Iterable[Thought | str]) -> Iterator[Part]:
        for part in parts:
            if isinstance(part, Thought):
                yield part
            else:
                yield from self.reader.feed(part)

    def _to_frames(self, parts: Iterable[Part]) -> Iterator[Frame]:
        for part in parts:
            match part:
                case str():
                    if part:
                        yield Delta(id=self.id, text=part)
                case Thought(text):
                    yield ThinkingFrame(id=self.id, text=text)
                case ReadCall(name, arguments):
                    yield Call(id=self.id, name=name, arguments=arguments)
                case Unreadable(text, why):
                    yield UnreadableFrame(id=self.id, text=text, why=why)
                case _:
                    assert_never(part)
