"""`remit mcp` as a process: serves one client on a pipe, or clients at a port of this machine (TRN-20, TRN-25)."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from remit_server.local_http.serving import listen, serve_app
from remit_server.runtime.opening import open_runtime
from remit_server.runtime.settings import Settings
from remit_server.streams import standard_streams
from remit_server.transports.mcp.lines import serve_lines
from remit_server.transports.mcp.server import make_server
from remit_server.transports.mcp.web import PATH, open_app
from remit_server.uninterrupted import wait_for_any
from remit_server.workspace.ports import NoDocuments


@dataclass(frozen=True, slots=True)
class McpOffer:
    """What the server offers: without `asks`, a call that needs approval is denied; with `turns`, there
    is `run_turn`."""

    settings: Callable[[], Settings]
    asks: bool
    turns: bool


def serve_pipe(offer: McpOffer) -> int:
    """Serves one client on the standard streams, until its input ends or a signal. Raises SetupError."""
    in_fd, out_fd = standard_streams.claim()
    return asyncio.run(_serve_pipe(offer, in_fd, out_fd))


async def _serve_pipe(offer: McpOffer, in_fd: int, out_fd: int) -> int:
    runtime = await open_runtime(offer.settings(), NoDocuments(), read_again=offer.settings)
    try:
        server = make_server(runtime, offer.settings, asks=offer.asks, turns=offer.turns)
        over = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, over.set)
        serving = asyncio.create_task(serve_lines(server, in_fd, out_fd, over.set))
        await wait_for_any(serving, over)
        serving.cancel()
        await asyncio.wait((serving,))
    finally:
        await runtime.close()
    return 0


def serve_http(offer: McpOffer, port: int, tell: Callable[[str, Path], None]) -> int:
    """Serves on this machine's own address until SIGINT or SIGTERM; `tell` is given the address of the server and the
    file that holds the token. Raises SetupError."""
    with listen(port) as listening:
        return asyncio.run(_serve_http(offer, listening, tell))


async def _serve_http(offer: McpOffer, listening: socket.socket, tell: Callable[[str, Path], None]) -> int:
    settings = offer.settings()
    runtime = await open_runtime(settings, NoDocuments(), read_again=offer.settings)

    def tell_address(address: str, _token: str, file: Path) -> None:
        tell(f"{address}{PATH}", file)

    try:
        server = make_server(runtime, offer.settings, asks=offer.asks, turns=offer.turns)
        async with open_app(server) as app:
            await serve_app(app, listening, settings.state, tell_address)
    finally:
        await runtime.close()
    return 0
