"""Reads from a file descriptor on a thread of its own, so that no peer can block the event loop (LSP-03, GW-02)."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

logger = logging.getLogger(__name__)

PLACES = 64
_CHUNK = 256 * 1024

Part = TypeVar("Part")


class DescriptorReader(Generic[Part]):
    """Passes each part of an input to `deliver` on the event loop, and calls `at_end` there after the last one.

    At most `PLACES` parts are in the queue, and fewer if they are large: a part takes one more place for each so many
    bytes as `bytes_of_a_place` says. It keeps its places until the future that `deliver` returned is done; if it
    returned None or raised, they are free at once.
    """

    def __init__(
        self,
        parts: Iterator[Part],
        deliver: Callable[[Part], asyncio.Future[None] | None],
        at_end: Callable[[], None],
        size: Callable[[Part], int],
        bytes_of_a_place: int,
    ) -> None:
        self._parts = parts
        self._deliver, self._at_end = deliver, at_end
        self._size, self._bytes_of_a_place = size, bytes_of_a_place
        self._loop = asyncio.get_running_loop()
        self._free = threading.Semaphore(PLACES)

    def start(self) -> None:
        """Starts reading. The thread is a daemon, because a read that never returns must not keep the process alive."""
        threading.Thread(target=self._work, name="remit-reader", daemon=True).start()

    def _work(self) -> None:
        try:
            for part in self._read():
                places = min(PLACES, 1 + self._size(part) // self._bytes_of_a_place)
                for _ in range(places):
                    self._free.acquire()
                self._loop.call_soon_threadsafe(self._handle, part, places)
            self._loop.call_soon_threadsafe(self._at_end)
        except RuntimeError:  # the event loop has closed
            return

    def _read(self) -> Iterator[Part]:
        try:
            yield from self._parts
        except Exception:  # on any error, because a server that no longer reads has to end
            logger.exception("the input cannot be read any more")

    def _handle(self, part: Part, places: int) -> None:
        answering: asyncio.Future[None] | None = None
        try:
            answering = self._deliver(part)
        finally:
            if answering is None:
                self._free.release(places)
            else:
                answering.add_done_callback(lambda _: self._free.release(places))


def read_some(fd: int) -> bytes:
    """Returns the next bytes, or none at the end of the input; a terminal that was closed is one."""
    try:
        return os.read(fd, _CHUNK)
    except OSError:
        return b""
