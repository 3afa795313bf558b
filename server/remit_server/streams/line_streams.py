"""Reads and writes lines over two file descriptors, with a thread each: no peer can block the event loop (GW-02)."""

from __future__ import annotations

import asyncio
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import SimpleQueue

from remit_server.machine.descriptors import write_all
from remit_server.streams.descriptor_reader import DescriptorReader, read_some

LONGEST_LINE = 16 * 1024 * 1024
"""The most bytes of a line; a longer one is skipped and delivered as None."""

_CHUNK = 256 * 1024
_AHEAD = 64 * 1024
"""Unwritten bytes above which a caller of `write` has to wait."""

_BYTES_OF_A_PLACE = 500_000
"""Of a line: two of the longest do not fit into the queue."""


class LineBuffer:
    """Splits bytes into lines. No part of an overlong line is kept."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes | None]:
        """Adds bytes; returns the lines they complete, without line ends, None for an overlong one."""
        *ended, rest = data.split(b"\n")
        lines: list[bytes | None] = []
        for part in ended:
            self._add(part)
            lines.append(self._take_line())
        self._add(rest)
        return lines

    def finish(self) -> list[bytes | None]:
        """Returns the rest at the end of input as a line, unless it is empty."""
        return [self._take_line()] if self._size else []

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._longest:
            self._parts.clear()
        elif part:
            self._parts.append(part)

    def _take_line(self) -> bytes | None:
        line = None if self._size > self._longest else b"".join(self._parts).removesuffix(b"\r")
        self._parts.clear()
        self._size = 0
        return line


class LineReader(DescriptorReader[bytes | None]):
    """Reads lines from a descriptor. Empty ones are skipped."""

    def __init__(
        self, fd: int, deliver: Callable[[bytes | None], asyncio.Future[None] | None], at_end: Callable[[], None]
    ) -> None:
        lines = (line for line in _lines(fd) if line != b"")
        super().__init__(lines, deliver, at_end, lambda line: 0 if line is None else len(line), _BYTES_OF_A_PLACE)


def _lines(fd: int) -> Iterator[bytes | None]:
    buffer = LineBuffer()
    while data := read_some(fd):
        yield from buffer.feed(data)
    yield from buffer.finish()


class LineWriter:
    """Writes to a descriptor on a thread of its own, in the order of the calls, and waiting data in one piece.
    `on_lost` is called when the reader has gone."""

    def __init__(self, fd: int, on_lost: Callable[[], None]) -> None:
        self._fd = fd
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[bytes] = SimpleQueue()
        self._unwritten = 0
        self._lost = False
        self._changed = asyncio.Event()

    def start(self) -> None:
        """Starts writing, and watching for the other end to close."""
        for work in (self._work, self._watch):
            threading.Thread(target=work, name="remit-writer", daemon=True).start()

    async def write(self, data: bytes) -> None:
        """Queues bytes, and waits while too many are unwritten, so that a client that does not read is not served
        further."""
        self._unwritten += len(data)
        self._queue.put(data)
        if self._unwritten > _AHEAD:
            await self._until(_AHEAD)

    async def drain(self) -> None:
        """Waits until all queued bytes are written, or the reader has gone."""
        await self._until(0)

    async def _until(self, unwritten: int) -> None:
        while self._unwritten > unwritten and not self._lost:
            await self._changed.wait()

    def _work(self) -> None:
        while True:
            data = self._take()
            try:
                write_all(self._fd, data)
            except OSError:
                self._call(self._lose)
                return
            self._call(self._note, len(data))

    def _take(self) -> bytes:
        """Waits for data to write, and returns the waiting data, not much more than a chunk of it."""
        parts = [self._queue.get()]
        size = len(parts[0])
        while size < _CHUNK and not self._queue.empty():
            parts.append(self._queue.get())
            size += len(parts[-1])
        return b"".join(parts)

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._fd, 0)
        poll.poll()  # waits only for the other end to close
        self._call(self._lose)

    def _call(self, told: Callable[..., None], *values: int) -> None:
        with suppress(RuntimeError):  # the event loop has closed
            self._loop.call_soon_threadsafe(told, *values)

    def _note(self, size: int) -> None:
        self._unwritten -= size
        self._wake()

    def _lose(self) -> None:
        self._lost = True
        self._wake()
        self._on_lost()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
