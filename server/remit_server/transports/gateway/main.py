"""`remit gateway` as a process: streams, signals, the log, and its end (GW-02).

It also checks whether the model's server on this machine is there, without asking that server anything (GW-01).
"""

from __future__ import annotations

import asyncio
import logging
import signal
from contextlib import suppress
from urllib.parse import urlsplit

from remit_server.models.availability import unavailable_because
from remit_server.models.choose import choose_provider
from remit_server.models.remote.engines import PROVIDERS, parse_reference
from remit_server.streams import standard_streams
from remit_server.streams.line_streams import LineReader, LineWriter
from remit_server.streams.log_lines import PrefixedLines, ThreadedHandler
from remit_server.transports.gateway.server import Gateway, Limits

log = logging.getLogger(__name__)

_CLOSE_S = 6.0


def serve(model: str, limits: Limits, log_prefix: str) -> int:
    """Serves one client on the standard streams. Returns 0 however it ends.

    Raises SetupError for a script that cannot be read, or if a standard stream is closed.
    """
    handler = ThreadedHandler(2)
    handler.setFormatter(PrefixedLines(log_prefix))
    logging.basicConfig(handlers=[handler], level=logging.INFO)
    in_fd, out_fd = standard_streams.claim()
    return asyncio.run(_converse(model, limits, in_fd, out_fd))


async def _converse(model: str, limits: Limits, in_fd: int, out_fd: int) -> int:
    loop = asyncio.get_running_loop()
    provider = choose_provider(model)
    tasks: set[asyncio.Task[None]] = set()

    async def availability() -> str | None:
        return await asyncio.to_thread(unavailable_because, model) or await nobody_listens(model)

    def lost() -> None:
        log.warning("The client no longer reads")
        gateway.ended.set()

    writer = LineWriter(out_fd, lost)

    async def write(data: bytes) -> None:
        await writer.write(data)
        await writer.drain()  # a request has its response only when that is written, and a signal may come next

    gateway = Gateway(provider, write, availability, limits)

    reader = LineReader(in_fd, gateway.take, lambda: tasks.add(asyncio.create_task(gateway.finish())))
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, _end, gateway, number)
    tasks.add(asyncio.create_task(gateway.watch_idle()))
    writer.start()
    reader.start()
    log.info("Gateway ready: %s", provider.name)
    await gateway.ended.wait()
    await gateway.abandon()
    with suppress(TimeoutError):
        await asyncio.wait_for(provider.close(), _CLOSE_S)
    log.info("Shutdown complete")
    return 0


def _end(gateway: Gateway, number: int) -> None:
    log.info("Received %s, shutting down", signal.Signals(number).name)
    gateway.ended.set()


_PATIENCE_S = 2.0
_PORTS = {"http": 80, "https": 443}


async def nobody_listens(reference: str) -> str | None:
    """Returns a sentence if nothing listens at the model's address on this machine. Returns None if something does, or
    if the model is served elsewhere, because then only the first message can show whether it is reachable."""
    remote = parse_reference(reference)
    if remote is None or not remote.is_local:
        return None
    where = urlsplit(remote.endpoint or PROVIDERS[remote.provider].endpoint)
    try:
        async with asyncio.timeout(_PATIENCE_S):
            _, writer = await asyncio.open_connection(where.hostname, where.port or _PORTS[where.scheme])
        writer.close()
    except (OSError, TimeoutError):
        return f"nothing listens at {where.netloc}; start the server, or name another model with `--model`"
    return None
