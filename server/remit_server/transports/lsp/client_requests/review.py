"""Keeps the waiting questions about changes, for lenses, commands, requests and virtual documents (LSP-09)."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.contract import ApprovalRequired, ApprovalResolved, Event
from remit_server.transports.lsp.client_requests.registrations import forget_reviewed, watch_reviewed
from remit_server.transports.lsp.connection.reviews import Review

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection.connection import Connection

REMEMBERED = 100
"""How many ended questions of a connection are kept, so that their virtual documents can say how they ended."""
_REFRESH_S = 10.0


def follow_reviews(connection: Connection, root: Path, event: Event, *, drawn: bool) -> None:
    """Keeps a question about changes from the event that asks it until the event that says how it ended.

    `root` is the folder of its turn; `drawn` says that the client draws its questions itself.
    """
    match event:
        case ApprovalRequired(diffs=(_, *_)):
            review = Review(event, root, ExitStack(), drawn)
            connection.reviews[event.approval_id] = review
            watch_reviewed(connection, review)
            refresh_shown(connection, review)
        case ApprovalResolved():
            _end(connection, event)
        case _:
            pass


def refresh_shown(connection: Connection, review: Review) -> None:
    """Asks the client to request again what it shows of a question: lenses, and the virtual documents it has read."""
    if connection.client.refreshes_lenses and not review.drawn:
        connection.in_background(_ask_again(connection, lsp.WORKSPACE_CODE_LENS_REFRESH, None))
    for uri in sorted(connection.read_documents.get(review.question.approval_id, ())):
        params = lsp.TextDocumentContentRefreshParams(uri=uri)
        connection.in_background(_ask_again(connection, lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT_REFRESH, params))


def _end(connection: Connection, event: ApprovalResolved) -> None:
    review = connection.reviews.pop(event.approval_id, None)
    if review is None:
        return
    review.opened.close()
    forget_reviewed(connection, review)
    connection.ended_reviews[event.approval_id] = event
    for old in list(connection.ended_reviews)[:-REMEMBERED]:
        del connection.ended_reviews[old]
    refresh_shown(connection, review)
    connection.read_documents.pop(event.approval_id, None)


async def _ask_again(connection: Connection, method: str, params: lsp.TextDocumentContentRefreshParams | None) -> None:
    await connection.try_ask(method, params, _REFRESH_S, f"the client did not ask again after `{method}`")
