"""Tells what a model thinks aloud from what it answers (MOD-04).

Between the markers everything is thought: a call spelled there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remit_server.models.local.host.output.calls import partial_marker_length

Piece = int | str
"""Of a marker: a token of its own, or text."""


@dataclass(frozen=True, slots=True)
class ThinkMarkers:
    """How a model spells the begin and the end of its thinking; `close_pieces` starts with a token of its own."""

    open: str
    close: str
    open_pieces: tuple[Piece, ...]
    close_pieces: tuple[Piece, ...]

    def is_opened_by(self, prompt: str) -> bool:
        """Returns whether the template has begun to think in the model's place."""
        return prompt.rstrip().endswith(self.open)

    def closed(self, prompt: str) -> str:
        """Ends the thinking that a template has begun, where none is wanted."""
        return f"{prompt.rstrip()}\n\n{self.close}\n\n" if self.is_opened_by(prompt) else prompt


@dataclass(frozen=True, slots=True)
class Thought:
    """Some more of the thinking."""

    text: str


class ThoughtReader:
    """Splits text that arrives in pieces: at most one thinking part, which comes first, and the answer."""

    def __init__(self, markers: ThinkMarkers, *, opened: bool) -> None:
        """`opened`: the prompt ended within the thinking."""
        self._markers = markers
        self._held = ""
        self._begun = opened
        self._ended = False
        self._thought = False
        self._answering = False

    def feed(self, piece: str) -> Iterator[Thought | str]:
        """Takes more text; yield what is certainly thought, and what is the answer's."""
        self._held += piece
        if not self._begun:
            self._begin()
        if self._begun and not self._ended and (thought := self._take_thought()):
            self._thought = True
            yield Thought(thought)
        if self._ended and not self._answering:
            self._held = self._held.lstrip()
            self._answering = bool(self._held)
        if self._answering and self._held:
            yield self._held
            self._held = ""

    def finish(self) -> Iterator[Thought | str]:
        """Yields what was held back because a marker might have begun; thinking that was cut off stays thinking."""
        if self._held and not self._ended:
            yield Thought(self._held) if self._begun else self._held
        self._held = ""

    def _begin(self) -> None:
        """Sees whether the text starts with the marker, which may have space before it."""
        rest = self._held.lstrip()
        if rest.startswith(self._markers.open):
            self._held, self._begun = rest[len(self._markers.open) :], True
        elif not self._markers.open.startswith(rest):
            self._begun = self._ended = self._answering = True

    def _take_thought(self) -> str:
        if not self._thought:
            self._held = self._held.lstrip()
        close = self._markers.close
        end = self._held.find(close)
        self._ended = end >= 0
        cut = end if self._ended else len(self._held) - partial_marker_length(self._held, close)
        thought, self._held = self._held[:cut], self._held[cut + len(close) * self._ended :]
        return thought
