"""How a command in a sandbox comes to speak with its proxy: what is put inside, and the socket that comes out
(BOX-03)."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from remit_governance.hosts import Endpoint
from remit_server.sandbox.network.proxy import Proxy
from remit_server.sandbox.policy_profile import package_covers, runtime_folders
from remit_server.sandbox.visible.environment import SYSTEM_FOLDERS
from remit_server.sandbox.visible.toolchains import ReadOnlyMount, parents_of

PORT = 3128
"""Where the proxy is found inside; each sandbox has a loopback of its own."""

_PROGRAM = "/run/remit/relay.py"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def network_environment(listed: Iterable[Endpoint]) -> dict[str, str]:
    """Returns what tells programs of the proxy. A command's own servers are reached without it, unless they are
    listed."""
    names = {endpoint.host for endpoint in listed}
    here = ",".join(name for name in _LOOPBACK if name not in names)
    proxy = f"http://127.0.0.1:{PORT}"
    told = {"http_proxy": proxy, "https_proxy": proxy, "all_proxy": proxy, "no_proxy": here}
    return {**told, **{name.upper(): value for name, value in told.items()}}


@dataclass(frozen=True, slots=True)
class ProxyEndpoint:
    """What the sandbox needs for it: options of bwrap(1), the words before the command, descriptors to pass on.

    `begin` is to be told of its first process before the command begins.
    """

    options: tuple[str, ...]
    command: tuple[str, ...]
    descriptors: tuple[int, ...]
    begin: Callable[[int], None] = lambda first: None


NO_ENDPOINT = ProxyEndpoint((), (), ())
"""That of a command without network."""


@contextlib.asynccontextmanager
async def open_endpoint(
    proxy: Proxy, relay: int, shown: Sequence[ReadOnlyMount], begin: Callable[[int], None]
) -> AsyncGenerator[ProxyEndpoint]:
    """Yields a door to this proxy, for one command; closed behind us with all that goes through it.

    `relay` is a descriptor to read `relay_text` from; `shown` are the toolchains that the command sees anyway. The
    door's descriptors are whoever's who starts the command.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    ours.setblocking(False)
    with ours:
        inside = theirs.detach()
        door = ProxyEndpoint(
            (*_python(shown), "--ro-bind-data", str(relay), _PROGRAM),
            (str(runtime_folders()[0]), "-I", "-S", "-B", _PROGRAM, str(inside), str(PORT)),
            (relay, inside),
            begin,
        )
        serving = asyncio.create_task(_serve(ours, proxy))
        try:
            yield door
        finally:
            serving.cancel()
            with contextlib.suppress(asyncio.CancelledError, OSError):
                await serving


async def _serve(ours: socket.socket, proxy: Proxy) -> None:
    """Wait for the socket from inside and serve on it until cancelled. Raises OSError for anything else."""
    await _wait_readable(ours)
    _, descriptors, _, _ = socket.recv_fds(ours, 16, 1)
    if not descriptors:
        return  # the sandbox ended before its command began
    with socket.socket(fileno=descriptors[0]) as listener:
        listener.setblocking(False)
        async with proxy.serving(listener):
            await asyncio.get_running_loop().create_future()


async def _wait_readable(ours: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(ours, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(ours)


def _python(shown: Sequence[ReadOnlyMount]) -> tuple[str, ...]:
    """Returns the interpreter that runs the relay, where it is not seen anyway; what lies beside its library is not
    shown."""
    seen = (*map(Path, SYSTEM_FOLDERS), *(each.place for each in shown))
    own = [path for path in runtime_folders() if not any(path.is_relative_to(folder) for folder in seen)]
    parents = (option for folder in parents_of(own) for option in ("--perms", "0111", "--dir", str(folder)))
    binds = (option for path in own for option in ("--ro-bind", str(path), str(path)))
    return (*parents, *binds, *(option for path in own for option in package_covers(path)))


@cache
def relay_text() -> bytes:
    """Returns the program that runs before the command."""
    return Path(__file__).with_name("relay.py").read_bytes()
