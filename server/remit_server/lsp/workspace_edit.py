"""`workspace/applyEdit` for one edit of one file, always versioned (protocol.md §3, Edits)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from remit_server.lsp.documents import EditRequest
from remit_server.lsp.edits import Place
from remit_server.lsp.wire import ConnectionLost

if TYPE_CHECKING:
    from remit_server.lsp.server import RemitServer

logger = logging.getLogger(__name__)

ANSWER_S = 10.0
"""How long the editor may take to answer."""

_ANNOTATION = "remit"


async def put_edit(ls: RemitServer, request: EditRequest) -> str | None:
    """Put an edit to the editor; returns why it was refused, or None when the editor says that it applied it.

    A client that cannot take versioned edits is sent one all the same: an unversioned one could overwrite what the
    person has just typed, and an edit that was not made is noticed by its content.
    """
    if not ls.client.applies_edits:
        return "the editor does not take edits from a language server"
    params = lsp.ApplyWorkspaceEditParams(edit=_workspace_edit(ls, request), label=request.label)
    try:
        answer = await ls.rpc.ask(lsp.WORKSPACE_APPLY_EDIT, params, ANSWER_S)
    except TimeoutError:
        return f"the editor did not answer within {ANSWER_S:.0f} seconds"
    except ConnectionLost:
        return "the editor is gone"
    except JsonRpcException as error:
        logger.warning("workspace/applyEdit failed: %s", error.message)
        return "the editor answered with an error"
    return None if answer.applied else f"the editor refused the edit: {answer.failure_reason or 'it gave no reason'}"


def _workspace_edit(ls: RemitServer, request: EditRequest) -> lsp.WorkspaceEdit:
    document = lsp.OptionalVersionedTextDocumentIdentifier(uri=request.uri, version=request.version)
    span = lsp.Range(_position(request.edit.start), _position(request.edit.end))
    if not ls.client.annotates_edits:
        plain = lsp.TextEdit(range=span, new_text=request.edit.text)
        return lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(text_document=document, edits=[plain])])
    annotated = lsp.AnnotatedTextEdit(range=span, new_text=request.edit.text, annotation_id=_ANNOTATION)
    return lsp.WorkspaceEdit(
        document_changes=[lsp.TextDocumentEdit(text_document=document, edits=[annotated])],
        change_annotations={_ANNOTATION: lsp.ChangeAnnotation(label=request.label, needs_confirmation=False)},
    )


def _position(place: Place) -> lsp.Position:
    return lsp.Position(line=place.line, character=place.character)
