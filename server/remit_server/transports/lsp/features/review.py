"""`remit/review/…`: what waits, and its answer, for clients that draw it themselves (LSP-14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_server.transports.lsp.rpc.custom_methods import (
    REVIEW_HUNKS,
    REVIEW_LIST,
    REVIEW_RESOLVE,
    GivenParams,
    Json,
)
from remit_server.transports.lsp.rpc.refusals import read_form

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection


async def list_reviews(connection: Connection, params: GivenParams) -> Json:
    """Returns a ReviewList as JSON. Raises RemitError for a folder that is not open."""
    from remit_server.contract import ReviewList, ReviewListRequest
    from remit_server.transports.lsp.review_commands import list_waiting

    named = read_form(REVIEW_LIST, ReviewListRequest, params.given).workspace_folder
    folder = None if named is None else str(connection.folders.named(named).root)
    return ReviewList(reviews=tuple(list_waiting(connection, folder))).model_dump(mode="json")


async def hunks(connection: Connection, params: GivenParams) -> Json:
    """Returns the ReviewHunks of a question as JSON. Raises ToolError (`not_found`)."""
    from remit_server.contract import ReviewHunksRequest
    from remit_server.transports.lsp.review_commands import describe_hunks, find_review

    asked = read_form(REVIEW_HUNKS, ReviewHunksRequest, params.given)
    return describe_hunks(find_review(connection, asked.approval_id)).model_dump(mode="json")


async def resolve(connection: Connection, params: GivenParams) -> Json:
    """Answers a question, and returns an ApprovalReceipt as JSON. Raises ToolError (`not_found`)."""
    from remit_server.contract import ApprovalAnswer, ReviewResolveRequest
    from remit_server.harness.approval.shown_parts import wire_parts
    from remit_server.transports.lsp.review_commands import find_review, give

    asked = read_form(REVIEW_RESOLVE, ReviewResolveRequest, params.given)
    review = find_review(connection, asked.approval_id)
    allows = asked.decision == "allow"
    left_out = wire_parts(review.left_out) if asked.left_out is None and allows else asked.left_out or ()
    answer = ApprovalAnswer(
        approval_id=asked.approval_id,
        decision=asked.decision,
        digest=asked.digest or review.question.digest,
        left_out=left_out,
        comment=asked.comment,
    )
    return give(connection, answer).model_dump(mode="json")
