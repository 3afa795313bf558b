"""Text sync: the editor's buffers as it reports them (protocol.md §3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.lsp.edits import Edit, Place
from remit_server.lsp.features import policy_diagnostics

if TYPE_CHECKING:
    from remit_server.lsp.server import RemitServer


def opened(ls: RemitServer, params: lsp.DidOpenTextDocumentParams) -> None:
    """`textDocument/didOpen`."""
    document = params.text_document
    ls.buffers.opened(document.uri, document.version, document.text)
    policy_diagnostics.opened(ls, document)


def changed(ls: RemitServer, params: lsp.DidChangeTextDocumentParams) -> None:
    """`textDocument/didChange`."""
    document, edits = params.text_document, [_edit(c) for c in params.content_changes]
    ls.buffers.changed(document.uri, document.version, edits)
    policy_diagnostics.changed(ls, document, edits)


def saved(ls: RemitServer, params: lsp.DidSaveTextDocumentParams) -> None:
    """`textDocument/didSave`."""
    policy_diagnostics.saved(ls, params.text_document.uri)


def closed(ls: RemitServer, params: lsp.DidCloseTextDocumentParams) -> None:
    """`textDocument/didClose`."""
    ls.buffers.closed(params.text_document.uri)
    policy_diagnostics.closed(ls, params.text_document.uri)


def _edit(change: lsp.TextDocumentContentChangeEvent) -> Edit | str:
    if isinstance(change, lsp.TextDocumentContentChangeWholeDocument):
        return change.text
    start, end = change.range.start, change.range.end
    return Edit(Place(start.line, start.character), Place(end.line, end.character), change.text)
