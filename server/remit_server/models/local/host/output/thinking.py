"""Separates a model's thinking from its answer, by markers in text that arrives in pieces (MOD-04).

Everything between the markers is thinking: a call spelled there is not a call.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remit_server.models.local.host.grammar.arguments import Piece


def partial_marker_length(text: str, marker: str) -> int:
    """Returns the length of the longest suffix of `text` that a marker could begin with."""
    longest = min(len(text), len(marker) - 1)
    return next((size for size in range(longest, 0, -1) if marker.startswith(text[-size:])), 0)


@dataclass(slots=True)
class JsonStrings:
    """Tells whether a place of a growing JSON text is inside a string; each character is looked at once."""

    at: int = 0
    inside: bool = False
    escaped: bool = False

    def reach(self, text: str, end: int) -> bool:
        """Returns whether a place is inside a string; it must not lie before one that was asked about."""
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
        """Returns the prompt with the thinking closed that a template opened, where none is wanted."""
        return f"{prompt.rstrip()}\n\n{self.close}\n\n" if self.is_opened_by(prompt) else prompt


@dataclass(frozen=True, slots=True)
class Thought:
    """The next part of the thinking."""

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
        """Adds text; yields what certainly is thinking, and the answer."""
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
        """Yields what was held back as the possible start of a marker; thinking that was cut off stays thinking."""
        if self._held and not self._ended:
            yield Thought(self._held) if self._begun else self._held
        self._held = ""

    def _begin(self) -> None:
        """Checks whether the text begins with the marker, after optional white space."""
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
