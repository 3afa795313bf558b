"""`remit stdio` as a process: one client, lines of JSON in and out, until its input ends (TRN-04)."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

from remit_server.contract.refused import refuse_request
from remit_server.contract.streamed import ServerMessage
from remit_server.runtime.opening import open_runtime
from remit_server.runtime.settings import Settings
from remit_server.runtime.turns.streamed_client import Approving, StreamedClient
from remit_server.runtime.turns.turn_streams import TurnStreams
from remit_server.streams import standard_streams
from remit_server.streams.line_streams import LONGEST_LINE, LineReader, LineWriter
from remit_server.uninterrupted import wait_for_any
from remit_server.workspace.ports import NoDocuments

_END_S = 10.0
"""The seconds that cancelled turns, and then the client that reads the last lines, may take at the process's end."""

_TOO_LONG = refuse_request(
    "this line was refused", f"it has more than {LONGEST_LINE >> 20} MiB", "attach files by their names"
)


def serve(read: Callable[[], Settings], approving: Approving) -> int:
    """Serves one client on the standard streams. Returns 0 however it ends. Raises SetupError."""
    in_fd, out_fd = standard_streams.claim()
    return asyncio.run(_converse(read, approving, in_fd, out_fd))


async def _converse(read: Callable[[], Settings], approving: Approving, in_fd: int, out_fd: int) -> int:
    runtime = await open_runtime(read(), NoDocuments(), read_again=read)
    input_ended, lost = asyncio.Event(), asyncio.Event()
    writer = LineWriter(out_fd, lost.set)

    async def send(message: ServerMessage) -> None:
        await writer.write(message.to_json() + b"\n")

    async def say_goodbye() -> None:
        await send(ServerMessage(bye=True))
        await writer.drain()

    client = StreamedClient(runtime, TurnStreams(runtime), send, approving)

    def take(line: bytes | None) -> asyncio.Task[None] | None:
        return asyncio.create_task(send(ServerMessage(error=_TOO_LONG))) if line is None else client.take(line)

    def stop() -> None:
        runtime.cancel()
        client.shut_down.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    writer.start()
    LineReader(in_fd, take, input_ended.set).start()
    try:
        await wait_for_any(input_ended, client.shut_down, lost)
        finishing = asyncio.create_task(client.finish())
        # A client that sends nothing more may still read, and a signal may end the process meanwhile.
        meanwhile = () if client.shut_down.is_set() else (client.shut_down,)
        await wait_for_any(lost, finishing, *meanwhile)
        if not lost.is_set():
            await asyncio.wait((finishing,), timeout=_END_S)
            await asyncio.wait((asyncio.create_task(say_goodbye()),), timeout=_END_S)
    finally:
        await runtime.close()
        await client.close()
    return 0
