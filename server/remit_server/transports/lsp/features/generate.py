"""`remit/generate`: one answer of the model in a wanted format, streamed on the client's token (LSP-04)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_server.transports.lsp.rpc.custom_methods import GENERATE, GenerateParams, Json

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection


async def generate(connection: Connection, params: GenerateParams) -> Json:
    """Generates an answer; returns a GenerationResult as JSON. Cancelling it stops the model within a token."""
    from pydantic import ValidationError

    from remit_server.contract import GenerationRequest
    from remit_server.transports.lsp.rpc.refusals import from_validation

    try:
        request = GenerationRequest.model_validate(params.request)
    except ValidationError as error:
        raise from_validation(GENERATE, error) from error
    token = params.partial_result_token

    async def on_text(text: str) -> None:
        if token is not None:
            connection.channel.stream(token, {"delta": text})

    first = connection.folders.first_root  # no workspace is involved, and all folders have the same model
    runtime = await connection.runtime(None if first is None else str(first))
    return (await runtime.generate(request, on_text)).model_dump(mode="json")
