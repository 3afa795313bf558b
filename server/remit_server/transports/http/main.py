"""`remit http` as a process: its runtime, and its end (TRN-06)."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path

from remit_server.local_http.serving import listen, serve_app
from remit_server.runtime.opening import open_runtime
from remit_server.runtime.settings import Settings
from remit_server.transports.http.app import PAGE, make_app
from remit_server.workspace.ports import NoDocuments


def serve(read: Callable[[], Settings], port: int, tell: Callable[[str, Path], None], *, asks: bool) -> int:
    """Serves on this machine's own address until SIGINT or SIGTERM; `tell` is given the address of the page, with the
    token behind `#`, which no browser sends, and the file that holds the token. Raises SetupError."""
    with listen(port) as listening:
        return asyncio.run(_serve(read, listening, tell, asks=asks))


async def _serve(
    read: Callable[[], Settings], listening: socket.socket, tell: Callable[[str, Path], None], *, asks: bool
) -> int:
    settings = read()
    runtime = await open_runtime(settings, NoDocuments(), read_again=read)

    def tell_page(address: str, token: str, file: Path) -> None:
        tell(f"{address}/#{token}", file)

    try:
        app = make_app(runtime, settings, asks=asks)
        await serve_app(app, listening, settings.state, tell_page, shown=frozenset(PAGE))
    finally:
        await runtime.close()
    return 0
