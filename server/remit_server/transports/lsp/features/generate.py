"""`remit/generate`: one answer of the model in a wanted format, streamed on the client's token (LSP-04)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from remit_server.transports.lsp.rpc.custom_methods import GENERATE, Json, StreamedParams
from remit_server.transports.lsp.rpc.refusals import read_form

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection


async def generate(connection: Connection, params: StreamedParams) -> Json:
    """Generates an answer; returns a GenerationResult as JSON. Cancelling it, or its progress, stops the model within a
    token."""
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
