"""`remit/generate`: one answer of the model in a wanted format, streamed on the client's token (LSP-04)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_server.transports.lsp.rpc.custom_methods import GENERATE, Json, StreamedParams
from remit_server.transports.lsp.rpc.refusals import read_form

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection


async def generate(connection: Connection, params: StreamedParams) -> Json:
    """Generates an answer; returns a GenerationResult as JSON. Cancelling it stops the model within a token."""
    from remit_server.contract import GenerationRequest

    request = read_form(GENERATE, GenerationRequest, params.request)
    token = params.partial_result_token

    async def on_text(text: str) -> None:
        if token is not None:
            connection.channel.stream(token, {"delta": text})

    first = connection.folders.first_root  # no workspace is involved, and all folders have the same model
    runtime = await connection.runtime(None if first is None else str(first))
    return (await runtime.generate(request, on_text)).model_dump(mode="json")
