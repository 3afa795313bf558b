"""`workspace/didChangeWorkspaceFolders`: folders are added and removed while the editor runs (LSP-06)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.transports.lsp.client import folder_roots
from remit_server.transports.lsp.open_folders import change_folders

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection


def changed(connection: Connection, params: lsp.DidChangeWorkspaceFoldersParams) -> None:
    """Opens the added folders, and closes the removed ones."""
    change_folders(connection, folder_roots(params.event.added), folder_roots(params.event.removed))
