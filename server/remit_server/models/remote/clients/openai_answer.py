"""Reads an answer in OpenAI's protocol as servers really send it (MOD-19), and asks such a server for the text at a
cursor, by `/infill` or by a `suffix` (LSP-12).
"""
# pyright: basic

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import JsonValue

from remit_governance.secrets.redaction import map_strings
from remit_server.errors import ModelFailed
from remit_server.models.ports import CallProposed, PromptRead, ProposedCall, TextDelta, ThinkingDelta, new_call_id
from remit_server.models.remote.ask import CutOff, Ended, GapAsk, Piece, told_body
from remit_server.models.remote.engines import Filling
from remit_server.models.thinking import Thought, ThoughtReader
from remit_server.models.unreadable import unreadable, well_formed


@dataclass(slots=True)
class _Call:
    """A call as it arrives, with its arguments in parts."""

    id: str = ""
    name: str = ""
    arguments: str = ""

    def is_another(self, part: Any, name: str, arguments: str) -> bool:
        """Returns whether a part begins another call: it has another id, or it has a name although this call's
        arguments are complete. The index does not tell, as some servers give all calls the same one."""
        if self.id and isinstance(part.id, str) and part.id:
            return part.id != self.id
        return bool(name and self.name and (arguments or name != self.name)) and _is_whole(self.arguments)


