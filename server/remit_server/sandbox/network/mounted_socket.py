"""How a command in a container comes to its doors: by a socket that is mounted there until it has begun (BOX-03).

A container inherits no descriptor. So what runs first in it connects to a socket in a folder that no other container
and no other user can come to, hands its own sockets out, and waits. The server looks who it is, takes the socket away,
and lets it go; then it starts the command, behind the filter of calls that is the command's own, under which there are
no such sockets, and ends it once the server is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

from remit_server.errors import ToolError
from remit_server.peers import unix_peer
from remit_server.sandbox.bubblewrap.seccomp import ProfileName, profile_filter
from remit_server.sandbox.channel import ChannelEnd
from remit_server.sandbox.landlock import kernel
from remit_server.sandbox.network.doors import Doors
from remit_server.sandbox.network.proxy_socket import relay_text
from remit_server.sandbox.server_identity import prefix_of

PLACE = Path("/run/remit")
"""Where the folder is mounted inside."""

_SOCKET = "door"
_LONGEST = 64


@dataclass(slots=True)
class MountedSocket:
    """`folder` is what has to be mounted at `PLACE`, to be read; `arguments` come between Python and the command.

    `let_go` says whether the command may have begun, and `refusal` why it was not to.
    """

    folder: Path
    arguments: tuple[str, ...]
    let_go: bool = False
    refusal: ToolError | None = None


@asynccontextmanager
async def open_mounted_socket(
    doors: Doors, calls: ProfileName, end: ChannelEnd, begun: Callable[[int], None] | None
) -> AsyncGenerator[MountedSocket]:
    """Yields the way to these doors, for one command, which is given that end of its channel; closed behind us with all
    that goes through them.

    `begun` is told of its first process before it begins; where that raises ToolError, it does not. Raises OSError, and
    RuntimeError without libseccomp.
    """
    rules = profile_filter(calls)
    given = [*end.descriptors]
    # Nobody else comes into the outer folder; the inner one is for the user inside.
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

            serving = asyncio.create_task(_serve(listener, doors, mounted, given, begin))
            try:
                yield mounted
            finally:
                serving.cancel()
                with contextlib.suppress(asyncio.CancelledError, OSError):
                    await serving
    finally:
        _close(given)
        shutil.rmtree(outer, ignore_errors=True)


async def _serve(
    listener: socket.socket, doors: Doors, mounted: MountedSocket, given: list[int], begin: Callable[[int], None]
) -> None:
    """Serves the one that comes, until cancelled; nobody where that is not the first process of a container. With the
    connection, that ends too."""
    loop = asyncio.get_running_loop()
    connection, _ = await loop.sock_accept(listener)
    with connection:
        listener.close()
        (mounted.folder / _SOCKET).unlink()
        await _wait_readable(connection)
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


async def _wait_readable(connection: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    connection.setblocking(False)
    loop.add_reader(connection, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(connection)


def _first_process(connection: socket.socket) -> int:
    """Returns who connected, as the kernel says, where it is the first of a namespace of processes below ours. Raises
    OSError for anybody else: the program that starts containers may run them where their processes are not seen."""
    with closing(unix_peer(connection)) as peer:
        status = Path(f"/proc/{peer.pid}/status").read_text() if peer.pid > 0 else ""
        numbers = [each for line in status.splitlines() if line.startswith("NSpid:") for each in line.split()[1:]]
        if len(numbers) < 2 or numbers[-1] != "1" or peer.has_ended:
            raise OSError("who connected is no first process of a container")
        return peer.pid


def _bind(listener: socket.socket, folder: Path) -> None:
    """By the folder's descriptor: the path of a socket may be 108 bytes long at most."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        short = len(os.fsencode(folder)) <= _LONGEST
        listener.bind(str((folder if short else Path(f"/proc/self/fd/{opened}")) / _SOCKET))
    finally:
        os.close(opened)
    (folder / _SOCKET).chmod(0o666)
    listener.setblocking(False)
    listener.listen(1)


def _kernel_text() -> bytes:
    return Path(kernel.__file__).read_bytes()
