"""Text sync: the editor's buffers as it reports them (FILE-03)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.transports.lsp.buffers.edits import Edit, Place
from remit_server.transports.lsp.features import diagnostics

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection


def did_open(connection: Connection, params: lsp.DidOpenTextDocumentParams) -> None:
    """Handles `textDocument/didOpen`."""
    document = params.text_document
    connection.buffers.open(document.uri, document.version, document.text)
    diagnostics.check_opened(connection, document)


def did_change(connection: Connection, params: lsp.DidChangeTextDocumentParams) -> None:
    """Handles `textDocument/didChange`."""
    document, edits = params.text_document, [_edit(c) for c in params.content_changes]
    connection.completions.drop(document.uri)
    connection.buffers.change(document.uri, document.version, edits)
    diagnostics.check_changed(connection, document, edits)


def did_save(connection: Connection, params: lsp.DidSaveTextDocumentParams) -> None:
    """Handles `textDocument/didSave`."""
    diagnostics.check_saved(connection, params.text_document.uri)


def did_close(connection: Connection, params: lsp.DidCloseTextDocumentParams) -> None:
    """Handles `textDocument/didClose`."""
    connection.completions.drop(params.text_document.uri)
    connection.buffers.close(params.text_document.uri)
    diagnostics.clear_closed(connection, params.text_document.uri)


def _edit(change: lsp.TextDocumentContentChangeEvent) -> Edit | str:
    if isinstance(change, lsp.TextDocumentContentChangeWholeDocument):
        return change.text
    start, end = change.range.start, change.range.end
    return Edit(Place(start.line, start.character), Place(end.line, end.character), change.text)
