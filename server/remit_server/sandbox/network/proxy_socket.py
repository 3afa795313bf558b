"""Connects a command in a sandbox to its proxy and to other processes: what is put inside, and the sockets that the
server gets from inside (BOX-03; BG-04)."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from remit_governance.hosts import Endpoint
from remit_server.sandbox.network.doors import PORT, Doors
from remit_server.sandbox.policy_profile import package_covers, runtime_beside, runtime_folders
from remit_server.sandbox.visible.environment import SYSTEM_FOLDERS
from remit_server.sandbox.visible.toolchains import ReadOnlyMount, parents_of
from remit_server.uninterrupted import meanwhile

_PROGRAM = "/run/remit/relay.py"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def network_environment(listed: Iterable[Endpoint]) -> dict[str, str]:
    """Returns the variables that tell programs to use the proxy. A command reaches its own servers on the loopback
    without the proxy, unless those hosts are listed."""
    names = {endpoint.host for endpoint in listed}
    here = ",".join(name for name in _LOOPBACK if name not in names)
    proxy = f"http://127.0.0.1:{PORT}"
    told = {"http_proxy": proxy, "https_proxy": proxy, "all_proxy": proxy, "no_proxy": here}
    return {**told, **{name.upper(): value for name, value in told.items()}}


@dataclass(frozen=True, slots=True)
class ProxyEndpoint:
    """What the sandbox needs for its doors: options of bwrap(1), the words before the command, descriptors to pass on.

    `begin` has to be called with the pid of the first process before the command begins.
    """

    options: tuple[str, ...]
    command: tuple[str, ...]
    descriptors: tuple[int, ...]
    begin: Callable[[int], None] = lambda first: None


NO_ENDPOINT = ProxyEndpoint((), (), ())
"""The endpoint of a command without doors."""


@contextlib.asynccontextmanager
async def open_endpoint(doors: Doors, relay: int, shown: Sequence[ReadOnlyMount]) -> AsyncGenerator[ProxyEndpoint]:
    """Yields what one command's sandbox needs for these doors; on exit closes all connections.

    `relay` is a descriptor from which `relay_text` can be read; `shown` are the mounts that the command sees anyway.
    The caller that starts the command has to close the descriptors.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    ours.setblocking(False)
    with ours:
        inside = theirs.detach()
        endpoint = ProxyEndpoint(
            (*_python(shown), "--ro-bind-data", str(relay), _PROGRAM),
            (str(runtime_folders()[0]), "-I", "-S", "-B", _PROGRAM, str(inside), *doors.arguments),
            (relay, inside),
            doors.begin,
        )
        async with meanwhile(_serve(ours, doors)):
            yield endpoint


async def _serve(ours: socket.socket, doors: Doors) -> None:
    """Waits for the sockets from inside and serves on them until cancelled. Raises OSError if something else comes."""
    await wait_readable(ours)
    _, descriptors, _, _ = socket.recv_fds(ours, 16, doors.most_sockets)
    if not descriptors:
        return  # the sandbox ended before its command began
    async with doors.serving(descriptors):
        await asyncio.get_running_loop().create_future()


async def wait_readable(connection: socket.socket) -> None:
    """Waits until something can be received, or the other end is closed."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(connection, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(connection)


def _python(shown: Sequence[ReadOnlyMount]) -> tuple[str, ...]:
    """Returns options that show the Python which runs the relay, unless it is seen anyway; the packages installed
    beside its library are covered."""
    own = [each.place for each in runtime_beside((*map(Path, SYSTEM_FOLDERS), *(each.place for each in shown)))]
    parents = (option for folder in parents_of(own) for option in ("--perms", "0111", "--dir", str(folder)))
    binds = (option for path in own for option in ("--ro-bind", str(path), str(path)))
    return (*parents, *binds, *(option for path in own for option in package_covers(path)))


@cache
def relay_text() -> bytes:
    """Returns the program that runs before the command."""
    return Path(__file__).with_name("relay.py").read_bytes()
