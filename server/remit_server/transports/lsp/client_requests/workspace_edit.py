"""`workspace/applyEdit` for one edit of one file, always versioned (LSP-05)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from remit_server.transports.lsp.buffers.documents import EditRequest, Refused, Unanswered
from remit_server.transports.lsp.buffers.edits import Place
from remit_server.transports.lsp.rpc.io_threads import ConnectionLost

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection

logger = logging.getLogger(__name__)

ANSWER_S = 10.0
"""The seconds for the editor's answer."""

_ANNOTATION = "remit"
_NO_REASON = "it gave no reason"


async def put_edit(connection: Connection, request: EditRequest) -> Refused | Unanswered | None:
    """Sends an edit to the editor. Returns None where the editor says that it applied it.

    It says which version it is of where the client knows versions; where not, an edit that met other text than it was
    made for is noticed by the content that comes of it.
    """
    if not connection.client.applies_edits:
        return Refused("the editor does not take edits from a language server", for_good=True)
    params = lsp.ApplyWorkspaceEditParams(edit=_workspace_edit(connection, request), label=request.label)
    try:
        answer = await connection.channel.ask(lsp.WORKSPACE_APPLY_EDIT, params, ANSWER_S)
    except TimeoutError:
        return Unanswered(f"the editor did not answer within {ANSWER_S:.0f} seconds")
    except ConnectionLost:
        return Unanswered("the editor went away before it answered")
    except JsonRpcException as error:
        logger.warning("workspace/applyEdit failed: %s", error.message)
        return Unanswered("the editor answered with an error")
    return None if answer.applied else Refused(f"the editor refused the edit: {answer.failure_reason or _NO_REASON}")


def _workspace_edit(connection: Connection, request: EditRequest) -> lsp.WorkspaceEdit:
    document = lsp.OptionalVersionedTextDocumentIdentifier(uri=request.uri, version=request.version)
    span = lsp.Range(_position(request.edit.start), _position(request.edit.end))
    plain = lsp.TextEdit(range=span, new_text=request.edit.text)
    if not connection.client.versions_edits:
        return lsp.WorkspaceEdit(changes={request.uri: [plain]})
    if not connection.client.annotates_edits:
        return lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(text_document=document, edits=[plain])])
    annotated = lsp.AnnotatedTextEdit(range=span, new_text=request.edit.text, annotation_id=_ANNOTATION)
    return lsp.WorkspaceEdit(
        document_changes=[lsp.TextDocumentEdit(text_document=document, edits=[annotated])],
        change_annotations={_ANNOTATION: lsp.ChangeAnnotation(label=request.label, needs_confirmation=False)},
    )


def _position(place: Place) -> lsp.Position:
    return lsp.Position(line=place.line, character=place.character)
