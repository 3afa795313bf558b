"""`workspace/textDocumentContent`: documents of what waits, and of what was recorded (LSP-14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.transports.lsp.virtual_addresses import SCHEMES
from remit_server.transports.lsp.virtual_documents import note_read, read_document

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection


async def content(connection: Connection, params: lsp.TextDocumentContentParams) -> lsp.TextDocumentContentResult:
    """Returns the text of a document. Raises the error for invalid params where the address is of none."""
    from remit_server.transports.lsp.rpc.refusals import invalid_params

    text = await read_document(connection, params.uri)
    if text is None:
        shown = ", ".join(f"`{scheme}:`" for scheme in SCHEMES)
        why, fix = "the address is of no document here", f"ask for one of {shown} as docs/editors.md spells them"
        raise invalid_params(lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT, why, fix)
    note_read(connection, params.uri)
    return lsp.TextDocumentContentResult(text=text)
