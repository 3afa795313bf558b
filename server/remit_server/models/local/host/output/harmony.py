"""Reads Harmony: messages with a channel each, of which one is thinking, and a call is one to a function (MOD-04)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from remit_server.models.dialects.read import ReadCall, UnreadableCall, read_calls
from remit_server.models.dialects.table import HARMONY
from remit_server.models.local.host.output.markers import ends_in_string, partial_marker_length
from remit_server.models.local.host.output.native import MOST_SHOWN, Unreadable
from remit_server.models.local.host.output.thinking import Thought

_BODY = "<|message|>"
_ENDS = ("<|end|>", "<|call|>", "<|return|>")
_CALLED = re.compile(r"to=functions\.([\w.-]+)")
_START = re.compile(r"\s*<\|start\|>assistant")


class HarmonyReader:
    """Splits messages that arrive in pieces: thinking, text and calls."""

    def __init__(self) -> None:
        self._held = ""
        self._header: str | None = None
        self._searched = 0

    def feed(self, piece: str) -> Iterator[str | ReadCall | Unreadable | Thought]:
        """Adds text; yields what is certain."""
        self._held += piece
        while True:
            if self._header is None and not self._take_header():
                return
            end = self._find_end()
            if end is None:
                yield from self._take_certain()
                return
            at, marker = end
            body, self._held = self._held[:at], self._held[at + len(marker) :]
            yield from self._read(body)
            self._header, self._searched = None, 0

    def finish(self, *, cut: bool) -> Iterator[str | ReadCall | Unreadable | Thought]:
        """Yields what was held back. A call that the token limit cut off (`cut`) is dropped."""
        if self._header is None:
            if self._held and not self._held.lstrip().startswith("<|"):
                yield self._held
        elif not (cut and _CALLED.search(self._header)):
            yield from self._read(self._held)
        self._held, self._header = "", None

    def _take_header(self) -> bool:
        header, found, rest = self._held.partition(_BODY)
        if found:
            self._header, self._held = _START.sub("", header), rest
        return bool(found)

    def _find_end(self) -> tuple[int, str] | None:
        """Returns where the message ends, and by which marker; one within a call's JSON string ends nothing."""
        called = _CALLED.search(self._header or "") is not None
        while True:
            found = [(at, end) for end in _ENDS if (at := self._held.find(end, self._searched)) >= 0]
            if not found:
                return None
            at, end = min(found)
            if not called or not ends_in_string(self._held[:at]):
                return at, end
            self._searched = at + 1

    def _take_certain(self) -> Iterator[str | Thought]:
        if _CALLED.search(self._header or ""):
            return
        cut = len(self._held) - max(partial_marker_length(self._held, end) for end in _ENDS)
        text, self._held = self._held[:cut], self._held[cut:]
        if text:
            yield self._spoken(text)

    def _read(self, body: str) -> Iterator[str | ReadCall | Unreadable | Thought]:
        header = self._header or ""
        if (called := _CALLED.search(header)) is None:
            if body:
                yield self._spoken(body)
            return
        try:
            yield from read_calls(HARMONY, f"{called[1]}{_BODY}{body}", {})
        except UnreadableCall as error:
            yield Unreadable(body[:MOST_SHOWN], str(error))

    def _spoken(self, text: str) -> str | Thought:
        return Thought(text) if "analysis" in (self._header or "") else text
