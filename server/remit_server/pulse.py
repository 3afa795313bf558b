"""What the bootstrap and the server say to each other: pings of `remit bootstrap`, answered on the event loop, so that
a loop that hangs does not answer (CLI-12).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

SOCKET = "REMIT_BOOTSTRAP_SOCKET"
"""Names the socket at which the server answers."""
INSIDE = "/run/remit-bootstrap"
"""Where a server that runs in a container has it."""
PING, PONG, BYE = b"ping\n", b"pong\n", b"bye\n"


def is_in_container() -> bool:
    """Returns whether `remit bootstrap` runs this server in a container, where numbers of processes are others."""
    return os.environ.get(SOCKET, "").startswith(INSIDE)


def has_bootstrap() -> bool:
    """Returns whether `remit bootstrap` keeps this server up, and may have started it in place of another."""
    return bool(os.environ.get(SOCKET))


@asynccontextmanager
async def answering_pings() -> AsyncGenerator[None]:
    """Answers until the end, which is said where it is in order; without a bootstrap nothing is done."""
    path = os.environ.get(SOCKET)
    if not path:
        yield
        return
    try:
        reader, writer = await asyncio.open_unix_connection(path)
    except OSError:  # it has gone: nobody asks
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
