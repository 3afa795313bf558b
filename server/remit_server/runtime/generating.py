"""Guided generation for whoever asks: text, a list of strings, or a value of a schema (MOD-06)."""

from __future__ import annotations

from remit_server.contract import GenerationRequest, GenerationResult
from remit_server.models.answers import OnText, full_prompt, schema_of, stream_answer, usage_of, value_of
from remit_server.models.ports import GenerateRequest, ModelProvider, SystemMessage, UserMessage

SESSION = "remit/generate"
"""All share one prompt cache, so that they push no session's out."""


async def generate(provider: ModelProvider, request: GenerationRequest, on_text: OnText | None) -> GenerationResult:
    """One answer. Raises ModelUnavailable and ModelFailed; cancelling stops the model."""
    standing = (SystemMessage(request.instructions),) if request.instructions else ()
    question = request.prompt if request.content is None else full_prompt(request.prompt, request.content)
    answer = await stream_answer(
        provider,
        GenerateRequest(
            session_id=SESSION,
            messages=(*standing, UserMessage(question)),
            intents={},
            max_tokens=request.max_tokens,
            answer_schema=schema_of(request.output_format),
        ),
        on_text,
    )
    return GenerationResult(result=value_of(request.output_format, answer), usage=usage_of(answer.finished))
