"""What waits for an answer, answered part by part: commands for every client (LSP-09)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from lsprotocol import types as lsp
from pydantic import ValidationError

from remit_server.contract import ApprovalAnswer, ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.approval.shown_parts import Part, hunk_texts, wire_parts
from remit_server.transports.lsp.buffers.own_files import settings_here
from remit_server.transports.lsp.client_requests.approval_messages import as_document, question_text
from remit_server.transports.lsp.client_requests.review import refresh_lenses
from remit_server.transports.lsp.command_params import Asked, read_asked, wrong_arguments
from remit_server.transports.lsp.reviews import Review, toggled
from remit_server.transports.lsp.rpc.custom_methods import Json
from remit_server.transports.lsp.rpc.refusals import from_validation

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection

KEYS = "approval_id?, "
_SHOWN_S = 10.0


async def list_all(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.review.list [{…}]`. Returns what waits, with its hunks: `line` is the first changed one."""
    asked = read_asked(connection, params)
    found = [each for each in connection.reviews.values() if asked.about.folder in {None, str(each.root)}]
    return [_describe(each) for each in found]


async def show(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.review.show [{approval_id?, …}]`. Opens the whole question as a document, else in a message."""
    review = _find(connection, read_asked(connection, params, KEYS))
    text = question_text(review.question)
    settings = settings_here(review.root)
    document = review.opened.enter_context(as_document(text, settings.state if settings else None))
    if not await connection.open_document(document, _SHOWN_S):
        connection.show(lsp.MessageType.Info, text)
    return _describe(review)


async def toggle(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.review.toggle [{approval_id?, path, hunk?, comment?, …}]`. Leaves a part out, or takes it again."""
    asked = read_asked(connection, params, KEYS + "path, hunk?, comment?, ")
    review = _find(connection, asked)
    part = Part(asked.need("path"), asked.number("hunk"))
    if part not in review.parts:
        raise wrong_arguments(params, "there is no such part; `remit.review.list` has those there are", asked.shape)
    review = toggled(review, part, asked.text("comment"))
    _answer(params, review, "allow")
    connection.reviews[review.question.approval_id] = review
    refresh_lenses(connection)
    return _describe(review)


async def accept(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.review.accept [{approval_id?, …}]`. Allows once what is not left out; returns the receipt."""
    review = _find(connection, read_asked(connection, params, KEYS))
    return _give(connection, _answer(params, review, "allow"))


async def reject(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.review.reject [{approval_id?, comment?, …}]`. Denies all of it; returns the receipt."""
    asked = read_asked(connection, params, KEYS + "comment?, ")
    return _give(connection, _answer(params, _find(connection, asked), "deny", asked.text("comment")))


def _answer(
    params: lsp.ExecuteCommandParams, review: Review, decision: Literal["allow", "deny"], comment: str | None = None
) -> ApprovalAnswer:
    """Returns the answer. Raises the error for invalid params where a comment is too long."""
    try:
        return ApprovalAnswer(
            approval_id=review.question.approval_id,
            decision=decision,
            digest=review.question.digest,
            left_out=wire_parts(review.left_out) if decision == "allow" else (),
            comment=comment,
        )
    except ValidationError as error:
        raise from_validation(params.command, error) from error


def _give(connection: Connection, answer: ApprovalAnswer) -> Json:
    runtime = next(each for each in connection.opened_runtimes if each.asked(answer.approval_id))
    return runtime.answer(answer).model_dump(mode="json")


def _find(connection: Connection, asked: Asked) -> Review:
    """Returns the review that is meant; without an id, the only one. Raises ToolError (`not_found`)."""
    name = asked.text("approval_id")
    found = [each for each in connection.reviews.values() if name in {None, each.question.approval_id}]
    if len(found) == 1:
        return found[0]
    raise ToolError(
        "there is no such review" if name else "it is not known which review is meant",
        "nothing with this id waits for an answer" if name else f"{len(found)} wait for an answer",
        "`remit.review.list` has those that wait; name one as `approval_id`",
        code=ErrorCode.NOT_FOUND,
    )


def _describe(review: Review) -> dict[str, Json]:
    question = review.question
    return {
        "approval_id": question.approval_id,
        "title": question.title,
        "workspace_folder": str(review.root),
        "deadline": question.deadline,
        "taken": review.taken,
        "parts": [_describe_part(review, part) for part in review.parts],
        "diffs": [diff.model_dump(mode="json") for diff in question.diffs],
    }


def _describe_part(review: Review, part: Part) -> dict[str, Json]:
    diff = next(each for each in review.question.diffs if each.path == part.path)
    line = None if part.hunk is None else hunk_texts(diff.diff)[part.hunk].line
    left_out = part in review.left_out
    return {"path": part.path, "hunk": part.hunk, "line": line, "left_out": left_out}
