"""`remit acp` as a process: one client on the standard streams, until its input ends (TRN-10)."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

from remit_server.runtime.settings import Settings, existing_folder
from remit_server.streams import standard_streams
from remit_server.transports.acp.agent import Agent
from remit_server.transports.acp.client_files import Access, ClientDocuments
from remit_server.transports.acp.folders import Folders
from remit_server.transports.acp.sdk import Lines
from remit_server.uninterrupted import wait_for_any

_END_S = 10.0
"""The seconds that cancelled turns may take to end when a signal ends the process."""


def serve(read: Callable[[Path], Settings]) -> int:
    """Serves one client on the standard streams. Returns 0 however it ends. Raises SetupError."""
    in_fd, out_fd = standard_streams.claim()
    return asyncio.run(_converse(read, in_fd, out_fd))


async def _converse(read: Callable[[Path], Settings], in_fd: int, out_fd: int) -> int:
    lost, told = asyncio.Event(), asyncio.Event()
    access, lines = Access(), Lines(in_fd, out_fd, lost.set)
    folders = Folders(read, lambda root: ClientDocuments(root, access, lambda: agent.client), existing_folder(Path()))
    agent = Agent(folders, access, lines)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    lines.start()
    listening = asyncio.create_task(agent.client.listen())
    try:
        await wait_for_any(listening, lost, told)
        if told.is_set():
            folders.cancel()
        # A client that sends nothing more may still read. Running turns go on, but nobody is asked any more.
        quiet = asyncio.create_task(lines.answered())
        if told.is_set():
            await wait_for_any(quiet, lost, within_s=_END_S)
        else:
            await wait_for_any(quiet, lost, told)
    finally:
        agent.lost = lost.is_set()
        folders.cancel()
        await agent.client.close()
        listening.cancel()
        await folders.close()
    return 0
