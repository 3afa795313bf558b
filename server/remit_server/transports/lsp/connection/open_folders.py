"""Opens and closes the workspace folders of a connection, each with its own runtime (LSP-06). While a folder is open,
changes of its policy and configuration on disk take effect, and the person is told (POL-11, CFG-05).
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Collection, Iterable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.transports.lsp.buffers.documents import EditorDocuments
from remit_server.transports.lsp.buffers.own_files import settings_here
from remit_server.transports.lsp.buffers.uris import NotHere, Root
from remit_server.transports.lsp.client_requests.folder_requests import EditorCode, ask_settings, put_edit, settle_trust
from remit_server.transports.lsp.client_requests.registrations import follow_setting
from remit_server.transports.lsp.connection.connection import Connection
from remit_server.transports.lsp.connection.folders import RuntimeSlot, WorkspaceFolder

if TYPE_CHECKING:
    from remit_server.runtime.notice import Notice
    from remit_server.runtime.runtime import Runtime


logger = logging.getLogger(__name__)

_CLOSE_S = 15.0


def change_folders(connection: Connection, added: Collection[Root], removed: Collection[Root]) -> None:
    """Opens and closes workspace folders. The running turns of a closed folder are cancelled."""
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
    """Watches the policy and configuration of `folders`, and warns of the folders `elsewhere`, on no disk here."""
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
    """Makes the folder of `root`. The editor names it `named`, so absolute paths below `named` are paths of it too."""
    documents = EditorDocuments(root, connection.buffers, lambda request: put_edit(connection, request))
    code = EditorCode(connection, root)

    async def open_trusted() -> Runtime:
        await settle_trust(connection, root)
        await ask_settings(connection, root)
        return await connection.open_runtime(
            root, documents, code, lambda: connection.editor_settings.get(root, {}), named
        )

    return WorkspaceFolder(root, documents, RuntimeSlot(open_trusted))


async def watch_own_files(connection: Connection, folder: WorkspaceFolder) -> None:
    """Watches the files of a folder's policy and configuration until it is cancelled or the folder is closed."""
    await asyncio.to_thread(importlib.import_module, "remit_server.runtime.own_files.own_file_watcher")
    from remit_server.runtime.own_files.own_file_watcher import own_file_changes

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
    """Puts a folder's policy and configuration in force as they are now, and tells the person the outcome."""
    for notice in await read_again(slot):
        _tell(connection, notice)


async def runtime_of_turn(connection: Connection, folder: WorkspaceFolder) -> Runtime:
    """Returns the folder's runtime, with policy and configuration as they are on disk now, because a turn may begin
    before the watcher notices a change. Raises RemitError."""
    if folder.slot.opened is not None:
        await reload_folder(connection, folder.slot)
    return await folder.slot.get()


async def read_again(slot: RuntimeSlot) -> Sequence[Notice]:
    """Reads policy and configuration again. Returns the notices for the person; none if the outcome is not new.

    A runtime that was never requested reads the files when it opens; one that failed to open is tried again now.
    """
    from remit_server.errors import RemitError
    from remit_server.runtime.notice import Notice

    if slot.unopened:
        return ()
    await slot.settle()  # the caller that started this opening is told of its failure, so it is not new here
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
