"""Remit's own methods, for clients that know them: turns, answers to approvals, waiting reviews, the status, and single
answers of the model (LSP-04, LSP-09).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from remit_server.transports.lsp.connection.open_folders import runtime_of_turn
from remit_server.transports.lsp.rpc.custom_methods import (
    APPROVAL_RESPOND,
    GENERATE,
    REVIEW_HUNKS,
    REVIEW_LIST,
    REVIEW_RESOLVE,
    RUN,
    GivenParams,
    Json,
    StatusParams,
    StreamedParams,
    read_form,
)

if TYPE_CHECKING:
    from remit_server.contract import Event
    from remit_server.transports.lsp.connection.connection import Connection, Snapshot


async def run(connection: Connection, params: StreamedParams) -> Json:
    """Runs a turn; returns a RunResult as JSON. Cancelling the request cancels the turn; its last event is still
    streamed.
    """
    from remit_server.contract import RunRequest
    from remit_server.transports.lsp.client_requests.approval_messages import choose_asker
    from remit_server.transports.lsp.client_requests.progress import progress_line, work_done
    from remit_server.transports.lsp.client_requests.review import follow_reviews

    request = read_form(RUN, RunRequest, params.request)
    token = params.partial_result_token
    folder = connection.folders.named(request.context.workspace_folder if request.context else None)
    asker = choose_asker(connection, streams=token is not None)

    def emit(event: Event) -> None:
        line = progress_line(event)
        if line is not None:
            report(line)
        follow_reviews(connection, folder.root, event, drawn=asker.style == "stream")
        if token is not None:
            connection.channel.stream(token, event.model_dump(mode="json"))

    if request.context is not None:  # the runtime knows the folder by its path; the client may have sent a URI
        here = request.context.model_copy(update={"workspace_folder": str(folder.root)})
        request = request.model_copy(update={"context": here})
    runtime = await runtime_of_turn(connection, folder)

    def stop() -> int:
        return runtime.cancel(request.session_id, request.turn_id)

    async with work_done(connection, "Remit", params.work_done_token, stop) as report:
        result = await runtime.run(request, emit, asker)
    return result.model_dump(mode="json")


async def respond(connection: Connection, params: GivenParams) -> Json:
    """Gives an answer to the runtime that asked. Returns an ApprovalReceipt as JSON; a late or repeated answer is not
    accepted.
    """
    from remit_server.contract import ApprovalAnswer, ApprovalReceipt

    answer = read_form(APPROVAL_RESPOND, ApprovalAnswer, params.given)
    runtimes = connection.opened_runtimes
    # If no runtime asked this question, the first one refuses the answer and records it.
    runtime = next((each for each in runtimes if each.asked(answer.approval_id)), runtimes[0] if runtimes else None)
    receipt = runtime.answer(answer) if runtime else ApprovalReceipt(accepted=False, reason="no turn is running")
    return receipt.model_dump(mode="json")


async def list_reviews(connection: Connection, params: GivenParams) -> Json:
    """Returns a ReviewList as JSON. Raises RemitError for a folder that is not open."""
    from remit_server.contract import ReviewList, ReviewListRequest
    from remit_server.transports.lsp.commands.review_commands import list_waiting

    named = read_form(REVIEW_LIST, ReviewListRequest, params.given).workspace_folder
    folder = None if named is None else str(connection.folders.named(named).root)
    return ReviewList(reviews=tuple(list_waiting(connection, folder))).model_dump(mode="json")


async def hunks(connection: Connection, params: GivenParams) -> Json:
    """Returns the ReviewHunks of a question as JSON. Raises ToolError (`not_found`)."""
    from remit_server.contract import ReviewHunksRequest
    from remit_server.transports.lsp.commands.review_commands import describe_parts, find_review

    asked = read_form(REVIEW_HUNKS, ReviewHunksRequest, params.given)
    return describe_parts(find_review(connection, asked.approval_id)).model_dump(mode="json")


async def resolve(connection: Connection, params: GivenParams) -> Json:
    """Answers a question, and returns an ApprovalReceipt as JSON. Raises ToolError (`not_found`)."""
    from remit_server.contract import ApprovalAnswer, ReviewResolveRequest
    from remit_server.harness.approval.shown_parts import wire_parts
    from remit_server.transports.lsp.commands.review_commands import find_review, give

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


async def status(snapshot: Snapshot, params: StatusParams) -> Json:
    """Returns a StatusResult as JSON, of the named folder or else of the first one. Raises RemitError."""
    named, folders = params.workspace_folder, snapshot.folders
    first = folders.first_root
    runtime = await folders.named(str(first) if named is None and first is not None else named).slot.get()
    more = {"model_stats": await runtime.model_stats(), "folders": tuple(str(each.root) for each in folders)}
    if params.session_id is not None:
        await runtime.recall(params.session_id)
    return runtime.status(params.session_id).model_copy(update=more).model_dump(mode="json")


async def generate(connection: Connection, params: StreamedParams) -> Json:
    """Generates an answer; returns a GenerationResult as JSON. Cancelling the request or its progress stops the model
    within one token."""
    from remit_server.contract import GenerationRequest
    from remit_server.transports.lsp.client_requests.progress import work_done

    request = read_form(GENERATE, GenerationRequest, params.request)
    token = params.partial_result_token

    async def on_text(text: str) -> None:
        if token is not None:
            connection.channel.stream(token, {"delta": text})

    first = connection.folders.first_root  # no workspace is involved, and all folders have the same model
    runtime = await connection.runtime(None if first is None else str(first))
    task = asyncio.ensure_future(runtime.generate(request, on_text))
    try:
        async with work_done(connection, "Remit", params.work_done_token, task.cancel):
            return (await task).model_dump(mode="json")
    finally:
        task.cancel()
