"""Content-Length framing over two file descriptors, a thread each way, so that no peer can stop the event loop
(002 §4.4 Transport; architecture.md, invariants 10 and 11)."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

MAX_MESSAGE = 64 * 1024 * 1024
"""Largest message taken, in bytes; what is longer is read past and refused."""

MAX_BACKLOG = 32 * 1024 * 1024
"""Bytes that may wait for a client that does not read. Beyond, the client counts as lost."""

_MAX_HEADER_LINE = 8 * 1024
_MAX_HEADER_LINES = 64
_CHUNK = 256 * 1024
_FRAMES_IN_FLIGHT = 64


class ConnectionLost(BrokenPipeError):
    """The client is gone, or has stopped reading for too long."""


@dataclass(frozen=True, slots=True)
class Body:
    """One message as it came."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Garbage:
    """Something that is no message; `problem` says why."""

    problem: str


@dataclass(frozen=True, slots=True)
class End:
    """The client closed its end: nothing more comes."""


Frame = Body | Garbage | End


class FrameReader:
    """Reads frames from a descriptor on a thread of its own and hands each to `deliver`.

    At most a few dozen frames are under way at once: `done` makes room for the next one.
    """

    def __init__(self, fd: int, deliver: Callable[[Frame], None]) -> None:
        self._fd = fd
        self._deliver = deliver
        self._buffer = bytearray()
        self._room = threading.Semaphore(_FRAMES_IN_FLIGHT)

    def start(self) -> None:
        """Start reading. The thread is a daemon: a read that never returns must not keep the process alive."""
        threading.Thread(target=self._work, name="remit-lsp-reader", daemon=True).start()

    def done(self) -> None:
        """Say that one delivered frame has been handled."""
        self._room.release()

    def _work(self) -> None:
        while True:
            frame = self._frame()
            self._room.acquire()
            try:
                self._deliver(frame)
            except RuntimeError:  # the event loop has closed: nobody listens any more
                return
            match frame:
                case End():
                    return
                case Body() | Garbage():
                    pass
                case _:
                    assert_never(frame)

    def _frame(self) -> Frame:
        headers = self._headers()
        if headers is None:
            return End()
        length = _content_length(headers)
        if length is None:
            return Garbage("a message needs a `Content-Length` header with a number")
        if length > MAX_MESSAGE:
            return Garbage(f"a message may have {MAX_MESSAGE} bytes, not {length}") if self._skip(length) else End()
        body = self._exactly(length)
        return End() if body is None else Body(body)

    def _headers(self) -> list[bytes] | None:
        """The header lines up to the empty one; None at the end of input."""
        lines: list[bytes] = []
        while len(lines) < _MAX_HEADER_LINES:
            line = self._line()
            if line is None:
                return None
            if line.strip():
                lines.append(line)
            elif lines:
                return lines
        return []

    def _line(self) -> bytes | None:
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > _MAX_HEADER_LINE:
                return self._take(len(self._buffer))
            if not self._fill():
                return None
        return self._take(end + 1)

    def _exactly(self, count: int) -> bytes | None:
        while len(self._buffer) < count:
            if not self._fill():
                return None
        return self._take(count)

    def _skip(self, count: int) -> bool:
        while count > len(self._buffer):
            count -= len(self._buffer)
            self._buffer.clear()
            if not self._fill():
                return False
        del self._buffer[:count]
        return True

    def _take(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def _fill(self) -> bool:
        try:
            chunk = os.read(self._fd, _CHUNK)
        except OSError:
            return False
        self._buffer += chunk
        return bool(chunk)


class FrameWriter:
    """Writes to a descriptor on a thread of its own: `write` never blocks.

    A client that stops reading fills the backlog; past `MAX_BACKLOG` it is lost, `on_lost` is called once (on
    either thread) and every further `write` raises `ConnectionLost`.
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
        """Queue bytes. Raises ConnectionLost when nobody is going to read them."""
        with self._changed:
            if not self._lost and self._waiting + len(data) <= MAX_BACKLOG:
                self._queue.append(data)
                self._waiting += len(data)
                self._changed.notify()
                return
        self._lose()
        raise ConnectionLost("the client no longer reads")

    def close(self, timeout_s: float = 2.0) -> None:
        """Write out what waits, for at most `timeout_s` seconds, and stop. Never raises."""
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


def _content_length(headers: list[bytes]) -> int | None:
    for line in headers:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            digits = value.strip()
            return int(digits) if digits.isdigit() and len(digits) <= 18 else None
    return None
