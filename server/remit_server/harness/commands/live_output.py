"""Shows the person what a running command prints, as it comes: whole lines without secrets (TOOL-03).

The model sees none of it before the command has ended. The beginning is shown whole; of what comes after it too fast
to be read, the last lines are, and how many are missing. Nothing is shown from the first zero byte on: that is for
programs.

What one stream of a command prints, as whole lines without private keys; pure (SEC-01, TOOL-03).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from remit_governance.secrets.redaction import truncate
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
    r"""Takes what comes and returns the lines that are whole by then, each with `\n` at its end.

    Lines in which no key begins are taken together, whatever their number: a flood of short lines costs what as many
    bytes of long ones do.
    """

    _part: bytes = b""
    _too_long: bool = False
    _key_lines: int = 0
    _in_body: bool = False

    def take(self, text: bytes) -> bytes:
        """Takes more of it."""
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        text = self._part + text
        ends = text.rfind(b"\n") + 1
        lines, part = text[:ends], text[ends:]
        if lines and self._too_long:
            lines, self._too_long = _LONG_LINE + lines[lines.index(b"\n") :], False
        # Half a line may hold half a secret: it is given out when it is whole, or at the end.
        self._too_long = self._too_long or len(part) > MAX_LINE
        self._part = b"" if self._too_long else part
        return self._without_keys(lines)

    def take_rest(self) -> bytes:
        """Returns the line that has no end, where there is one: no more will come."""
        last = _LONG_LINE if self._too_long else self._part
        self._part, self._too_long = b"", False
        return self._without_keys(last + b"\n") if last else b""

    def _without_keys(self, lines: bytes) -> bytes:
        """Returns whole lines but for keys: one has many lines, of which none alone looks like a secret."""
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
        """Takes the line in which a key may begin; returns what is shown for it."""
        self._in_body = key_body_begins(line)
        self._key_lines = int(bool(line) and not self._in_body and _KEY_ENDS not in line)
        return _KEY if self._in_body or self._key_lines else line

    def _skip_key_line(self, lines: bytes, at: int) -> int:
        """Passes over a line of a key with a marker; returns where the next one begins."""
        after = lines.index(b"\n", at) + 1
        self._key_lines = 0 if _KEY_ENDS in lines[at:after] else (self._key_lines + 1) % MAX_KEY_LINES
        return after


log = logging.getLogger(__name__)

EVERY_S = 0.25
SHOWN_WHOLE = 20_000
"""Bytes of a command's output of which no line is left out: as much as its result shows."""
MAX_SHOWN = 4_000
"""Bytes of one event after that."""


@dataclass(slots=True)
class LiveOutput:
    """Takes what is printed and hands lines to `show`, cleaned by `redact`, at most four times a second."""

    show: Callable[[str], None]
    redact: Callable[[str], str]
    _printed: dict[StreamName, PrintedLines] = field(default_factory=dict[StreamName, PrintedLines])
    _over: bool = False
    _kept: bytearray = field(default_factory=bytearray)
    _left_out: int = 0
    _whole: int = SHOWN_WHOLE
    _timer: asyncio.TimerHandle | None = None

    def feed(self, stream: StreamName, chunk: bytes) -> None:
        """Takes more of one of the streams, in the event loop's own thread."""
        if self._over:
            return
        text, end, _ = chunk.partition(b"\0")
        self._over = bool(end)
        self._keep(self._printed.setdefault(stream, PrintedLines()).take(text))
        if self._kept and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(EVERY_S, self._show_lines)

    def finish(self) -> None:
        """Shows what has not been shown yet: the command has ended, and prints no more."""
        if self._timer is not None:
            self._timer.cancel()
        for printed in self._printed.values():
            self._keep(printed.take_rest())
        if self._kept:
            self._show_lines()

    def _keep(self, lines: bytes) -> None:
        """Keeps whole lines for the next event, and of those that wait the last ones that fit it, or the very last."""
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
        text = self.redact(self._kept[:-1].decode(errors="replace"))
        text = truncate(text, max(self._whole, MAX_SHOWN), "tail")
        if self._left_out:
            text = f"{describe_omission(self._left_out)}\n{text}"
        self._whole = max(0, self._whole - len(self._kept))
        self._kept.clear()
        self._left_out = 0
        self.show(text)


def describe_omission(lines: int) -> str:
    """Returns the line that stands for lines which came too fast to be shown."""
    return f"[... {counted(lines, 'line')} not shown ...]"


@contextmanager
def show_live(show: Callable[[str], None], redact: Callable[[str], str]) -> Generator[Progress]:
    """Yields where a command's output goes while it runs; shows the rest of it when it has ended, or was stopped."""
    live = LiveOutput(show, redact)
    try:
        yield live.feed
    except BaseException:
        try:
            live.finish()
        except Exception:  # the client is gone, which may be what stopped it
            log.warning("nobody was shown the last of what a command printed")
        raise
    live.finish()
