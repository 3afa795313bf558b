"""A socket between a command and its caller in the server; the command inherits one end (PLG-05).

It is a socket pair, so it lies in no file system and no other process can connect to it. What the server reads from its
end comes with the credentials of the process that sent it, as the kernel knows them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from typing import Protocol

from remit_server.sandbox.network.sandbox_peer import SandboxProcesses

log = logging.getLogger(__name__)

SOCKET = "PLUGIN_SOCKET"
"""The variable with the descriptor number of the command's end."""

_REST_S = 10.0

Holds = Callable[[int], bool | None]
"""Says whether a process, given by its pid, is in the command's sandbox; None if it has ended."""


class Channel(Protocol):
    """Serves one command after another over their channels."""

    def begin(self) -> Mapping[str, str]:
        """Returns the environment variables for the next command. Raises ToolError if the command must not begin."""
        ...

    def serve(self, ours: socket.socket, holds: Holds) -> None:
        """Serves the command over `ours` until the channel ends; runs in a thread."""
        ...


def nobody(first: int) -> None:
    """Does nothing: the `begin` of a command without a channel."""
    del first


@dataclass(frozen=True, slots=True)
class ChannelEnd:
    """What a sandbox needs for a channel: environment variables, descriptors to pass on to the command, and `begin`,
    which is to be called with the pid of the sandbox's first process."""

    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    descriptors: tuple[int, ...] = ()
    begin: Callable[[int], None] = nobody


@asynccontextmanager
async def open_channel(channel: Channel | None) -> AsyncGenerator[ChannelEnd]:
    """Yields one command's end of its channel; on exit, waits until all that the command has sent is served.

    The caller that starts the command has to close the descriptor. Raises ToolError if the command must not begin.
    """
    if channel is None:
        yield ChannelEnd()
        return
    given = await asyncio.to_thread(channel.begin)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, closing(SandboxProcesses()) as inside:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        serving = _serve(channel, ours, inside)
        inherited = theirs.detach()
        try:
            yield ChannelEnd({**given, SOCKET: str(inherited)}, (inherited,), inside.begin)
        finally:
            # Every process that could hold the other end is dead; only data already sent is still to be read.
            await asyncio.wait({serving}, timeout=_REST_S)
            with contextlib.suppress(OSError):
                ours.shutdown(socket.SHUT_RDWR)
            await serving


def _serve(channel: Channel, ours: socket.socket, inside: SandboxProcesses) -> asyncio.Future[None]:
    """Serves the channel in a thread of its own, so that it never waits for a pool's free thread; the future is done
    when serving ends."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def serve() -> None:
        try:
            channel.serve(ours, inside.holds)
        except Exception:
            log.exception("a channel was not served to its end")
        finally:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(lambda: None if ended.done() else ended.set_result(None))

    threading.Thread(target=serve, name="remit-channel", daemon=True).start()
    return ended
