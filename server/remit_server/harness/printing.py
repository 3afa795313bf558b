"""What a running command prints, shown to the person as it comes: whole lines without secrets (agent.md §3).

The model sees none of it before the command has ended. Of what comes too fast to be read, the last lines are shown, and
nothing from the first zero byte on: that is for programs.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from remit_governance.redaction import truncate

EVERY_S = 0.25
MAX_LINES = 100
MAX_SHOWN = 4_000
"""Characters of one event."""
MAX_LINE = 16 * 1024
MAX_KEY_LINES = 500
_LINE_END = re.compile(rb"\r\n|[\r\n]")
_KEY_BEGINS = re.compile(rb"-----BEGIN [A-Z0-9 ]*PRIVATE KEY")
_KEY_ENDS = b"-----END "
_KEY = b"[redacted private key]"


@dataclass(slots=True)
class Printed:
    """Takes what is printed and hands lines to `show`, cleaned by `redact`, at most four times a second."""

    show: Callable[[str], None]
    redact: Callable[[str], str]
    _part: bytes = b""
    _too_long: bool = False
    _over: bool = False
    _lines: deque[bytes] = field(default_factory=lambda: deque[bytes](maxlen=MAX_LINES))
    _key_lines: int = 0
    _timer: asyncio.TimerHandle | None = None

    def tell(self, chunk: bytes) -> None:
        """More of it, in the event loop's own thread."""
        if self._over:
            return
        text, end, _ = chunk.partition(b"\0")
        self._over = bool(end)
        *lines, part = _LINE_END.split(self._part + text)
        if lines and self._too_long:
            lines[0], self._too_long = b"[... a long line ...]", False
        for line in lines:
            self._take(line)
        # Half a line may hold half a secret: it is shown when it is whole, or never.
        self._too_long = self._too_long or len(part) > MAX_LINE
        self._part = b"" if self._too_long else part
        if self._lines and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(EVERY_S, self._now)

    def stop(self) -> None:
        """The command has ended: what it printed is told with its result."""
        if self._timer is not None:
            self._timer.cancel()

    def _take(self, line: bytes) -> None:
        """A key has many lines, of which none alone looks like a secret."""
        if self._key_lines:
            self._key_lines = 0 if _KEY_ENDS in line else (self._key_lines + 1) % MAX_KEY_LINES
        elif _KEY_BEGINS.search(line) and _KEY_ENDS not in line:
            self._key_lines = 1
            self._lines.append(_KEY)
        else:
            self._lines.append(line)

    def _now(self) -> None:
        self._timer = None
        text = self.redact(b"\n".join(self._lines).decode(errors="replace"))
        self._lines.clear()
        self.show(truncate(text, MAX_SHOWN, "tail").text)


@contextmanager
def printing(show: Callable[[str], None], redact: Callable[[str], str]) -> Generator[Callable[[bytes], None]]:
    """Where a command's output goes while it runs."""
    printed = Printed(show, redact)
    try:
        yield printed.tell
    finally:
        printed.stop()
