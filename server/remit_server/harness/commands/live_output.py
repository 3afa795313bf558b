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
from remit_server.harness.commands.printed_lines import PrintedLines
from remit_server.sandbox.ports import Progress, StreamName

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
    return f"[... {lines} line{'' if lines == 1 else 's'} not shown ...]"


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
