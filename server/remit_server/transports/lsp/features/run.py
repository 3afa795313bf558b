"""`remit/run`: one turn, its events streamed on the client's own token (LSP-04)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_server.transports.lsp.own_file_watch import runtime_of_turn
from remit_server.transports.lsp.rpc.custom_methods import RUN, Json, StreamedParams
from remit_server.transports.lsp.rpc.refusals import read_form

if TYPE_CHECKING:
    from remit_server.contract import Event
    from remit_server.transports.lsp.connection import Connection


async def run(connection: Connection, params: StreamedParams) -> Json:
    """Runs a turn; returns a RunResult as JSON. Cancelling it cancels the turn, whose last event is still streamed."""
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

    if request.context is not None:  # the runtime knows the folder by its path, in whatever form it was named
        here = request.context.model_copy(update={"workspace_folder": str(folder.root)})
        request = request.model_copy(update={"context": here})
    runtime = await runtime_of_turn(connection, folder)

    def stop() -> int:
        return runtime.cancel(request.session_id, request.turn_id)

    async with work_done(connection, "Remit", params.work_done_token, stop) as report:
        result = await runtime.run(request, emit, asker)
    return result.model_dump(mode="json")
