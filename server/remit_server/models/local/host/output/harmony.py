"""Reads Harmony: each message has a channel, one channel is thinking, and a call is a message to a function (MOD-04).

Only the calls that end the answer count, and only if the messages before them leave no quotation open (MOD-14).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from remit_server.models.dialects.quotation import Place, place_of
from remit_server.models.dialects.read import ReadCall, UnreadableCall, read_calls
from remit_server.models.dialects.table import HARMONY
from remit_server.models.local.host.output.output_reader import (
    MOST_SHOWN,
    MOST_STARTS,
    JsonStrings,
    LastCalls,
    Unreadable,
)
from remit_server.models.thinking import Thought, partial_marker_length

_BODY = "<|message|>"
_ENDS = ("<|end|>", "<|call|>", "<|return|>")
_LONGEST_END = max(map(len, _ENDS))
_CALLED = re.compile(r"to=functions\.([\w.-]+)")
_START = re.compile(r"\s*<\|start\|>assistant")


class HarmonyReader:
    """Splits messages that arrive in pieces: thinking, text and calls."""

    def __init__(self) -> None:
        self._held = ""
        self._raw = ""
        self._header: str | None = None
        self._searched = 0
        self._strings = JsonStrings()
        self._said = ""
        self._final = False
        self._starts = 0
        self._last: LastCalls | None = None

    def feed(self, piece: str) -> Iterator[str | ReadCall | Unreadable | Thought]:
        """Adds text; yields what is certain. Calls are yielded at the end."""
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
            yield from self._read(body, marker)
            self._header, self._searched, self._strings = None, 0, JsonStrings()

    def finish(self, *, cut: bool) -> Iterator[str | ReadCall | Unreadable | Thought]:
        """Yields what was held back. A call that the token limit cut off (`cut`) is dropped."""
        if self._header is None:
            if self._held and not self._held.lstrip().startswith("<|"):
                yield from self._say(self._held)
        elif not (cut and _CALLED.search(self._header)):
            yield from self._read(self._held, "")
        if self._last is not None:
            yield from self._last.end()
        self._held, self._header, self._last = "", None, None

    def _take_header(self) -> bool:
        at = self._held.find(_BODY, self._searched)
        if at < 0:
            self._searched = max(0, len(self._held) - len(_BODY))
            return False
        header, end = self._held[:at], at + len(_BODY)
        self._header, self._raw = _START.sub("", header), self._held[:end]
        self._held, self._searched = self._held[end:], 0
        return True

    def _find_end(self) -> tuple[int, str] | None:
        """Returns where the message ends, and by which marker; one within a call's JSON string ends nothing."""
        called = _CALLED.search(self._header or "") is not None
        while True:
            found = [(at, end) for end in _ENDS if (at := self._held.find(end, self._searched)) >= 0]
            if not found:
                self._searched = max(self._searched, len(self._held) - _LONGEST_END)
                return None
            at, end = min(found)
            if not called or not self._strings.reach(self._held, at):
                return at, end
            self._searched = at + 1

    def _take_certain(self) -> Iterator[str | Thought]:
        if _CALLED.search(self._header or ""):
            return
        cut = len(self._held) - max(partial_marker_length(self._held, end) for end in _ENDS)
        text, self._held, self._searched = self._held[:cut], self._held[cut:], 0
        yield from self._speak(text)

    def _read(self, body: str, end: str) -> Iterator[str | Thought]:
        if (called := _CALLED.search(self._header or "")) is None:
            yield from self._speak(body)
            return
        if self._last is None:
            self._last = LastCalls(self._place())
        self._last.text += f"{self._raw}{body}{end}"
        try:
            self._last.found += read_calls(HARMONY, f"{called[1]}{_BODY}{body}", {})
        except UnreadableCall as error:
            self._last.found.append(Unreadable(body[:MOST_SHOWN], str(error)))

    def _place(self) -> Place:
        """Returns what a call is here. Text before it need not end its line, unless text came in the final channel."""
        self._starts += 1
        place = place_of(self._said) if self._starts <= MOST_STARTS else "quoted"
        return "call" if place == "inline" and not self._final else place

    def _speak(self, text: str) -> Iterator[str | Thought]:
        if "analysis" in (self._header or ""):
            if text:
                yield Thought(text)
            return
        self._final = self._final or "final" in (self._header or "")
        yield from self._say(text)

    def _say(self, text: str) -> Iterator[str]:
        """Yields text, after the text of any calls before it, which were quoted because text follows them."""
        if not text:
            return
        if self._last is not None and text.strip():
            text, self._last = self._last.text + text, None
        self._said += text
        yield text
