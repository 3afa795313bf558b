"""What stands at a cursor, asked of a server that speaks OpenAI's protocol: by `/infill` or by a `suffix` (LSP-12)."""
# pyright: basic

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import cast

from remit_server.errors import ModelFailed
from remit_server.models.ports import TextDelta
from remit_server.models.remote.ask import Ended, GapAsk, Piece
from remit_server.models.remote.stages import Filling

_FILLS = "insert"
"""The word for it in a model's `capabilities`, as Ollama has it."""


def fills_gaps(row: Mapping[str, object]) -> bool | None:
    """Returns whether a row of the list of models says that it fills gaps; None where it says nothing of it."""
    match row.get("capabilities"):
        case list() as listed:
            return _FILLS in listed
        case dict() as named if _FILLS in named:
            return named[_FILLS] is True
        case _:
            return None


def gap_request(ask: GapAsk, base_url: str) -> tuple[str, dict[str, object]]:
    """Returns the address and the body of a request; llama.cpp has its own one beside the `/v1` of the protocol."""
    common = {"stream": True, "temperature": ask.temperature or 0.0}
    gap = ask.gap
    if ask.filling is Filling.INFILL:
        address = base_url.rstrip("/").removesuffix("/v1") + "/infill"
        texts = {"input_prefix": gap.before, "input_suffix": gap.after, "n_predict": ask.max_tokens}
        return address, {**common, **texts, "cache_prompt": True}
    texts = {"prompt": gap.before, "suffix": gap.after, "max_tokens": ask.max_tokens}
    return "/completions", {**common, **texts, "model": ask.model}


async def read_gap(chunks: AsyncIterator[object]) -> AsyncGenerator[Piece]:
    """Yields the text of an answer in either form, then its end. Raises ModelFailed where the stream was cut."""
    ended: Ended | None = None
    async for chunk in chunks:
        match chunk:
            case {"content": str(text)}:
                ended = _infill_end(cast("dict[str, object]", chunk))
            case {"choices": [{"text": str(text), "finish_reason": reason}, *_]}:
                ended = None if reason is None else Ended("length" if reason == "length" else "stop")
            case _:
                continue
        if text:
            yield TextDelta(text)
        if ended is not None:
            break
    if ended is None:
        why = "the stream ended without saying how the answer ends"
        raise ModelFailed("the model's answer is not complete", why, "ask again; the server's log says more")
    yield ended


def _infill_end(chunk: Mapping[str, object]) -> Ended | None:
    if chunk.get("stop") is not True:
        return None
    cut = chunk.get("stop_type") == "limit"
    read, made = chunk.get("tokens_evaluated"), chunk.get("tokens_predicted")
    return Ended(
        "length" if cut else "stop",
        prompt_tokens=read if isinstance(read, int) else 0,
        completion_tokens=made if isinstance(made, int) else 0,
    )
