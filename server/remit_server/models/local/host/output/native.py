"""Reads a growing text: plain text, calls in the formats of the model, and unreadable ones (MOD-04)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from remit_server.models.dialects.read import ReadCall, Schemas, UnreadableCall
from remit_server.models.local.host.output.formats import ToolFormat, goes_on
from remit_server.models.local.host.output.markers import partial_marker_length

MOST_SHOWN = 2000
"""The most characters of an unreadable call that are passed on."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A malformed call, and what is wrong with it."""

    text: str
    why: str


class NativeReader:
    """Splits text that arrives in pieces; it reports what it cannot read, and uses nothing of it."""

    def __init__(self, formats: Sequence[ToolFormat], schemas: Schemas) -> None:
        self._formats = formats
        self._schemas = schemas
        self._format: ToolFormat | None = None
        self._held = ""
        self._searched = 0
        self._after_call = False
        self._said = False

    def feed(self, piece: str) -> Iterator[str | ReadCall | Unreadable]:
        """Adds text; yields text that certainly is not a marker, and the result for each closed call."""
        self._held += piece
        while True:
            if self._format is None:
                if text := self._take_text():
                    yield text
                if self._format is None:
                    return
            body = self._take_body(self._format)
            if body is None:
                return
            yield from self._read(self._format, body)
            self._format, self._after_call = None, True

    def finish(self, *, cut: bool) -> Iterator[str | ReadCall | Unreadable]:
        """Yields what was held back. A call that the token limit cut off (`cut`) is dropped."""
        format_, rest = self._format, self._held
        self._format, self._held = None, ""
        if format_ is None:
            if rest:
                yield rest
        elif not cut and not format_.close:
            yield from self._read(format_, rest)
        elif not cut:
            yield Unreadable(rest[:MOST_SHOWN], f"the answer ends before `{format_.close}`")

    def _read(self, format_: ToolFormat, body: str) -> Iterator[ReadCall | Unreadable]:
        try:
            yield from format_.read(body, self._schemas)
        except UnreadableCall as error:
            yield Unreadable(body[:MOST_SHOWN], str(error))

    def _take_text(self) -> str:
        """Removes and returns the text before the next call; white space between two calls is dropped."""
        if self._after_call:
            self._held = self._held.lstrip()
            self._after_call = not self._held
        found = [(at, each) for each in self._formats if (at := self._find(each)) >= 0]
        if found:
            start, format_ = min(found, key=lambda each: each[0])
            text, self._held = self._held[:start], self._held[start + len(format_.open) :]
            self._format, self._searched = format_, 0
            self._said = self._said or bool(text.strip())
            return text
        cut = len(self._held) - max(partial_marker_length(self._held, each.open) for each in self._formats)
        text, self._held = self._held[:cut], self._held[cut:]
        self._said = self._said or bool(text.strip())
        return text

    def _find(self, format_: ToolFormat) -> int:
        """Returns where the next call of a format begins; -1 where none does."""
        at = self._held.find(format_.open)
        return -1 if format_.only_first and (self._said or self._held[: max(at, 0)].strip()) else at

    def _take_body(self, format_: ToolFormat) -> str | None:
        """Removes and returns the text before the next closing marker; None where there is none yet."""
        if not format_.close:
            return None
        while (end := self._held.find(format_.close, self._searched)) >= 0:
            body = self._held[:end]
            if not goes_on(body):
                self._held = self._held[end + len(format_.close) :]
                return body
            self._searched = end + 1
        self._searched = max(0, len(self._held) - len(format_.close) + 1)
        return None
