"""What a process in the background has printed: the last whole lines (BG-03)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from remit_server.harness.commands.live_output import PrintedLines
from remit_server.sandbox.ports import StreamName

MOST_KEPT = 256 * 1024
"""Bytes of output that are kept at least; older output is dropped."""


@dataclass(slots=True)
class Printed:
    """Takes what a process prints on both of its streams. `total` is the number of bytes printed so far."""

    total: int = 0
    _lines: dict[StreamName, PrintedLines] = field(default_factory=dict[StreamName, PrintedLines])
    _kept: bytearray = field(default_factory=bytearray)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def feed(self, stream: StreamName, chunk: bytes) -> None:
        """Takes more output of one stream. Must be called in the event loop's own thread."""
        self._keep(self._lines.setdefault(stream, PrintedLines()).take(chunk))

    def finish(self) -> None:
        """Takes the last line of each stream even if it has no line end, because no more output will come."""
        for lines in self._lines.values():
            self._keep(lines.take_rest())
        self._news.set()

    def forget(self) -> None:
        """Drops all kept output."""
        self._kept.clear()

    def since(self, position: int) -> tuple[bytes, int]:
        """Returns the kept output from a position on, and how many bytes after that position were dropped."""
        first = self.total - len(self._kept)
        return bytes(self._kept[max(0, position - first) :]), max(0, first - position)

    async def wait(self, seconds: float) -> None:
        """Waits until more output has come, at most for `seconds`."""
        self._news.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return

    def _keep(self, lines: bytes) -> None:
        if not lines:
            return
        self.total += len(lines)
        self._kept += lines
        # Drop in large steps, because dropping copies the whole buffer, which would be slow for every chunk.
        if len(self._kept) > 2 * MOST_KEPT:
            cut = self._kept.find(b"\n", len(self._kept) - MOST_KEPT - 1) + 1
            del self._kept[: cut or len(self._kept) - MOST_KEPT]
        self._news.set()
