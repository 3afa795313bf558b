"""Shows the person what a running command prints, as it comes: whole lines without secrets (TOOL-03).

The model sees nothing before the command has ended. The beginning of the output is shown whole. If later output comes
too fast to be read, only the last lines are shown, with the number of those left out. Nothing is shown from the first
zero byte on, because such output is not for people.

`PrintedLines` splits one stream into whole lines and removes private keys; pure (SEC-01, TOOL-03).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from remit_governance.secrets.cutting import truncate
from remit_governance.secrets.key_lines import without_key_lines
from remit_governance.secrets.redaction import Redacted
from remit_governance.secrets.secret_shapes import find_key, key_body_begins, may_hold_key, skip_key_body
from remit_server.counted import counted
from remit_server.sandbox.ports import Progress, StreamName

MAX_LINE = 16 * 1024
MAX_KEY_LINES = 500
_KEY_ENDS = b"-----END "
_KEY = b"[redacted private key]\n"
_LONG_LINE = b"[... a long line ...]"


@dataclass(slots=True)
class PrintedLines:
    r"""Takes the chunks of a stream and returns the lines that are complete by then, each with `\n` at its end.

    Lines in which no key begins are handled together, so that a flood of short lines takes no longer than the same
    number of bytes in long lines.
    """

    _part: bytes = b""
    _too_long: bool = False
    _key_lines: int = 0
    _in_body: bool = False
    _public: bool = False

    def take(self, text: bytes) -> bytes:
        """Takes the next chunk; returns the lines that are complete now, without keys."""
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        text = self._part + text
        ends = text.rfind(b"\n") + 1
        lines, part = text[:ends], text[ends:]
        if lines and self._too_long:
            lines, self._too_long = _LONG_LINE + lines[lines.index(b"\n") :], False
        # Keep half a line back until it is complete or the stream ends, because it may hold half a secret.
        self._too_long = self._too_long or len(part) > MAX_LINE
        self._part = b"" if self._too_long else part
        return self._without_secret_lines(lines)

    def take_rest(self) -> bytes:
        """Returns the last line if it has no line end; called when no more output will come."""
        last = _LONG_LINE if self._too_long else self._part
        self._part, self._too_long = b"", False
        return self._without_secret_lines(last + b"\n") if last else b""

    def _without_secret_lines(self, lines: bytes) -> bytes:
        shown, self._public = without_key_lines(self._without_keys(lines), keep_lines=False, public=self._public)
        return shown

    def _without_keys(self, lines: bytes) -> bytes:
        """Returns the lines without private keys. A key has many lines, of which none alone looks like a secret."""
        if not (self._in_body or self._key_lines or may_hold_key(lines)):
            return lines
        shown, at = list[bytes](), 0
        while at < len(lines):
            if self._in_body:
                at = skip_key_body(lines, at)
                self._in_body = at == len(lines)
            elif self._key_lines:
                at = self._skip_key_line(lines, at)
            else:
                begins = find_key(lines, at)
                after = lines.find(b"\n", begins) + 1 or len(lines)
                shown += [lines[at:begins], self._begin_key(lines[begins:after])]
                at = after
        return b"".join(shown)

    def _begin_key(self, line: bytes) -> bytes:
        """Takes a line in which a key may begin; returns what is shown in its place."""
        self._in_body = key_body_begins(line)
        self._key_lines = int(bool(line) and not self._in_body and _KEY_ENDS not in line)
        return _KEY if self._in_body or self._key_lines else line

    def _skip_key_line(self, lines: bytes, at: int) -> int:
        """Skips a line of a key that ends with a marker; returns where the next line begins."""
        after = lines.index(b"\n", at) + 1
        self._key_lines = 0 if _KEY_ENDS in lines[at:after] else (self._key_lines + 1) % MAX_KEY_LINES
        return after


log = logging.getLogger(__name__)

EVERY_S = 0.25
SHOWN_WHOLE = 20_000
"""Bytes at the beginning of a command's output of which no line is left out."""
MAX_SHOWN = 4_000
"""The most bytes of one event after that."""


@dataclass(slots=True)
class LiveOutput:
    """Takes what a command prints and gives its lines, cleaned by `redact`, to `show`, at most four times a second."""

    show: Callable[[str], None]
    redact: Callable[[str], Redacted]
    _printed: dict[StreamName, PrintedLines] = field(default_factory=dict[StreamName, PrintedLines])
    _over: bool = False
    _kept: bytearray = field(default_factory=bytearray)
    _left_out: int = 0
    _whole: int = SHOWN_WHOLE
    _timer: asyncio.TimerHandle | None = None

    def feed(self, stream: StreamName, chunk: bytes) -> None:
        """Takes more output of one stream. Must be called in the event loop's own thread."""
        if self._over:
            return
        text, end, _ = chunk.partition(b"\0")
        self._over = bool(end)
        self._keep(self._printed.setdefault(stream, PrintedLines()).take(text))
        if self._kept and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(EVERY_S, self._show_lines)

    def finish(self) -> None:
        """Shows the output that has not been shown yet; called when the command has ended."""
        if self._timer is not None:
            self._timer.cancel()
        for printed in self._printed.values():
            self._keep(printed.take_rest())
        if self._kept:
            self._show_lines()

    def _keep(self, lines: bytes) -> None:
        """Keeps whole lines for the next event. If they do not fit into it, keeps only the last ones that fit, but
        always the very last."""
        self._kept += lines
        too_many = len(self._kept) - max(self._whole, MAX_SHOWN)
        if too_many <= 0:
            return
        first = self._kept.find(b"\n", too_many - 1) + 1
        if first == len(self._kept):
            first = self._kept.rfind(b"\n", 0, first - 1) + 1
        self._left_out += self._kept.count(b"\n", 0, first)
        del self._kept[:first]

    def _show_lines(self) -> None:
        self._timer = None
        redacted = self.redact(self._kept[:-1].decode(errors="replace"))
        text: str = truncate(redacted, max(self._whole, MAX_SHOWN), "tail")
        if self._left_out:
            text = f"{describe_omission(self._left_out)}\n{text}"
        self._whole = max(0, self._whole - len(self._kept))
        self._kept.clear()
        self._left_out = 0
        self.show(text)


def describe_omission(lines: int) -> str:
    """Returns the line that is shown in place of lines that came too fast."""
    return f"[... {counted(lines, 'line')} not shown ...]"


@contextmanager
def show_live(show: Callable[[str], None], redact: Callable[[str], Redacted]) -> Generator[Progress]:
    """Yields the function that takes a command's output while it runs. Shows the rest when the command has ended or was
    stopped."""
    live = LiveOutput(show, redact)
    try:
        yield live.feed
    except BaseException:
        try:
            live.finish()
        except Exception:  # the client is gone, which may be why the command was stopped
            log.warning("nobody was shown the last of what a command printed")
        raise
    live.finish()
