"""Connects a command in a container to its doors, by a socket that is mounted until the command begins (BOX-03).

A container inherits no descriptor. So its first process (`relay.py`) connects to a socket in a folder that no other
container and no other user can reach, hands out sockets of its own, and waits. The server checks which process
connected, removes the socket, and lets the process go on; it then starts the command under the command's own seccomp
filter, which allows no UNIX sockets, and ends the command when the server is gone.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

from remit_server.errors import ToolError
from remit_server.machine.descriptors import closing_fd
from remit_server.machine.peers import unix_peer
from remit_server.sandbox.bubblewrap.seccomp import ProfileName, profile_filter
from remit_server.sandbox.channel import ChannelEnd
from remit_server.sandbox.landlock import kernel
from remit_server.sandbox.network.doors import Doors
from remit_server.sandbox.network.proxy_socket import relay_text, wait_readable
from remit_server.sandbox.server_identity import prefix_of
from remit_server.uninterrupted import meanwhile

PLACE = Path("/run/remit")
"""Where the folder is mounted inside."""

_SOCKET = "door"
_LONGEST = 64


@dataclass(slots=True)
class MountedSocket:
    """`folder` has to be mounted read-only at `PLACE`; `arguments` come between Python and the command.

    `let_go` says whether the command was allowed to begin; `refusal` is the error that refused it.
    """

    folder: Path
    arguments: tuple[str, ...]
    let_go: bool = False
    refusal: ToolError | None = None


@asynccontextmanager
async def open_mounted_socket(
    doors: Doors, calls: ProfileName, end: ChannelEnd, begun: Callable[[int], None] | None
) -> AsyncGenerator[MountedSocket]:
    """Yields the socket by which one command comes to these doors and gets `end`, its end of the channel; closes all
    connections on exit.

    `begun` gets the pid of the first process before the command begins; if it raises ToolError, the command does not
    begin. Raises OSError, and RuntimeError without libseccomp.
    """
    rules = profile_filter(calls)
    given = [*end.descriptors]
    # No other user can enter the outer folder; the inner one is open for the user inside the container.
    outer = Path(tempfile.mkdtemp(prefix=prefix_of("door")))
    try:
        folder = outer / "inside"
        folder.mkdir()
        for name, content in (("relay.py", relay_text()), ("kernel.py", _kernel_text()), ("calls", rules)):
            (folder / name).write_bytes(content)
            (folder / name).chmod(0o444)
        folder.chmod(0o755)
        arguments = ("-I", "-S", "-B", str(PLACE / "relay.py"), str(PLACE / _SOCKET), *doors.arguments)
        mounted = MountedSocket(folder, arguments)
        with socket.socket(socket.AF_UNIX) as listener:
            _bind(listener, folder)

            def begin(first: int) -> None:
                doors.begin(first)
                end.begin(first)
                if begun is not None:
                    begun(first)

            async with meanwhile(_serve(listener, doors, mounted, given, begin)):
                yield mounted
    finally:
        _close(given)
        shutil.rmtree(outer, ignore_errors=True)


async def _serve(
    listener: socket.socket, doors: Doors, mounted: MountedSocket, given: list[int], begin: Callable[[int], None]
) -> None:
    """Accepts one connection and serves it until cancelled. Raises OSError if the process that connects is not the
    first of a container. When the connection closes, that process ends."""
    loop = asyncio.get_running_loop()
    connection, _ = await loop.sock_accept(listener)
    with connection:
        listener.close()
        (mounted.folder / _SOCKET).unlink()
        connection.setblocking(False)
        await wait_readable(connection)
        first = await asyncio.to_thread(_first_process, connection)
        _, descriptors, _, _ = socket.recv_fds(connection, 16, doors.most_sockets)
        async with doors.serving(descriptors):
            try:
                begin(first)
            except ToolError as refusal:
                mounted.refusal = refusal
                return
            mounted.let_go = True
            socket.send_fds(connection, [" ".join(["go", *map(str, given)]).encode()], given)
            _close(given)
            await loop.create_future()


def _close(descriptors: list[int]) -> None:
    while descriptors:
        os.close(descriptors.pop())


def _first_process(connection: socket.socket) -> int:
    """Returns the pid of the process that connected, as the kernel says, if it is the first of a pid namespace below
    ours. Raises OSError for any other, and if the containers' processes cannot be seen from here."""
    with closing(unix_peer(connection)) as peer:
        status = Path(f"/proc/{peer.pid}/status").read_text() if peer.pid > 0 else ""
        numbers = [each for line in status.splitlines() if line.startswith("NSpid:") for each in line.split()[1:]]
        if len(numbers) < 2 or numbers[-1] != "1" or peer.has_ended:
            raise OSError("the process that connected is not the first one of a container")
        return peer.pid


def _bind(listener: socket.socket, folder: Path) -> None:
    """Binds and listens; uses the folder's descriptor if its path is long, because the path of a socket may be 108
    bytes long at most."""
    with closing_fd(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as opened:
        short = len(os.fsencode(folder)) <= _LONGEST
        listener.bind(str((folder if short else Path(f"/proc/self/fd/{opened}")) / _SOCKET))
    (folder / _SOCKET).chmod(0o666)
    listener.setblocking(False)
    listener.listen(1)


def _kernel_text() -> bytes:
    return Path(kernel.__file__).read_bytes()
