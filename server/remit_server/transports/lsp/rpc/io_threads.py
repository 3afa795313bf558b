"""Reads and writes the connection's descriptors on a thread each, so that no peer can block the event loop (LSP-03)."""

from __future__ import annotations

import asyncio
import logging
import os
import select
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress

from remit_server.transports.lsp.rpc.frames import End, Frame, FrameBuffer, Message

logger = logging.getLogger(__name__)

MAX_BACKLOG = 32 * 1024 * 1024
"""The most bytes queued for a client that does not read. Beyond that the client counts as lost."""

STALL_S = 0.5
"""The seconds without input inside a message after which its length is doubted."""

_CHUNK = 256 * 1024
_PLACES = 64
_BYTES_OF_A_PLACE = 16 * 1024
"""A message takes a further place in the queue per so many bytes: parsed, it is many times as large as sent."""


class ConnectionLost(BrokenPipeError):
    """The client is gone, or has not read for too long."""


class FrameReader:
    """Reads frames from a descriptor on a thread of its own and passes each to `deliver` on the event loop.

    At most a few dozen frames are in the queue, fewer where they are long. A frame's places are free again when
    `deliver` has returned or raised.
    """

    def __init__(self, fd: int, deliver: Callable[[Frame], None]) -> None:
        self._fd = fd
        self._deliver = deliver
        self._loop = asyncio.get_running_loop()
        self._free = threading.Semaphore(_PLACES)

    def start(self) -> None:
        """Starts reading. The thread is a daemon: a read that never returns must not keep the process alive."""
        threading.Thread(target=self._work, name="remit-lsp-reader", daemon=True).start()

    def _work(self) -> None:
        with suppress(ConnectionLost):
            try:
                self._read_all()
            except ConnectionLost:
                raise
            except Exception:  # on any error: a server that no longer reads has to end
                logger.exception("the input cannot be read any more")
            self._hand_on([End()])

    def _read_all(self) -> None:
        frames = FrameBuffer()
        while data := self._read(frames):
            self._hand_on(frames.feed(data))
        self._hand_on(frames.finish())

    def _hand_on(self, frames: Iterable[Frame]) -> None:
        """Raises ConnectionLost when the event loop has closed."""
        for frame in frames:
            places = min(_PLACES, 1 + frame.size // _BYTES_OF_A_PLACE) if isinstance(frame, Message) else 1
            for _ in range(places):
                self._free.acquire()
            try:
                self._loop.call_soon_threadsafe(self._handle, frame, places)
            except RuntimeError as closed:
                raise ConnectionLost("the event loop has closed") from closed

    def _handle(self, frame: Frame, places: int) -> None:
        try:
            self._deliver(frame)
        finally:
            self._free.release(places)

    def _read(self, frames: FrameBuffer) -> bytes:
        """Reads the next bytes; none at the end of the input. After a pause the partial message is examined."""
        if frames.waits and not self._readable_within(STALL_S):
            self._hand_on(frames.stall())
        try:
            return os.read(self._fd, _CHUNK)
        except OSError:
            return b""

    def _readable_within(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        return bool(poll.poll(seconds * 1000))


class FrameWriter:
    """Writes to a descriptor on a thread of its own: `write` never blocks.

    A client that stops reading fills the backlog; past `MAX_BACKLOG` it is lost, `on_lost` is called once (on either
    thread) and every further `write` raises `ConnectionLost`.
    """

    def __init__(self, fd: int, on_lost: Callable[[], None]) -> None:
        self._fd = fd
        self._on_lost = on_lost
        self._queue: deque[bytes] = deque()
        self._waiting = 0
        self._closing = False
        self._lost = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="remit-lsp-writer", daemon=True)
        self._thread.start()

    def write(self, data: bytes) -> None:
        """Queues bytes. Raises ConnectionLost when the client is lost."""
        with self._changed:
            if not self._lost and self._waiting + len(data) <= MAX_BACKLOG:
                self._queue.append(data)
                self._waiting += len(data)
                self._changed.notify()
                return
        self._lose()
        raise ConnectionLost("the client no longer reads")

    def close(self, timeout_s: float = 2.0) -> None:
        """Writes the queued bytes, for at most `timeout_s` seconds, and stops. Never raises."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout_s)

    def _work(self) -> None:
        while (data := self._next()) is not None:
            view = memoryview(data)
            try:
                while view:
                    view = view[os.write(self._fd, view) :]
            except OSError:
                self._lose()
                return

    def _next(self) -> bytes | None:
        with self._changed:
            while not self._queue and not self._closing and not self._lost:
                self._changed.wait()
            if self._lost or not self._queue:
                return None
            data = self._queue.popleft()
            self._waiting -= len(data)
            return data

    def _lose(self) -> None:
        with self._changed:
            first, self._lost = not self._lost, True
            self._queue.clear()
            self._changed.notify()
        if first:
            self._on_lost()
