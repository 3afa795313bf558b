"""`textDocument/inlineCompletion`: what the model would write at the cursor, if this is switched on (LSP-12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.transports.lsp.buffers.edits import Place, offset_at

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection.connection import Connection

OPTIONS = lsp.InlineCompletionOptions()


async def complete(connection: Connection, params: lsp.InlineCompletionParams) -> lsp.InlineCompletionList | None:
    """Returns one completion, or None. It is for the document's present text, so that a change of the document or the
    next request cancels it.

    If the client shows a proposal of its own as chosen, the completion continues that proposal.
    """
    document = connection.document(params.text_document.uri)
    if document is None:
        return None
    here = lsp.Range(params.position, params.position)
    chosen = params.context.selected_completion_info
    place, said = (here, "") if chosen is None else (chosen.range, chosen.text)
    start, end = (
        offset_at(document.text, Place(at.line, at.character), connection.client.encoding)
        for at in (place.start, place.end)
    )
    text, offset = document.text[:start] + said + document.text[end:], start + len(said)
    runtime = await connection.runtime(str(document.folder.root))
    found = await connection.completions.run(document.uri, runtime.complete(document.path, text, offset))
    if found is None:
        return None
    return lsp.InlineCompletionList(items=[lsp.InlineCompletionItem(insert_text=said + found, range=place)])
