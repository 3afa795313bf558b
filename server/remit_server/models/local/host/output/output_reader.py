"""Reads a model's output piece by piece: its thinking, its text, its calls (MOD-04)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, assert_never

from remit_server.models.dialects.read import ReadCall
from remit_server.models.local.host.output.last_calls import Unreadable
from remit_server.models.local.host.output.thinking import Thought, ThoughtReader
from remit_server.models.local.wire import Call, Delta, Frame, ThinkingFrame, UnreadableFrame

Part = str | ReadCall | Unreadable | Thought


class Reader(Protocol):
    """Splits an answer. Both methods may raise where the answer cannot be used."""

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
        """Yields nothing: nothing is held back."""
        del cut
        yield from ()


@dataclass(frozen=True, slots=True)
class OutputReader:
    """Separates the thinking, where there may be any, and reads the rest."""

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
