"""`remit http` as a process: its socket, its token, its signals, its end (TRN-06)."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from remit_server.errors import SetupError, os_reason
from remit_server.runtime.opening import open_runtime
from remit_server.runtime.settings import Settings
from remit_server.transports.http.app import MOST_BYTES, make_app
from remit_server.transports.http.guard import Door, Guard
from remit_server.workspace.ports import NoDocuments

ADDRESS = "127.0.0.1"
TOKEN_FILE = "http-token-{}"  # noqa: S105  a file's name, by port: a folder may be served twice
MOST_CONNECTIONS = 200
MOST_HEAD = 64 << 10


def serve(read: Callable[[], Settings], port: int, tell: Callable[[str, Path], None], *, asks: bool) -> int:
    """Serves on this machine's own address until SIGINT or SIGTERM; `tell` is given the address of the page, with the
    token behind `#`, which no browser sends, and the file that holds the token. Raises SetupError."""
    with _listen(port) as listening:
        return asyncio.run(_serve(read, listening, tell, asks=asks))


async def _serve(
    read: Callable[[], Settings], listening: socket.socket, tell: Callable[[str, Path], None], *, asks: bool
) -> int:
    settings = read()
    port = listening.getsockname()[1]
    door = Door(secrets.token_urlsafe(32), frozenset({f"{ADDRESS}:{port}", f"localhost:{port}"}))
    runtime = await open_runtime(settings, NoDocuments(), read_again=read)
    file = settings.state / TOKEN_FILE.format(port)
    _write_privately(file, door.token)
    try:
        config = uvicorn.Config(
            Guard(make_app(runtime, asks=asks), door),
            log_config=None,
            access_log=False,
            lifespan="off",
            http="h11",
            ws="websockets-sansio",
            ws_max_size=MOST_BYTES,
            h11_max_incomplete_event_size=MOST_HEAD,
            limit_concurrency=MOST_CONNECTIONS,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=2,
        )
        tell(f"http://{ADDRESS}:{port}/#{door.token}", file)
        await uvicorn.Server(config).serve(sockets=[listening])
    finally:
        file.unlink(missing_ok=True)
        await runtime.close()
    return 0


def _listen(port: int) -> socket.socket:
    listening = socket.socket()
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((ADDRESS, port))
        listening.listen(128)  # whoever reads the address may come at once
    except OSError as error:
        listening.close()
        fix = "give another one by `--port`, or 0 for any that is free"
        raise SetupError(f"cannot listen on port {port}", os_reason(error), fix) from error
    return listening


def _write_privately(file: Path, text: str) -> None:
    """Writes a new file that nobody else can read, in the place of what was there."""
    try:
        file.unlink(missing_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as written:
            written.write(text + "\n")
    except OSError as error:
        raise SetupError("the token cannot be kept", f"{file}: {os_reason(error)}", "free some space") from error
