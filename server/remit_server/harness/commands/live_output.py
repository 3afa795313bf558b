"""Shows the person what a running command prints, as it comes: whole lines without secrets (TOOL-03).

The model sees none of it before the command has ended. The beginning is shown whole; of what comes after it too fast
to be read, the last lines are, and how many are missing. Nothing is shown from the first zero byte on: that is for
programs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from remit_governance.secrets.redaction import truncate
from remit_governance.secrets.secret_shapes import find_key, key_body_begins, may_hold_key, skip_key_body

log = logging.getLogger(__name__)

EVERY_S = 0.25
SHOWN_WHOLE = 20_000
"""Bytes of a command's output of which no line is left out: as much as its result shows."""
MAX_SHOWN = 4_000
"""Bytes of one event after that."""
MAX_LINE = 16 * 1024
MAX_KEY_LINES = 500
_KEY_ENDS = b"-----END "
_KEY = b"[redacted private key]\n"
_LONG_LINE = b"[... a long line ...]"


@dataclass(slots=True)
class LiveOutput:
    """Takes what is printed and hands lines to `show`, cleaned by `redact`, at most four times a second.

    Lines in which no key begins are taken together, whatever their number: a flood of short lines costs what as many
    bytes of long ones do.
    """

    show: Callable[[str], None]
    redact: Callable[[str], str]
    _part: bytes = b""
    _too_long: bool = False
    _over: bool = False
    _kept: bytearray = field(default_factory=bytearray)
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
        text = self._part + (text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in text else text)
        ends = text.rfind(b"\n") + 1
        lines, part = text[:ends], text[ends:]
        if lines and self._too_long:
            lines, self._too_long = _LONG_LINE + lines[lines.index(b"\n") :], False
        self._take(lines)
        # Half a line may hold half a secret: it is shown when it is whole, or at the end.
        self._too_long = self._too_long or len(part) > MAX_LINE
        self._part = b"" if self._too_long else part
        if self._kept and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(EVERY_S, self._show_lines)

    def finish(self) -> None:
        """Shows what has not been shown yet: the command has ended, and prints no more."""
        if self._timer is not None:
            self._timer.cancel()
        if self._part or self._too_long:
            self._take((_LONG_LINE if self._too_long else self._part) + b"\n")
            self._part, self._too_long = b"", False
        if self._kept:
            self._show_lines()

    def _take(self, lines: bytes) -> None:
        """Takes whole lines: a key has many of them, of which none alone looks like a secret."""
        if not (self._in_body or self._key_lines or may_hold_key(lines)):
            self._keep(lines)
            return
        at = 0
        while at < len(lines):
            if self._in_body:
                at = skip_key_body(lines, at)
                self._in_body = at == len(lines)
            elif self._key_lines:
                at = self._skip_key_line(lines, at)
            else:
                begins = find_key(lines, at)
                self._keep(lines[at:begins])
                at = self._take_key(lines, begins)

    def _take_key(self, lines: bytes, at: int) -> int:
        """Takes the line, if there is one, in which a key may begin; returns where the next one begins."""
        if at == len(lines):
            return at
        after = lines.index(b"\n", at) + 1
        line = lines[at : after - 1]
        self._in_body = key_body_begins(line)
        self._key_lines = int(not self._in_body and _KEY_ENDS not in line)
        self._keep(_KEY if self._in_body or self._key_lines else lines[at:after])
        return after

    def _skip_key_line(self, lines: bytes, at: int) -> int:
        """Passes over a line of a key with a marker; returns where the next one begins."""
        after = lines.index(b"\n", at) + 1
        self._key_lines = 0 if _KEY_ENDS in lines[at:after] else (self._key_lines + 1) % MAX_KEY_LINES
        return after

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
