"""Reads and writes lines over two file descriptors, with a thread each: no peer can block the event loop (GW-02)."""

from __future__ import annotations

import asyncio
import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue

from remit_server.machine.descriptors import write_all

LONGEST_LINE = 16 * 1024 * 1024
"""The most bytes of a line; a longer one is skipped and delivered as None."""

_CHUNK = 256 * 1024
_AHEAD = 64 * 1024
"""Unwritten bytes above which a caller of `write` has to wait."""

_IN_FLIGHT = 64
_UNIT = 500_000
"""A line takes one more place in the queue for each so many bytes, so that two of the longest lines do not fit."""


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


class LineReader:
    """Reads lines from a descriptor on a thread of its own, and passes each to `deliver` on the event loop.

    Empty lines are skipped. At most a few dozen lines are in the queue, fewer if they are long. A line keeps its
    places until the future that `deliver` returned is done; if it returned None or raised, they are free at once.
    """

    def __init__(
        self, fd: int, deliver: Callable[[bytes | None], asyncio.Future[None] | None], at_end: Callable[[], None]
    ) -> None:
        self._fd = fd
        self._deliver, self._at_end = deliver, at_end
        self._loop = asyncio.get_running_loop()
        self._room = threading.Semaphore(_IN_FLIGHT)

    def start(self) -> None:
        """Starts reading. The thread is a daemon: a read that never returns must not keep the process alive."""
        threading.Thread(target=self._work, name="remit-reader", daemon=True).start()

    def _work(self) -> None:
        buffer = LineBuffer()
        try:
            while data := self._read():
                self._hand_on(buffer.feed(data))
            self._hand_on(buffer.finish())
            self._loop.call_soon_threadsafe(self._at_end)
        except RuntimeError:  # the event loop has closed
            return

    def _hand_on(self, lines: list[bytes | None]) -> None:
        for line in lines:
            if line != b"":
                places = _places(0 if line is None else len(line))
                for _ in range(places):
                    self._room.acquire()
                self._loop.call_soon_threadsafe(self._handle, line, places)

    def _handle(self, line: bytes | None, places: int) -> None:
        answering: asyncio.Future[None] | None = None
        try:
            answering = self._deliver(line)
        finally:
            if answering is None:
                self._room.release(places)
            else:
                answering.add_done_callback(lambda _: self._room.release(places))

    def _read(self) -> bytes:
        try:
            return os.read(self._fd, _CHUNK)
        except OSError:  # a terminal that was closed
            return b""


def _places(size: int) -> int:
    return min(_IN_FLIGHT, 1 + size // _UNIT)


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
