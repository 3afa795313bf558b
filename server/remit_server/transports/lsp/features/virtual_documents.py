"""`workspace/textDocumentContent`: virtual documents, which are no files, of waiting questions and of calls in the
audit log (LSP-14).

Nothing slow is imported here.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.transports.lsp.buffers.virtual_addresses import (
    SCHEMES,
    CallDocument,
    FileDocument,
    QuestionDocument,
    parse_address,
)

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection.connection import Connection


_ENDINGS = {
    "person": "it was answered",
    "deadline": "its time ran out",
    "cancelled": "its turn was stopped",
    "withdrawn": "one of its files was renamed, deleted or created",
}
MOST_READ = 1_000
"""The most documents of one question whose changes are reported to the client."""


async def read_document(connection: Connection, uri: str) -> str | None:
    """Returns the present text of a document, or None if the address names no document. Raises RemitError."""
    match parse_address(uri):
        case CallDocument() as document:
            return await _tell_call(connection, document)
        case QuestionDocument() | FileDocument() as document:
            text = _review_text(connection, document)
            return text if text is not None else _tell_end(connection, document.approval_id)
        case None:
            return None


def note_read(connection: Connection, uri: str) -> None:
    """Remembers that the client has read this document of a waiting question."""
    match parse_address(uri):
        case QuestionDocument(name) | FileDocument(name) if name in connection.reviews:
            read = connection.read_documents.setdefault(name, set())
            if len(read) < MOST_READ:
                read.add(uri)
        case _:
            pass


def _review_text(connection: Connection, document: QuestionDocument | FileDocument) -> str | None:
    """Returns the text of a waiting question's document, or None if no question with this id waits."""
    from remit_server.harness.approval.question import question_text
    from remit_server.harness.approval.shown_parts import wire_parts

    review = connection.reviews.get(document.approval_id)
    runtime = next((each for each in connection.opened_runtimes if each.asked(document.approval_id)), None)
    if review is None or runtime is None:
        return None
    if isinstance(document, QuestionDocument):
        return question_text(review.question) + "\n"
    texts = runtime.proposed(document.approval_id, document.path, wire_parts(review.left_out))
    if texts is None:
        return f"(this question is not about `{document.path}`)\n"
    return texts.before if document.side == "before" else texts.after


def _tell_end(connection: Connection, approval_id: str) -> str:
    ended = connection.ended_reviews.get(approval_id)
    if ended is None:
        return "(no question with this id is waiting)\n"
    how = _ENDINGS.get(ended.by, "it was taken back")
    return f"(no question is waiting here any longer: {how}, {ended.decision}; `remit audit log` shows the outcome)\n"


async def _tell_call(connection: Connection, document: CallDocument) -> str:
    """Returns the audit log's account of a call. Raises RemitError if there is no such call or no such folder."""
    from remit_server.runtime.audit.told_call import find_call, judge_now, tell_call
    from remit_server.runtime.settings import Settings

    settings = Settings.of_places(connection.folders.named(document.folder).root)

    def tell() -> str:
        call = find_call(settings.audit_database, document.call)
        return "".join(f"{line}\n" for line in tell_call(call, judge_now(call, settings)))

    return await asyncio.to_thread(tell)


async def content(connection: Connection, params: lsp.TextDocumentContentParams) -> lsp.TextDocumentContentResult:
    """Returns the text of a document. Raises the error for invalid params if the address names none."""
    from remit_server.transports.lsp.rpc.custom_methods import invalid_params

    text = await read_document(connection, params.uri)
    if text is None:
        shown = ", ".join(f"`{scheme}:`" for scheme in SCHEMES)
        why, fix = "no document has this address", f"ask for one of {shown} as docs/editors.md spells them"
        raise invalid_params(lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT, why, fix)
    note_read(connection, params.uri)
    return lsp.TextDocumentContentResult(text=text)
