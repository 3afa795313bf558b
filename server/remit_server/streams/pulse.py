"""The messages between the bootstrap and the server: pings of `remit bootstrap`, answered on the event loop, so that
a loop that hangs does not answer (CLI-12).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

SOCKET = "REMIT_BOOTSTRAP_SOCKET"
"""The environment variable that names the socket where the bootstrap listens for the server."""
INSIDE = "/run/remit-bootstrap"
"""The folder of that socket, for a server in a container."""
PING, PONG, BYE = b"ping\n", b"pong\n", b"bye\n"


def is_in_container() -> bool:
    """Returns whether `remit bootstrap` runs this server in a container, where process ids are others."""
    return os.environ.get(SOCKET, "").startswith(INSIDE)


def has_bootstrap() -> bool:
    """Returns whether `remit bootstrap` keeps this server up, and may have started it in place of another."""
    return bool(os.environ.get(SOCKET))


@asynccontextmanager
async def answering_pings() -> AsyncGenerator[None]:
    """Answers pings while the block runs, and says so if it ends in order; without a bootstrap does nothing."""
    path = os.environ.get(SOCKET)
    if not path:
        yield
        return
    try:
        reader, writer = await asyncio.open_unix_connection(path)
    except OSError:  # the bootstrap has gone, so nobody asks
        yield
        return
    answering = asyncio.create_task(_answer(reader, writer))
    try:
        yield
        writer.write(BYE)
        with suppress(OSError):
            await writer.drain()
    finally:
        answering.cancel()
        writer.close()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while await reader.readline() == PING:
            writer.write(PONG)
            await writer.drain()
