"""`remit worker` as a process: a runtime for one workspace, and requests from a queue until a signal (TRN-31)."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

from remit_server.errors import SetupError
from remit_server.runtime.opening import open_runtime
from remit_server.runtime.own_files.folder_record import workspace_identity
from remit_server.runtime.settings import Settings
from remit_server.runtime.turns.streamed_client import Approving
from remit_server.transports.queue.broker import Address, Tell, connected
from remit_server.transports.queue.names import Names
from remit_server.transports.queue.worker import Worker, WorkerOptions
from remit_server.workspace.ports import NoDocuments


def serve(
    read: Callable[[], Settings],
    address: Address,
    names: Names,
    tell: Tell,
    *,
    approving: Approving,
    turns: int,
    lease_s: float,
    attempts: int,
) -> int:
    """Works until SIGINT or SIGTERM. Raises SetupError, also if the broker sends this worker away."""

    async def work() -> int:
        settings = read()
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        async with connected(address, names, "worker", tell) as broker:
            await broker.prepare(lease_s)
            runtime = await open_runtime(settings, NoDocuments(), read_again=read)
            sent_away = asyncio.create_task(broker.closed.wait())
            sent_away.add_done_callback(lambda _: stop.set())
            try:
                place = workspace_identity(settings.workspace, settings.state).id or ""
                options = WorkerOptions(
                    approving, turns, lease_s, attempts, place, locks=settings.state / "queue" / names.queue
                )
                tell(f"works on `{names.queue}` in {settings.workspace}")
                await Worker(runtime, broker, options, tell).work(stop)
                if broker.closed.is_set():
                    raise _sent_away()
            finally:
                sent_away.cancel()
                await runtime.close()
        return 0

    return asyncio.run(work())


def _sent_away() -> SetupError:
    """Returns the error for a worker that the broker sent away, for example because its credentials have expired."""
    return SetupError("the worker has ended", "the broker disconnected it", "look at the broker's log")