def _is_whole(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def _progress(told: Any) -> PromptRead | None:
    """Returns how much of the prompt was read, as llama.cpp's server tells it."""
    match told:
        case {"processed": int(done), "total": int(total)} if 0 <= done <= total and total > 0:
            return PromptRead(done, total)
        case _:
            return None


@dataclass(slots=True)
class Heard:
    """What has arrived of an answer. No part of it is trusted to have the type that the protocol says (MOD-19)."""

    calls: list[_Call] = field(default_factory=list[_Call])
    at: dict[int, _Call] = field(default_factory=dict[int, _Call])
    aloud: ThoughtReader = field(default_factory=ThoughtReader)
    usage: Any = None
    reason: str | None = None

    def pieces(self, chunk: Any) -> Iterator[Piece]:
        """Yields the pieces of a chunk except calls, which are complete only at the end."""
        self.usage = getattr(chunk, "usage", None) or self.usage
        if (read := _progress(getattr(chunk, "prompt_progress", None))) is not None:
            yield read
        choices = getattr(chunk, "choices", None)
        if not isinstance(choices, list) or not choices:
            return
        reason, delta = getattr(choices[0], "finish_reason", None), getattr(choices[0], "delta", None)
        self.reason = (reason if isinstance(reason, str) else None) or self.reason
        if delta is None:
            return
        extra = getattr(delta, "model_extra", None) or {}
        thought = extra.get("reasoning_content") or extra.get("reasoning")
        if isinstance(thought, str) and thought:
            yield ThinkingDelta(thought)
        yield from self._content(getattr(delta, "content", None))
        parts = getattr(delta, "tool_calls", None)
        for part in parts if isinstance(parts, list) else ():
            self._take(part)

    def _content(self, content: Any) -> Iterator[Piece]:
        """Yields the pieces of a content: a text, or a list of parts, which are texts or thinking made of texts."""
        if isinstance(content, str) and content:
            yield from _told(self.aloud.feed(well_formed(content)))
        for part in content if isinstance(content, list) else ():
            match part:
                case {"type": "thinking", "thinking": thinking}:
                    if thought := "".join(_texts(thinking)):
                        yield ThinkingDelta(thought)
                case _:
                    for text in _texts(part):
                        yield from _told(self.aloud.feed(text))

    def _take(self, part: Any) -> None:
        function = getattr(part, "function", None)
        name, arguments = text_at(function, "name"), text_at(function, "arguments")
        index = part.index if isinstance(getattr(part, "index", None), int) else len(self.calls)
        call = self.at.get(index)
        if call is None or call.is_another(part, name, arguments):
            call = self.at[index] = _Call()
            self.calls.append(call)
        call.id = call.id or (part.id if isinstance(part.id, str) else "")
        # Some servers repeat the name in every part.
        call.name = name if name.startswith(call.name) else call.name if name == call.name else call.name + name
        call.arguments += arguments

    def finish(self, *, done: bool) -> Iterator[Piece]:
        """Yields the calls, and the end; `done` is whether the server said that the stream is over.

        Raises ModelFailed if the stream was cut off, or if a filter removed the rest of the answer.
        """
        yield from _told(self.aloud.finish())
        if self.reason is None and not done:
            raise CutOff
        if self.reason == "content_filter":
            why = "the server's filter stopped it (`content_filter`)"
            raise ModelFailed("the model's answer is not complete", why, "ask in other words, or another model")
        for call in self.calls:
            yield CallProposed(read_call(call.name, call.arguments))
        details = getattr(self.usage, "prompt_tokens_details", None)
        yield Ended(
            "length" if self.reason == "length" else "stop",
            prompt_tokens=counted_at(self.usage, "prompt_tokens"),
            cached_tokens=counted_at(details, "cached_tokens"),
            completion_tokens=counted_at(self.usage, "completion_tokens"),
            dropped=self.reason == "tool_calls" and not self.calls,
        )


def _told(parts: Iterator[Thought | str]) -> Iterator[Piece]:
    return (ThinkingDelta(part.text) if isinstance(part, Thought) else TextDelta(part) for part in parts)


def _texts(part: Any) -> Iterator[str]:
    match part:
        case str():
            yield well_formed(part)
        case {"text": str(text)}:
            yield well_formed(text)
        case [*parts]:
            for each in parts:
                yield from _texts(each)
        case _:
            pass


def told_error(error: Any) -> str:
    """Returns the service's own message; the library's has the status in it, which could pass for a count of tokens."""
    return told_body(error.body) or str(error.message)


def text_at(value: Any, name: str) -> str:
    """Returns the attribute `name` if it is a text, or as JSON if it is an object, or else an empty string."""
    found = getattr(value, name, None)
    return found if isinstance(found, str) else json.dumps(found) if isinstance(found, dict) else ""


def counted_at(value: Any, name: str) -> int:
    """Returns the attribute `name` if it is a positive count, or else zero."""
    found = getattr(value, name, None)
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0


def read_call(name: str, arguments: str) -> ProposedCall:
    """Returns a call, or an unreadable call, for the model to correct, if the arguments are no JSON object.

    An object within a JSON string is accepted, because some servers encode the model's arguments once more.
    """
    try:
        value = json.loads(arguments or "{}")
        value = map_strings(json.loads(value) if isinstance(value, str) else value, well_formed)
    except (ValueError, RecursionError) as error:
        return unreadable(f"its arguments are not JSON: {error}", arguments)
    if not isinstance(value, dict):
        return unreadable("its arguments are not an object", arguments)
    return ProposedCall(new_call_id(), name, cast("dict[str, JsonValue]", value))


_FILLS = "insert"
"""The word for filling gaps in a model's `capabilities`, as Ollama has it."""


def fills_gaps(row: Mapping[str, object]) -> bool | None:
    """Returns whether a row of the list of models says that the model fills gaps, or None if it does not tell."""
    match row.get("capabilities"):
        case list() as listed:
            return _FILLS in listed
        case dict() as named if _FILLS in named:
            return named[_FILLS] is True
        case _:
            return None


def gap_request(ask: GapAsk, base_url: str) -> tuple[str, dict[str, object]]:
    """Returns the address and the body of a request for a gap; llama.cpp has an address of its own beside `/v1`."""
    common = {"stream": True, "temperature": ask.temperature or 0.0}
    gap = ask.gap
    if ask.filling is Filling.INFILL:
        address = base_url.rstrip("/").removesuffix("/v1") + "/infill"
        texts = {"input_prefix": gap.before, "input_suffix": gap.after, "n_predict": ask.max_tokens}
        return address, {**common, **texts, "cache_prompt": True}
    texts = {"prompt": gap.before, "suffix": gap.after, "max_tokens": ask.max_tokens}
    return "/completions", {**common, **texts, "model": ask.model}


async def read_gap(chunks: AsyncIterator[object]) -> AsyncGenerator[Piece]:
    """Yields the text of an answer in either form, then its end. Raises ModelFailed if the stream was cut off."""
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
        raise CutOff
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
