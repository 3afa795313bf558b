"""Answers to waiting questions about changes, part by part: commands for every client (LSP-09), and functions for the
requests of clients that draw the questions themselves (LSP-14)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from lsprotocol import types as lsp

from remit_server.contract import (
    ApprovalAnswer,
    ApprovalReceipt,
    ErrorCode,
    ReviewDocument,
    ReviewHunks,
    WaitingReview,
)
from remit_server.errors import ToolError
from remit_server.harness.approval.question import question_text
from remit_server.harness.approval.shown_parts import Part, describe_hunks, describe_part
from remit_server.transports.lsp.buffers.own_files import settings_here
from remit_server.transports.lsp.buffers.virtual_addresses import file_uri, question_uri
from remit_server.transports.lsp.client_requests.approval_messages import as_document
from remit_server.transports.lsp.client_requests.review import refresh_shown
from remit_server.transports.lsp.commands.command_params import read_asked, wrong_arguments
from remit_server.transports.lsp.connection.reviews import Review, toggled
from remit_server.transports.lsp.rpc.custom_methods import Json, read_form

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection.connection import Connection

KEYS = "approval_id?, "
_SHOWN_S = 10.0


async def list_all(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.review.list [{…}]`. Returns the waiting reviews with their hunks; `line` is a hunk's first changed
    line.
    """
    asked = read_asked(connection, params)
    return [each.model_dump(mode="json") for each in list_waiting(connection, asked.about.folder)]


async def show(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.review.show [{approval_id?, …}]`. Shows the whole question as a document, or else in a message."""
    review = find_review(connection, read_asked(connection, params, KEYS).text("approval_id"))
    if not await _show_document(connection, review):
        connection.show(lsp.MessageType.Info, question_text(review.question))
    return _dump(connection, review)


async def toggle(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.review.toggle [{approval_id?, path, hunk?, comment?, …}]`. Leaves a part out, or takes it again."""
    asked = read_asked(connection, params, KEYS + "path, hunk?, comment?, ")
    review = find_review(connection, asked.text("approval_id"))
    part = Part(asked.need("path"), asked.number("hunk"))
    if part not in review.parts:
        raise wrong_arguments(params, "there is no such part; `remit.review.list` lists the parts", asked.shape)
    review = toggled(review, part, asked.text("comment"))
    _answer(params.command, review, "allow")
    connection.reviews[review.question.approval_id] = review
    refresh_shown(connection, review)
    return _dump(connection, review)


async def accept(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.review.accept [{approval_id?, …}]`. Allows once the parts not left out; returns the receipt."""
    review = find_review(connection, read_asked(connection, params, KEYS).text("approval_id"))
    return give(connection, _answer(params.command, review, "allow")).model_dump(mode="json")


async def reject(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.review.reject [{approval_id?, comment?, …}]`. Denies the whole question; returns the receipt."""
    asked = read_asked(connection, params, KEYS + "comment?, ")
    review = find_review(connection, asked.text("approval_id"))
    answer = _answer(params.command, review, "deny", comment=asked.text("comment"))
    return give(connection, answer).model_dump(mode="json")


def list_waiting(connection: Connection, folder: str | None) -> list[WaitingReview]:
    """Returns the waiting reviews of this workspace folder, or of all folders for None."""
    found = [each for each in connection.reviews.values() if folder in {None, str(each.root)}]
    return [describe_review(connection, each) for each in found]


def find_review(connection: Connection, approval_id: str | None) -> Review:
    """Returns the waiting review with this id, or the only one for None. Raises ToolError (`not_found`)."""
    found = [each for each in connection.reviews.values() if approval_id in {None, each.question.approval_id}]
    if len(found) == 1:
        return found[0]
    raise ToolError(
        "there is no such review" if approval_id else "it is unclear which review is meant",
        "no question with this id is waiting" if approval_id else f"{len(found)} are waiting for an answer",
        "`remit.review.list` lists those that are waiting; name one as `approval_id`",
        code=ErrorCode.NOT_FOUND,
    )


def give(connection: Connection, answer: ApprovalAnswer) -> ApprovalReceipt:
    """Gives an answer to the runtime that asked."""
    runtime = next((each for each in connection.opened_runtimes if each.asked(answer.approval_id)), None)
    if runtime is None:
        return ApprovalReceipt(accepted=False, reason="there is no such question")
    return runtime.answer(answer)


def describe_review(connection: Connection, review: Review) -> WaitingReview:
    """Returns a review as clients see it."""
    question = review.question
    name = question.approval_id
    shown = [diff.path for diff in question.diffs] if connection.client.reads_virtual_documents else []
    return WaitingReview(
        approval_id=name,
        digest=question.digest,
        title=question.title,
        workspace_folder=str(review.root),
        deadline=question.deadline,
        taken=review.taken,
        parts=tuple(describe_part(question, part, review.left_out) for part in review.parts),
        diffs=question.diffs,
        documents=tuple(
            ReviewDocument(path=path, before=file_uri(name, "before", path), after=file_uri(name, "after", path))
            for path in shown
        ),
    )


def describe_parts(review: Review) -> ReviewHunks:
    """Returns the parts of a review with their texts."""
    question = review.question
    return ReviewHunks(
        approval_id=question.approval_id,
        digest=question.digest,
        by_hunk=question.by_hunk,
        hunks=describe_hunks(question, review.left_out),
    )


def _answer(
    subject: str, review: Review, decision: Literal["allow", "deny"], comment: str | None = None
) -> ApprovalAnswer:
    """Returns the answer to a review; with `allow`, the parts left out so far stay out. Raises the error for invalid
    params if the comment is too long.
    """
    left_out = [{"path": part.path, "hunk": part.hunk, "comment": said} for part, said in review.left_out.items()]
    answer = {
        "approval_id": review.question.approval_id,
        "decision": decision,
        "digest": review.question.digest,
        "left_out": left_out if decision == "allow" else (),
        "comment": comment,
    }
    return read_form(subject, ApprovalAnswer, answer)


def _dump(connection: Connection, review: Review) -> Json:
    return describe_review(connection, review).model_dump(mode="json")


async def _show_document(connection: Connection, review: Review) -> bool:
    """Shows the whole question as a virtual document if the client reads those, else as a file. Returns whether the
    client showed it.
    """
    name = review.question.approval_id
    if connection.client.reads_virtual_documents:
        return await connection.open_document(question_uri(name), _SHOWN_S)
    settings = settings_here(review.root)
    document = as_document(question_text(review.question), settings.state if settings else None)
    return await connection.open_document(review.opened.enter_context(document).as_uri(), _SHOWN_S)
