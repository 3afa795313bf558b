"""`workspace/didChangeWorkspaceFolders`: folders come and go while the editor runs (protocol.md §3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.lsp.client import folder_roots

if TYPE_CHECKING:
    from remit_server.lsp.server import RemitServer


def changed(ls: RemitServer, params: lsp.DidChangeWorkspaceFoldersParams) -> None:
    """Open the folders that came, and close those that went."""
    ls.change_folders(folder_roots(params.event.added), folder_roots(params.event.removed))
