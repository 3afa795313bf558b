"""Puts policy files in force when they change on disk, and tells the editor (POL-11)."""

from __future__ import annotations

import asyncio
import importlib
from contextlib import aclosing
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.transports.lsp.buffers.policy_files import settings_here

if TYPE_CHECKING:  # slow to import
    from remit_server.runtime.ports import Notice
    from remit_server.transports.lsp.connection import Connection
    from remit_server.transports.lsp.folders import WorkspaceFolder
    from remit_server.transports.lsp.runtime_slot import RuntimeSlot


async def watch_policy(connection: Connection, folder: WorkspaceFolder) -> None:
    """Watches the files of a folder's policy until cancelled, or the folder is closed."""
    await asyncio.to_thread(importlib.import_module, "remit_server.runtime.policy.policy_watcher")
    from remit_server.runtime.policy.policy_watcher import policy_changes

    settings = settings_here(folder.root)
    if settings is None:
        return
    async with aclosing(policy_changes(settings)) as changes:
        async for _ in changes:
            if folder.slot.closed:
                return
            notice = await _reload(folder.slot)
            if notice is not None:
                _tell(connection, notice)


async def _reload(slot: RuntimeSlot) -> Notice | None:
    """Reloads the policy. Returns the outcome, where it is new.

    A runtime that was not opened yet reads the files when it is; one that failed to open is opened now, if possible.
    """
    from remit_server.errors import RemitError
    from remit_server.runtime.ports import Notice

    if slot.unopened:
        return None
    await slot.settle()  # whoever asked for it is told of its failure: that is not news
    before = slot.failure
    try:
        runtime = await slot.get()
        notice = await runtime.reload_policy()
    except RemitError as error:
        known = isinstance(before, RemitError) and before.payload() == error.payload()
        return None if known else Notice(good=False, message=f"{error.what}: {error.why}; {error.fix}")
    return notice if before is None else notice or Notice(good=True, message="The policy can be used again")


def _tell(connection: Connection, notice: Notice) -> None:
    kind = lsp.MessageType.Info if notice.good else lsp.MessageType.Error
    connection.show(kind, notice.message)
