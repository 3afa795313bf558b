"""A socket between a command and whoever has it run, of which the command inherits one end (PLG-05).

It is a pair: nothing of it lies in a file system, and nobody else can come to it. What is read of ours comes with the
credentials of the process that sent it, as the kernel knows them.
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
"""The variable with the number of the command's end."""

_REST_S = 10.0

Holds = Callable[[int], bool | None]
"""Says whether a process is one of the command's sandbox; None where it has ended."""


class Channel(Protocol):
    """Speaks with one command after another."""

    def begin(self) -> Mapping[str, str]:
        """Returns the variables that the next command is given. Raises ToolError where it is not to begin."""
        ...

    def serve(self, ours: socket.socket, holds: Holds) -> None:
        """Speaks with it until its end, in a thread."""
        ...


def nobody(first: int) -> None:
    """Of a command without one."""
    del first


@dataclass(frozen=True, slots=True)
class ChannelEnd:
    """What a sandbox needs for it: variables, descriptors to pass on, and who is to be told of its first process."""

    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    descriptors: tuple[int, ...] = ()
    begin: Callable[[int], None] = nobody


@asynccontextmanager
async def open_channel(channel: Channel | None) -> AsyncGenerator[ChannelEnd]:
    """Yields the end of one command; behind us what it has said is heard to the end.

    The descriptor is whoever's who starts the command. Raises ToolError where it is not to begin.
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
            # All that could hold the other end is dead: what is left is what is still to be read.
            await asyncio.wait({serving}, timeout=_REST_S)
            with contextlib.suppress(OSError):
                ours.shutdown(socket.SHUT_RDWR)
            await serving


def _serve(channel: Channel, ours: socket.socket, inside: SandboxProcesses) -> asyncio.Future[None]:
    """Has it served in a thread of its own, however many wait for others; done at its end."""
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
