"""Shows the person what a running command prints, as it comes: whole lines without secrets (TOOL-03).

The model sees none of it before the command has ended. The beginning is shown whole; of what comes after it too fast
to be read, the last lines are, and how many are missing. Nothing is shown from the first zero byte on: that is for
programs.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from remit_governance.secrets.redaction import truncate
from remit_governance.secrets.secret_shapes import key_body_begins

log = logging.getLogger(__name__)

EVERY_S = 0.25
SHOWN_WHOLE = 20_000
"""Bytes of a command's output of which no line is left out: as much as its result shows."""
MAX_SHOWN = 4_000
"""Bytes of one event after that."""
MAX_LINE = 16 * 1024
MAX_KEY_LINES = 500
_LINE_END = re.compile(rb"\r\n|[\r\n]")
_KEY_BEGINS = re.compile(rb"-----BEGIN [A-Z0-9 ]*PRIVATE KEY")
_KEY_BODY = re.compile(rb"[ \t>+-]*(?:[0-9]+\|)?[A-Za-z0-9+/]+={0,2}[ \t]*")
_KEY_ENDS = b"-----END "
_KEY = b"[redacted private key]"
_LONG_LINE = b"[... a long line ...]"


@dataclass(slots=True)
class LiveOutput:
    """Takes what is printed and hands lines to `show`, cleaned by `redact`, at most four times a second."""

    show: Callable[[str], None]
    redact: Callable[[str], str]
    _part: bytes = b""
    _too_long: bool = False
    _over: bool = False
    _lines: deque[bytes] = field(default_factory=deque[bytes])
    _waiting: int = 0
    _left_out: int = 0
    _whole: int = SHOWN_WHOLE
    _key_lines: int = 0
    _in_body: bool = False
    _timer: asyncio.TimerHandle | None = None

    def feed(self, chunk: bytes) -> None:
        """Takes more of it, in the event loop's own thread."""
        if self._over:
            return
        text, end, _ = chunk.partition(b"\0")
        self._over = bool(end)
        *lines, part = _LINE_END.split(self._part + text)
        if lines and self._too_long:
            lines[0], self._too_long = _LONG_LINE, False
        for line in lines:
            self._take(line)
        # Half a line may hold half a secret: it is shown when it is whole, or at the end.
        self._too_long = self._too_long or len(part) > MAX_LINE
        self._part = b"" if self._too_long else part
        if self._lines and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(EVERY_S, self._show_lines)

    def finish(self) -> None:
        """Shows what has not been shown yet: the command has ended, and prints no more."""
        if self._timer is not None:
            self._timer.cancel()
        if self._part or self._too_long:
            self._take(_LONG_LINE if self._too_long else self._part)
            self._part, self._too_long = b"", False
        if self._lines:
            self._show_lines()

    def _take(self, line: bytes) -> None:
        """Takes one line: a key has many lines, of which none alone looks like a secret."""
        if self._in_body and _KEY_BODY.fullmatch(line):
            return
        self._in_body = not self._key_lines and key_body_begins(line)
        if self._key_lines:
            self._key_lines = 0 if _KEY_ENDS in line else (self._key_lines + 1) % MAX_KEY_LINES
        elif self._in_body:
            self._lines.append(_KEY)
        elif _KEY_BEGINS.search(line) and _KEY_ENDS not in line:
            self._key_lines = 1
            self._add(_KEY)
        else:
            self._add(line)

    def _add(self, line: bytes) -> None:
        """Keeps a line for the next event, and of those that wait no more than fit it."""
        self._lines.append(line)
        self._waiting += len(line) + 1
        while self._waiting > max(self._whole, MAX_SHOWN) and len(self._lines) > 1:
            self._waiting -= len(self._lines.popleft()) + 1
            self._left_out += 1

    def _show_lines(self) -> None:
        self._timer = None
        text = self.redact(b"\n".join(self._lines).decode(errors="replace"))
        text = truncate(text, max(self._whole, MAX_SHOWN), "tail")
        if self._left_out:
            text = f"{describe_omission(self._left_out)}\n{text}"
        self._whole = max(0, self._whole - self._waiting)
        self._lines.clear()
        self._waiting = self._left_out = 0
        self.show(text)


def describe_omission(lines: int) -> str:
    """Returns the line that stands for lines which came too fast to be shown."""
    return f"[... {lines} line{'' if lines == 1 else 's'} not shown ...]"


@contextmanager
def show_live(show: Callable[[str], None], redact: Callable[[str], str]) -> Generator[Callable[[bytes], None]]:
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
