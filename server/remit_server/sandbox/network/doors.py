"""The doors of a command: ports of its own loopback on which the server serves (BOX-03; BG-04)."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from functools import partial

from remit_governance.hosts import parse_endpoint
from remit_server.sandbox.network.loopback import MOST_SOCKETS, Loopback
from remit_server.sandbox.network.proxy import Attempt, Proxy
from remit_server.sandbox.network.sandbox_peer import SandboxProcesses
from remit_server.sandbox.ports import CommandSpec, Near

PORT = 3128
"""The proxy's port inside, the same in each sandbox because each has a loopback of its own."""


@dataclass(frozen=True, slots=True)
class Door:
    """A port of the sandbox's own loopback; `serve` serves on the socket that listens there."""

    port: int
    serve: Callable[[socket.socket], AbstractAsyncContextManager[object]]


@dataclass(frozen=True, slots=True)
class Doors:
    """All doors of one command. `loopback` takes sockets that are made inside, by which the server connects; `begin`
    has to be called with the pid of the first process before the command begins."""

    each: tuple[Door, ...]
    loopback: Loopback | None
    begin: Callable[[int], None]

    @property
    def arguments(self) -> tuple[str, str]:
        """The arguments PORTS and SOCKETS of `relay.py`: ports to listen on, and the number of connecting sockets."""
        ports = ",".join(str(door.port) for door in self.each)
        return ports, str(0 if self.loopback is None else MOST_SOCKETS)

    @property
    def most_sockets(self) -> int:
        """The most descriptors that `relay.py` hands out."""
        return len(self.each) + MOST_SOCKETS

    @asynccontextmanager
    async def serving(self, descriptors: list[int]) -> AsyncGenerator[None]:
        """Serves on the sockets that were made inside, in the order of `arguments`."""
        made = [socket.socket(fileno=each) for each in descriptors]
        async with AsyncExitStack() as served:
            for each in made[: len(self.each)]:
                served.enter_context(each)
            if self.loopback is not None:
                self.loopback.take(made[len(self.each) :])
            for door, listener in zip(self.each, made, strict=False):
                listener.setblocking(False)
                await served.enter_async_context(door.serve(listener))
            yield


@asynccontextmanager
async def open_doors(spec: CommandSpec, *, always: bool = False) -> AsyncGenerator[Doors | None]:
    """Yields the doors of a command if it may reach hosts, ports or another process, if the server must reach it, or if
    `always`; else None."""
    if not always and not spec.reached and spec.loopback is None and spec.near is None:
        yield None
        return
    listed = frozenset(map(parse_endpoint, spec.network))
    with closing(SandboxProcesses()) as inside, closing(spec.loopback or Loopback()) as loopback:
        proxy = Proxy(listed, spec.attempted or _ignore_attempt, inside.find, spec.in_force)
        here = (Door(port, partial(proxy.serving, port=port)) for port in spec.local)

        def begin(first: int) -> None:
            inside.begin(first)
            loopback.begin(first)

        doors = (*([Door(PORT, proxy.serving)] if listed else []), *here, *_doors_to(spec.near))
        yield Doors(doors, spec.loopback, begin)


def _doors_to(near: Near | None) -> Iterator[Door]:
    """Yields a door to each port of a process in another sandbox."""
    if near is not None:
        yield from (Door(port, partial(near.loopback.serving, port=port)) for port in near.ports)


def _ignore_attempt(attempt: Attempt) -> None:
    del attempt
