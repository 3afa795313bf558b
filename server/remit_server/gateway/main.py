"""`remit gateway` as a process: streams, signals, the log, and the end (000 §Server Lifecycle, Signal Handling)."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from contextlib import suppress
from functools import partial

from remit_server.errors import SetupError
from remit_server.gateway.lines import LineReader, LineWriter
from remit_server.gateway.log import PrefixedLines, ThreadedHandler
from remit_server.gateway.server import Gateway, Limits
from remit_server.models.availability import unavailable_because
from remit_server.models.choose import choose_provider

log = logging.getLogger(__name__)

_CLOSE_S = 6.0


def serve(model: str, limits: Limits, log_prefix: str) -> int:
    """Serve one client on the standard streams; 0 however it ends.

    Raises SetupError for a script that cannot be read, or where a standard stream is closed.
    """
    handler = ThreadedHandler(2)
    handler.setFormatter(PrefixedLines(log_prefix))
    logging.basicConfig(handlers=[handler], level=logging.INFO)
    try:
        in_fd, out_fd = _claim_standard_streams()
    except OSError as error:
        fix = "start it with pipes for standard input and output"
        raise SetupError("there is nobody to serve", "standard input or output is closed", fix) from error
    return asyncio.run(_converse(model, limits, in_fd, out_fd))


async def _converse(model: str, limits: Limits, in_fd: int, out_fd: int) -> int:
    loop = asyncio.get_running_loop()
    provider = choose_provider(model)
    tasks: set[asyncio.Task[None]] = set()

    async def availability() -> str | None:
        return await asyncio.to_thread(unavailable_because, model)

    def lost() -> None:
        log.warning("Nobody reads any more")
        gateway.ended.set()

    writer = LineWriter(out_fd, lost)
    gateway = Gateway(provider, writer.write, availability, limits)

    def take(line: bytes | None) -> None:
        gateway.take(line, partial(reader.done, 0 if line is None else len(line)))

    reader = LineReader(in_fd, take, lambda: tasks.add(asyncio.create_task(gateway.finish())))
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


def _claim_standard_streams() -> tuple[int, int]:
    """Take standard input and output for the protocol alone: a stray `print` goes to the log, and no child inherits."""
    in_fd, out_fd = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return in_fd, out_fd
