"""Reads a growing text: plain text, calls in the formats of the model, and unreadable ones (MOD-04).

A call counts only where MOD-14 lets one stand: at the end of the answer, on a line of its own and unquoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from remit_server.models.dialects.quotation import place_of
from remit_server.models.dialects.read import ReadCall, Schemas, TextFollows, UnreadableCall
from remit_server.models.local.host.output.formats import ToolFormat
from remit_server.models.local.host.output.output_reader import MOST_SHOWN, MOST_STARTS, LastCalls, Unreadable
from remit_server.models.local.host.output.thinking import JsonStrings, partial_marker_length

_JSON = re.compile(r"\s*(?:\{|\[\{)")


class NativeReader:
    """Splits text that arrives in pieces; it reports what it cannot read, and uses nothing of it."""

    def __init__(self, formats: Sequence[ToolFormat], schemas: Schemas) -> None:
        self._formats = formats
        self._schemas = schemas
        self._held = ""
        self._said = ""
        self._starts = 0
        self._format: ToolFormat | None = None
        self._last: LastCalls | None = None
        self._left_over = ""
        self._searched = 0
        self._strings = JsonStrings()

    def feed(self, piece: str) -> Iterator[str | ReadCall | Unreadable]:
        """Adds text; yields text that certainly is no call. Calls are yielded at the end."""
        self._held += piece
        while (text := self._step()) is not None:
            if text:
                yield text

    def finish(self, *, cut: bool) -> Iterator[str | ReadCall | Unreadable]:
        """Yields what was held back. A call that the token limit cut off (`cut`) is dropped."""
        while text := self._take_quoted_row(cut=cut):
            yield text
            yield from self.feed("")
        last, format_, rest = self._last, self._format, self._held
        self._format, self._last, self._held = None, None, ""
        if last is None:
            yield rest
        elif format_ is not None and not cut:
            yield from self._end_open(last, format_, rest)
        elif rest.strip() and not cut:  # it began as a marker, and is none
            yield last.text + rest
        else:
            last.text += "" if cut else rest
            yield from last.end()

    def _take_quoted_row(self, *, cut: bool) -> str:
        """Takes calls that were quoted and never closed, up to a marker that does not continue them."""
        last, format_, rest = self._last, self._format, self._held
        if last is None or format_ is None or format_.only_first or (format_.close and last.place == "call"):
            return ""
        if cut and last.place == "inline":
            return ""
        if format_.close:
            self._format, self._last = None, None
            return self._named(last.text + format_.open)
        end = self._end_of_row(format_, rest)
        if end == len(rest) or (last.place == "call" and not self._is_followed(format_, rest[:end])):
            return ""
        text = last.text + format_.open + rest[:end]
        self._held, self._format, self._last = rest[end:], None, None
        self._said += text
        return text

    def _named(self, text: str) -> str:
        """Takes a marker that is only named as text, with one that stands right behind it: it is within the first."""
        self._said += text
        rest = self._held.lstrip()
        inner = next((each.open for each in self._formats if rest.startswith(each.open)), None)
        return text + ("" if inner is None else self._pass_on(len(self._held) - len(rest) + len(inner)))

    def _end_of_row(self, format_: ToolFormat, rest: str) -> int:
        begun = 0
        while (following := rest.find(format_.open, begun)) >= 0:
            try:
                format_.read(rest[begun:following], self._schemas)
            except UnreadableCall:
                return following
            begun = following + len(format_.open)
        return len(rest)

    def _is_followed(self, format_: ToolFormat, body: str) -> bool:
        try:
            format_.read(body, self._schemas)
        except TextFollows:
            return True
        except UnreadableCall:
            return False
        return False

    def _end_open(self, last: LastCalls, format_: ToolFormat, rest: str) -> Iterator[str | ReadCall | Unreadable]:
        """Yields the calls of which the last has no closing marker."""
        last.text += format_.open + rest
        if format_.close:
            last.found.append(Unreadable(rest[:MOST_SHOWN], f"the answer ends before `{format_.close}`"))
            yield from last.end()
            return
        try:
            last.found += self._read(format_, rest)
            yield from last.end()
        except TextFollows:
            yield last.text

    def _step(self) -> str | None:
        """Reads on; returns text to pass on, which may be none, and None where more has to come first."""
        if self._last is None:
            return self._take_text()
        return self._go_on(self._last) if self._format is None else self._take_call(self._last, self._format)

    def _take_text(self) -> str | None:
        """Takes text that is no call; where one begins, it is opened."""
        at, format_ = self._first_marker()
        if format_ is None:
            at = len(self._held) - max(partial_marker_length(self._held, each.open) for each in self._formats)
            return self._pass_on(at) or None
        if self._starts == MOST_STARTS:
            return self._pass_on(at + len(format_.open))
        self._starts += 1
        text = self._pass_on(at)
        self._last = LastCalls(place_of(self._said))
        self._open(format_)
        return text

    def _first_marker(self) -> tuple[int, ToolFormat | None]:
        found = [(at, each) for each in self._formats if (at := self._held.find(each.open)) >= 0]
        able = [(at, each) for at, each in found if not (each.only_first and (self._said + self._held[:at]).strip())]
        return min(able, key=lambda each: each[0], default=(0, None))

    def _pass_on(self, end: int) -> str:
        text, self._held = self._held[:end], self._held[end:]
        self._said += text
        return text

    def _open(self, format_: ToolFormat) -> None:
        self._held = self._held[len(format_.open) :]
        self._format, self._searched, self._strings = format_, 0, JsonStrings()

    def _take_call(self, last: LastCalls, format_: ToolFormat) -> str | None:
        body = self._take_body(format_)
        if body is None:
            return None
        if last.place != "call" and not last.found and format_.open in body:  # the marker is only named
            text, self._held = format_.open, f"{body}{format_.close}{self._held}"
            self._format, self._last = None, None
            return self._named(text)
        last.text += f"{format_.open}{body}{format_.close}"
        last.found += self._read(format_, body)
        self._format, self._left_over = None, format_.left_over
        return ""

    def _read(self, format_: ToolFormat, body: str) -> list[ReadCall | Unreadable]:
        """Returns the calls of a body. Raises TextFollows."""
        try:
            return list(format_.read(body, self._schemas))
        except TextFollows:
            raise
        except UnreadableCall as error:
            return [Unreadable(body[:MOST_SHOWN], str(error))]

    def _go_on(self, last: LastCalls) -> str | None:
        """Looks at what follows a call: another one, or text, with which it was quoted."""
        rest = self._held.lstrip()
        begun = len(self._held) - len(rest)
        if self._left_over and rest.startswith(self._left_over):
            begun += len(self._left_over)
            last.text, self._held, self._left_over = last.text + self._held[:begun], self._held[begun:], ""
            return ""
        openings = [self._left_over, *(each.open for each in self._formats if not each.only_first)]
        following = next((each for each in self._formats if not each.only_first and rest.startswith(each.open)), None)
        if following is not None:
            last.text, self._held = last.text + self._held[:begun], rest
            self._open(following)
            return ""
        if any(opening.startswith(rest) for opening in openings):
            return None
        self._said, self._last = self._said + last.text, None
        return last.text

    def _take_body(self, format_: ToolFormat) -> str | None:
        """Removes and returns the text before the next closing marker; None where there is none yet."""
        if not format_.close:
            return None
        while (end := self._held.find(format_.close, self._searched)) >= 0:
            if not self._in_string(end):
                body, self._held = self._held[:end], self._held[end + len(format_.close) :]
                return body
            self._searched = end + 1
        self._searched = max(self._searched, len(self._held) - len(format_.close) + 1)
        return None

    def _in_string(self, end: int) -> bool:
        """Whether a closing marker stands inside a JSON string, and closes nothing."""
        return _JSON.match(self._held) is not None and self._strings.reach(self._held, end)
