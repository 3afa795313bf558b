"""Splits the thinking with which an answer begins from the answer, wherever the pieces are cut (MOD-04, MOD-19)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


def partial_marker_length(text: str, marker: str) -> int:
    """Returns the length of the longest suffix of `text` that a marker could begin with."""
    longest = min(len(text), len(marker) - 1)
    return next((size for size in range(longest, 0, -1) if marker.startswith(text[-size:])), 0)


@dataclass(frozen=True, slots=True)
class Thought:
    """The next part of the thinking."""

    text: str


class ThoughtReader:
    """Splits text that arrives in pieces: at most one thinking part, which comes first, and the answer.

    Only a marker at the beginning counts, because further on the answer may be about the marker.
    """

    def __init__(self, open_: str = "<think>", close: str = "</think>", *, opened: bool = False) -> None:
        """`opened`: the prompt ended within the thinking."""
        self._open, self._close = open_, close
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
        if rest.startswith(self._open):
            self._held, self._begun = rest[len(self._open) :], True
        elif not self._open.startswith(rest):
            self._begun = self._ended = self._answering = True

    def _take_thought(self) -> str:
        if not self._thought:
            self._held = self._held.lstrip()
        end = self._held.find(self._close)
        self._ended = end >= 0
        cut = end if self._ended else len(self._held) - partial_marker_length(self._held, self._close)
        thought, self._held = self._held[:cut], self._held[cut + len(self._close) * self._ended :]
        return thought
