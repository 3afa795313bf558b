"""Asks any provider for one answer in a given format: text, a list of strings, or a value of a schema (MOD-06)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from pydantic import JsonValue
from pydantic_core import from_json

from remit_server.contract import TokenUsage
from remit_server.errors import ModelFailed
from remit_server.models.ports import Finished, GenerateRequest, ModelProvider, TextDelta

AnswerFormat: TypeAlias = Literal["text", "string_list"] | Mapping[str, JsonValue]
"""The format of an answer; a mapping is a JSON Schema."""

OnText: TypeAlias = Callable[[str], Awaitable[None]]
"""Receives the next part of the answer's text while it is generated."""

MOST_STRINGS = 32
LONGEST_STRING = 400
STRING_LIST: Mapping[str, JsonValue] = {
    "type": "array",
    "items": {"type": "string", "maxLength": LONGEST_STRING},
    "maxItems": MOST_STRINGS,
}


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer as the model spelled it, and why it ended."""

    text: str
    finished: Finished

    def crowded(self, max_tokens: int, window: int | None) -> bool:
        """Returns whether the answer ended before `max_tokens` because the model's context was full.

        If there is room left in the `window`, the server only reserved less for the answer, and it is not crowded.
        """
        told, said = self.finished.context_tokens, self.finished.completion_tokens
        return self.finished.reason == "length" and said < max_tokens and (window is None or told + said >= window - 1)


def full_prompt(prompt: str, content: str) -> str:
    """Returns the prompt and the content it is about as one message (MOD-06)."""
    return f"{prompt}\n\nContent:\n{content}"


def schema_of(wanted: AnswerFormat) -> Mapping[str, JsonValue] | None:
    """Returns the schema that constrains the model to a format, or None for text."""
    match wanted:
        case "text":
            return None
        case "string_list":
            return STRING_LIST
        case _:
            return wanted


async def stream_answer(provider: ModelProvider, request: GenerateRequest, on_text: OnText | None = None) -> Answered:
    """Generates an answer. Raises ModelUnavailable and ModelFailed; cancelling stops the model."""
    text, finished = "", None
    async with aclosing(provider.generate(request)) as events:
        async for event in events:
            match event:
                case TextDelta(text=piece):
                    text += piece
                    if on_text is not None:
                        await on_text(piece)
                case Finished():
                    finished = event
                case _:  # thinking is not the answer, and without an intent no call can be proposed
                    pass
    assert finished is not None
    return Answered(text, finished)


def usage_of(finished: Finished) -> TokenUsage:
    """Returns a generation's tokens and price, as they are told to clients."""
    return TokenUsage(
        prompt_tokens=finished.prompt_tokens,
        cached_tokens=finished.cached_tokens,
        completion_tokens=finished.completion_tokens,
        price_usd=finished.price_usd,
    )


def value_of(wanted: AnswerFormat, answer: Answered) -> JsonValue:
    """Parses an answer as the wanted format. Raises ModelFailed.

    If the token limit ended it, a text is cut there, and a value constrained by a grammar is still complete; otherwise
    a list loses its unfinished string.
    """
    if wanted == "text":
        return answer.text
    cut = answer.finished.reason in {"length", "alike"}
    partial = cut and wanted == "string_list"
    try:
        value = cast("JsonValue", from_json(answer.text, allow_inf_nan=False, allow_partial=partial))
    except ValueError as error:
        if answer.finished.reason == "alike":
            fix = "ask in other words, or use a larger model"
            raise ModelFailed("the answer is not complete", "it only went on repeating itself", fix) from error
        if cut:
            why = f"it was cut off after {answer.finished.completion_tokens} tokens"
            fix = "allow more tokens, or bound the schema"
            raise ModelFailed("the answer is not complete", why, fix) from error
        raise _unusable(f"it is not JSON ({error})") from error
    if wanted == "string_list" and not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
        raise _unusable("it is not a list of strings")
    return value


def _unusable(why: str) -> ModelFailed:
    return ModelFailed("the model's answer cannot be used", why, "ask again, or use another model")
