"""Serves an application on this machine's own address until a signal (TRN-06); makes its socket and its token."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from remit_server.errors import SetupError, os_reason
from remit_server.local_http.guard import Door, Guard

ADDRESS = "127.0.0.1"
TOKEN_FILE = "http-token-{}"  # noqa: S105  a file's name, by port: a folder may be served twice
MOST_CONNECTIONS = 200
MOST_HEAD = 64 << 10
MOST_BYTES = 16 << 20

Tell = Callable[[str, str, Path], None]
"""Takes the address, the token of this start, and the file that holds the token."""


async def serve_app(
    app: ASGIApp, listening: socket.socket, state: Path, tell: Tell, *, shown: frozenset[str] = frozenset()
) -> None:
    """Serves behind the guard until SIGINT or SIGTERM; the paths in `shown` may be read without the token. Raises
    SetupError."""
    port = listening.getsockname()[1]
    door = Door(secrets.token_urlsafe(32), frozenset({f"{ADDRESS}:{port}", f"localhost:{port}"}), shown)
    file = state / TOKEN_FILE.format(port)
    _write_privately(file, door.token)
    try:
        config = uvicorn.Config(
            Guard(app, door),
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
        tell(f"http://{ADDRESS}:{port}", door.token, file)
        await _Server(config).serve(sockets=[listening])
    finally:
        file.unlink(missing_ok=True)


class _Server(uvicorn.Server):
    """A server that a signal ends in order; uvicorn's own class raises the signal again after its end."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Makes SIGINT and SIGTERM end the server while the context lasts."""
        loop, signals = asyncio.get_running_loop(), (signal.SIGINT, signal.SIGTERM)
        for number in signals:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in signals:
                loop.remove_signal_handler(number)


def listen(port: int) -> socket.socket:
    """Returns a socket that listens on this machine's own address; 0 means any free port. Raises SetupError."""
    listening = socket.socket()
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((ADDRESS, port))
        listening.listen(128)  # clients that read the address may connect at once
    except (OSError, OverflowError) as error:
        listening.close()
        fix = "choose another port with `--port`, or 0 for any free port"
        why = os_reason(error) if isinstance(error, OSError) else "there is no such port"
        raise SetupError(f"cannot listen on port {port}", why, fix) from error
    return listening


def _write_privately(file: Path, text: str) -> None:
    """Writes a new file that nobody else can read, and replaces an old one."""
    try:
        file.unlink(missing_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as written:
            written.write(text + "\n")
    except OSError as error:
        raise SetupError("the token cannot be kept", f"{file}: {os_reason(error)}", "free some space") from error
