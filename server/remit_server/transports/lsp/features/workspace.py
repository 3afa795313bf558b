"""Handles opened and closed workspace folders, and changes of the editor's configuration (LSP-06, LSP-15)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from lsprotocol import types as lsp

from remit_server.transports.lsp.client_requests.folder_requests import SECTION, ask_settings
from remit_server.transports.lsp.connection.client import folder_roots
from remit_server.transports.lsp.connection.open_folders import change_folders, reload_folder

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection.connection import Connection
    from remit_server.transports.lsp.rpc.custom_methods import Json


async def configuration_changed(connection: Connection, params: lsp.DidChangeConfigurationParams) -> None:
    """Takes over the settings of each folder in use again. A client that cannot be asked for them sends them along."""
    sent: Json = params.settings
    if isinstance(sent, dict):
        connection.sent_settings = cast("dict[str, Json]", sent).get(SECTION)
    for folder in connection.folders:
        if not folder.slot.unopened and await ask_settings(connection, folder.root):
            await reload_folder(connection, folder.slot)


def folders_changed(connection: Connection, params: lsp.DidChangeWorkspaceFoldersParams) -> None:
    """Opens the added folders, and closes the removed ones."""
    change_folders(connection, folder_roots(params.event.added), folder_roots(params.event.removed))
