"""The trial of the ways between a container and the server: the proxy, the channel, and a port inside (BOX-07)."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Mapping

from remit_server.sandbox.channel import SOCKET, Holds
from remit_server.sandbox.network.doors import PORT
from remit_server.sandbox.network.loopback import Loopback

TRIAL_S = 60.0
"""The time that a trial may take."""
_LOOK_S = 0.02
_CREDENTIALS = struct.Struct("iii")
_SERVED = PORT + 1
UNIX = b"it can make UNIX sockets"
TRIAL_OF_WAYS = f"""
import os, socket
try:
    socket.socket(socket.AF_UNIX)
    print("{UNIX.decode()}")
except OSError:
    pass
proxy = socket.create_connection(("127.0.0.1", {PORT}))
proxy.sendall(b"CONNECT remit.invalid:443 HTTP/1.1\\r\\n\\r\\n")
print(proxy.recv(12).decode())
channel = socket.socket(fileno=int(os.environ["{SOCKET}"]))
channel.sendall(b"hello")
print(channel.recv(9).decode())
serving = socket.create_server(("127.0.0.1", {_SERVED}))
serving.settimeout({TRIAL_S / 2})
print(serving.accept()[0].recv(9).decode())
"""
WENT = (b"HTTP/1.1 403", b"known", b"came")
"""The lines that `TRIAL_OF_WAYS` prints: the proxy answered, the channel answered, and a connection came in."""


class ChannelTrial:
    """The server's end of the trial's channel: answers whether the sender is a process of the sandbox."""

    def begin(self) -> Mapping[str, str]:
        """Gives no variables."""
        return {}

    def serve(self, ours: socket.socket, holds: Holds) -> None:
        """Answers once."""
        _, control, _, _ = ours.recvmsg(9, socket.CMSG_SPACE(_CREDENTIALS.size))
        senders = [_CREDENTIALS.unpack(data)[0] for _, kind, data in control if kind == socket.SCM_CREDENTIALS]
        ours.sendall(b"known" if any(map(holds, senders)) else b"unknown")


async def come_in(loopback: Loopback) -> None:
    """Connects to the port that the trial serves, as soon as it is open, and holds the connection until cancelled."""
    while _SERVED not in await asyncio.to_thread(loopback.ports):  # noqa: ASYNC110  nothing tells of a port
        await asyncio.sleep(_LOOK_S)
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as coming:
        coming.setblocking(False)
        async with loopback.serving(listener, _SERVED):
            await loop.sock_connect(coming, listener.getsockname())
            await loop.sock_sendall(coming, b"came")
            await loop.create_future()
