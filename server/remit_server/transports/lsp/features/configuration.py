"""`workspace/didChangeConfiguration`: the editor's settings have changed, and count from the next turn on (LSP-15)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from lsprotocol import types as lsp

from remit_server.transports.lsp.client_requests.editor_settings import SECTION, ask_settings
from remit_server.transports.lsp.own_file_watch import reload_folder

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection
    from remit_server.transports.lsp.rpc.custom_methods import Json


async def changed(connection: Connection, params: lsp.DidChangeConfigurationParams) -> None:
    """Asks for the settings of each folder in use again; a client that is not asked has sent them along."""
    sent: Json = params.settings
    if isinstance(sent, dict):
        connection.sent_settings = cast("dict[str, Json]", sent).get(SECTION)
    for folder in connection.folders:
        if not folder.slot.unopened and await ask_settings(connection, folder.root):
            await reload_folder(connection, folder.slot)
