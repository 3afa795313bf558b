"""Has policy and configuration count when they change on disk, and tells the editor (POL-11, CFG-05)."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.transports.lsp.buffers.own_files import settings_here
from remit_server.transports.lsp.client_requests.registrations import follow_setting

if TYPE_CHECKING:  # slow to import
    from remit_server.runtime.ports import AgentRuntime, Notice
    from remit_server.transports.lsp.connection import Connection
    from remit_server.transports.lsp.folders import WorkspaceFolder
    from remit_server.transports.lsp.runtime_slot import RuntimeSlot


async def watch_own_files(connection: Connection, folder: WorkspaceFolder) -> None:
    """Watches the files of a folder's policy and configuration until cancelled, or the folder is closed."""
    await asyncio.to_thread(importlib.import_module, "remit_server.runtime.own_file_watcher")
    from remit_server.runtime.own_file_watcher import own_file_changes

    settings = settings_here(folder.root)
    if settings is None:
        return
    async with aclosing(own_file_changes(settings)) as changes:
        async for _ in changes:
            if folder.slot.closed:
                return
            await reload_folder(connection, folder.slot)
            await follow_setting(connection, folder.root)


async def reload_folder(connection: Connection, slot: RuntimeSlot) -> None:
    """Has a folder's policy and configuration count as they are now, and tells what came of it."""
    for notice in await read_again(slot):
        _tell(connection, notice)


async def runtime_of_turn(connection: Connection, folder: WorkspaceFolder) -> AgentRuntime:
    """Returns the folder's runtime with policy and configuration as they are on disk: the turn may begin before the
    watcher hears of a change. Raises RemitError."""
    if folder.slot.opened is not None:
        await reload_folder(connection, folder.slot)
    return await folder.slot.get()


async def read_again(slot: RuntimeSlot) -> Sequence[Notice]:
    """Reads the files again. Returns the outcome, where it is new.

    A runtime that was not opened yet reads the files when it is; one that failed to open is opened now, if possible.
    """
    from remit_server.errors import RemitError
    from remit_server.runtime.ports import Notice

    if slot.unopened:
        return ()
    await slot.settle()  # whoever asked for it is told of its failure: that is not news
    before = slot.failure
    try:
        runtime = await slot.get()
        notices = await runtime.reload()
    except RemitError as error:
        known = isinstance(before, RemitError) and before.payload() == error.payload()
        return () if known else (Notice(good=False, message=f"{error.what}: {error.why}; {error.fix}"),)
    again = Notice(good=True, message="Policy and configuration can be used again")
    return notices if before is None else notices or (again,)


def _tell(connection: Connection, notice: Notice) -> None:
    kind = lsp.MessageType.Info if notice.good else lsp.MessageType.Error
    connection.show(kind, notice.message)
