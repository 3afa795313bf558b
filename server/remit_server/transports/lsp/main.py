"""`remit serve`: one language server for one client, on standard input and output or a loopback socket (LSP-01)."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

# Importing lsprotocol creates some 90,000 objects that are never freed, so collecting garbage meanwhile wastes time.
gc.disable()
from remit_server.machine.peers import is_own_user  # noqa: E402
from remit_server.streams import standard_streams  # noqa: E402
from remit_server.streams.log_lines import PrefixedLines, ThreadedHandler  # noqa: E402
from remit_server.streams.pulse import answering_pings  # noqa: E402
from remit_server.transports.lsp.rpc.frames import End, Frame, FrameReader, FrameWriter  # noqa: E402
from remit_server.transports.lsp.server import RemitServer, build_server  # noqa: E402

gc.freeze()
gc.enable()

if TYPE_CHECKING:
    from remit_server.errors import SetupError
    from remit_server.transports.lsp.connection.folders import OpenRuntime

logger = logging.getLogger(__name__)

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_CANCEL_S = 10.0
_FIRST = b"content-"
"""The beginning of a message's first header. A web page may make a browser send data to a loopback address, but only
after an HTTP request line.
"""


def serve(tcp: str | None = None, open_runtime: OpenRuntime | None = None) -> int:
    """Serves one client. Returns the exit code: 0 after `shutdown` and `exit`, 1 when it disconnected.

    `tcp` is `HOST:PORT` on the loopback interface, for debugging. Raises SetupError for any other address, and OSError
    if the server cannot listen on it.
    """
    handler = ThreadedHandler(2)
    handler.setFormatter(PrefixedLines("[remit]"))
    handler.setLevel(logging.WARNING)  # the log file may take lower levels too
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    server = build_server(open_runtime)
    if tcp is None:
        in_fd, out_fd = standard_streams.claim()
        return asyncio.run(_converse(server, in_fd, out_fd))
    with _accept_one(tcp) as connection:
        return asyncio.run(_converse(server, connection.fileno(), connection.fileno()))


async def _converse(server: RemitServer, in_fd: int, out_fd: int) -> int:
    """Handles messages until the connection ends; then cancels running handlers and closes the runtimes.

    Returns the exit code.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def end(code: int) -> None:
        if not ended.done():
            ended.set_result(code)

    def handle(frame: Frame) -> None:
        if isinstance(frame, End):
            end(1)
        elif not ended.done():
            server.rpc.take(frame)

    def lost() -> None:
        with suppress(RuntimeError):  # the loop has closed: the server has ended already
            loop.call_soon_threadsafe(end, 1)

    reader = FrameReader(in_fd, handle)
    writer = FrameWriter(out_fd, lost)
    server.on_end = end
    server.rpc.set_writer(writer)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_IGN:
            continue  # `nohup` has the process ignore it
        with suppress(ValueError, RuntimeError):  # not the main thread: its owner handles the signals
            loop.add_signal_handler(number, end, 128 + number)
    async with answering_pings():
        reader.start()
        code = await ended
        with suppress(TimeoutError):
            await asyncio.wait_for(server.rpc.cancel_running(), _CANCEL_S)
        await server.close()
        await asyncio.to_thread(writer.close)
    return code


def _accept_one(address: str) -> socket.socket:
    """Waits for one client and returns its socket; later ones are refused. A client of another user, or one whose first
    bytes begin no message, is disconnected.
    """
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    if host not in _LOOPBACK or not port.isdigit() or int(port) > 65535:
        raise _not_loopback(address)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, int(port)), family=family, backlog=1) as listener:
        print(f"[remit] listening on {host}:{listener.getsockname()[1]}", file=sys.stderr, flush=True)  # noqa: T201
        while True:
            connection, _peer = listener.accept()
            why = _why_refused(connection)
            if why is None:
                return connection
            connection.close()
            logger.warning("a client was refused: %s", why)


def _why_refused(connection: socket.socket) -> str | None:
    """Returns why the client is refused, or None if it is served (LSP-17). Its user is checked before its bytes."""
    if not is_own_user(connection):
        return "it is not known to be a process of the server's own user"
    return None if _begins_with_a_message(connection) else "it did not begin with the header of a message"


def _begins_with_a_message(connection: socket.socket) -> bool:
    """Checks the first bytes without consuming them."""
    try:
        return connection.recv(len(_FIRST), socket.MSG_PEEK | socket.MSG_WAITALL).lower() == _FIRST
    except OSError:
        return False


def _not_loopback(address: str) -> SetupError:
    from remit_server.errors import SetupError

    return SetupError(
        f"cannot listen on `{address}`", "only this machine's loopback address is served", "give `127.0.0.1:PORT`"
    )
