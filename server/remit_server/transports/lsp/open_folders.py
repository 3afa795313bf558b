"""Opens and closes the workspace folders of a connection, each with a runtime of its own (LSP-06)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.transports.lsp.buffers.documents import EditorDocuments
from remit_server.transports.lsp.buffers.uris import NotHere, Root
from remit_server.transports.lsp.client_requests.folder_requests import EditorCode, ask_settings, put_edit, settle_trust
from remit_server.transports.lsp.connection import Connection
from remit_server.transports.lsp.folders import WorkspaceFolder
from remit_server.transports.lsp.own_file_watch import watch_own_files
from remit_server.transports.lsp.runtime_slot import RuntimeSlot

if TYPE_CHECKING:  # the port imports the contract, which is slow
    from remit_server.runtime.ports import AgentRuntime

logger = logging.getLogger(__name__)

_CLOSE_S = 15.0


def change_folders(connection: Connection, added: Collection[Root], removed: Collection[Root]) -> None:
    """Opens and closes workspace folders. Turns that run in a closed one are cancelled."""
    before = connection.folders
    connection.folders = before.without(removed)
    for folder in before:
        if folder.root not in connection.folders.by_root:
            connection.in_background(close_folder(folder))
    new = [_make_folder(connection, *named) for named in connection.folders.new_roots(added).items()]
    connection.folders = connection.folders.with_added(new, added)
    if connection.ready:
        attend_folders(connection, new, (root for root in added if isinstance(root, NotHere)))


def attend_folders(connection: Connection, folders: Iterable[WorkspaceFolder], elsewhere: Iterable[NotHere]) -> None:
    """Watches the policies of folders, and reports those that are not on this machine."""
    for folder in folders:
        connection.in_background(watch_own_files(connection, folder))
    for root in elsewhere:
        error = root.error()
        connection.show(lsp.MessageType.Warning, f"{error.what}: {error.why}; {error.fix}")


async def close_folder(folder: WorkspaceFolder) -> None:
    """Closes a folder's runtime; gives up after a time limit."""
    try:
        await asyncio.wait_for(folder.slot.close(), _CLOSE_S)
    except TimeoutError:
        logger.exception("a runtime did not close within %d s", _CLOSE_S)


def _make_folder(connection: Connection, root: Path, named: Path) -> WorkspaceFolder:
    """Makes the folder of `root`, which the editor names `named`: absolute paths below that are paths of it too."""
    documents = EditorDocuments(root, connection.buffers, lambda request: put_edit(connection, request))
    code = EditorCode(connection, root)

    async def open_trusted() -> AgentRuntime:
        await settle_trust(connection, root)
        await ask_settings(connection, root)
        return await connection.open_runtime(
            root, documents, code, lambda: connection.editor_settings.get(root, {}), named
        )

    return WorkspaceFolder(root, documents, RuntimeSlot(open_trusted))
