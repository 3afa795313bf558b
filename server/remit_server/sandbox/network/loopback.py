"""The loopback of a running sandbox, which the server reaches by sockets that were made inside (BG-04).

A socket belongs to the network in which it was made, whichever process connects by it. So the server can reach programs
that listen inside, and nothing inside can reach anything outside.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import functools
import os
import socket
import struct
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from remit_server.machine.peers import connections, has_ended
from remit_server.uninterrupted import meanwhile

MOST_SOCKETS = 32
"""Connections at the same time; further ones wait."""
_FIRST_PORT = 1024
"""Commands listen only on ports from this one on."""
_CHUNK = 1 << 16
_ANYWHERE = frozenset({"0.0.0.0", "127.0.0.1", "::"})  # noqa: S104  what is compared with, inside a sandbox
_ADDRESS = "127.0.0.1"


class Loopback:
    """The loopback of one sandbox; it has no ports before the command begins and after the command's end."""

    def __init__(self) -> None:
        self._first, self._pidfd = 0, -1
        self._free: asyncio.Queue[socket.socket] = asyncio.Queue()
        self._carried: set[asyncio.Task[None]] = set()

    def begin(self, first: int) -> None:
        """Sets the sandbox, by its first process. Raises ProcessLookupError if that process has ended already."""
        self._pidfd = os.pidfd_open(first)
        self._first = first

    def take(self, sockets: Sequence[socket.socket]) -> None:
        """Takes sockets that were made inside, before the command began."""
        for each in sockets:
            each.setblocking(False)
            self._free.put_nowait(each)

    def close(self) -> None:
        """Forgets the sandbox, and cuts all connections."""
        for task in self._carried:
            task.cancel()
        while not self._free.empty():
            self._free.get_nowait().close()
        if self._pidfd >= 0:
            os.close(self._pidfd)
        self._first, self._pidfd = 0, -1

    def ports(self) -> tuple[int, ...]:
        """Returns the ports that something inside listens on, and that a connection can reach. Reads files of /proc."""
        if not self._first:
            return ()
        try:
            rows = [row.local for row in connections(Path(f"/proc/{self._first}/net")) if row.listens]
        except OSError:
            return ()
        # Check this last: if the process still lives, its pid was not another's while we read.
        if has_ended(self._pidfd):
            return ()
        return tuple(sorted({port for host, port in rows if host in _ANYWHERE and port >= _FIRST_PORT}))

    @asynccontextmanager
    async def serving(
        self, listener: socket.socket, port: int, admits: Callable[[socket.socket], bool] = lambda _: True
    ) -> AsyncGenerator[None]:
        """Hands each connection that `listener` accepts, and `admits` lets in, to what listens on `port` inside."""
        listener.setblocking(False)
        async with meanwhile(self._accept(listener, port, admits)):
            yield

    async def _accept(self, listener: socket.socket, port: int, admits: Callable[[socket.socket], bool]) -> None:
        async with asyncio.TaskGroup() as group:
            while True:
                try:
                    connection, _ = await asyncio.get_running_loop().sock_accept(listener)
                except OSError:  # the connection was reset before we accepted it, or there are no free descriptors
                    await asyncio.sleep(0.05)
                    continue
                group.create_task(self._carry(connection, port, admits))

    async def _carry(self, connection: socket.socket, port: int, admits: Callable[[socket.socket], bool]) -> None:
        """Carries one connection to its end, also if it breaks."""
        with connection:
            if not self._first or not await asyncio.to_thread(admits, connection):
                return
            carrying = asyncio.create_task(self._connect(connection, port))
            self._carried.add(carrying)
            carrying.add_done_callback(self._carried.discard)
            try:
                await asyncio.wait([carrying])
            finally:
                carrying.cancel()
                await asyncio.wait([carrying])

    async def _connect(self, connection: socket.socket, port: int) -> None:
        inside = await self._free.get()
        try:
            with contextlib.suppress(OSError):
                await asyncio.get_running_loop().sock_connect(inside, (_ADDRESS, port))
                await _join(connection, inside)
        finally:
            if self._first:
                _disconnect(inside)
                self._free.put_nowait(inside)
            else:
                inside.close()


async def _join(one: socket.socket, other: socket.socket) -> None:
    """Carries bytes in both directions, until both have ended."""
    async with asyncio.TaskGroup() as group:
        group.create_task(_pump(one, other))
        group.create_task(_pump(other, one))


async def _pump(source: socket.socket, sink: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    try:
        while data := await loop.sock_recv(source, _CHUNK):
            await loop.sock_sendall(sink, data)
    except OSError:  # one end is gone, so close the other
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        return
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def _disconnect(used: socket.socket) -> None:
    """Makes a socket like new: connecting it to AF_UNSPEC ends its connection."""
    nowhere = struct.pack("=H14x", socket.AF_UNSPEC)
    _libc().connect(used.fileno(), nowhere, len(nowhere))


@functools.cache
def _libc() -> Any:
    return cast("Any", ctypes.CDLL(None, use_errno=True))
