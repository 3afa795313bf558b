"""Anthropic's messages, and servers that speak them, through its own library (MOD-11)."""
# pyright: basic

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

from remit_server.models.ports import (
    AssistantMessage,
    CallProposed,
    Message,
    ProposedCall,
    SystemMessage,
    TextDelta,
    ThinkingDelta,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from remit_server.models.remote.ask import (
    Among,
    Ask,
    Busy,
    Choice,
    CutOff,
    Ended,
    Forced,
    Piece,
    Served,
    Service,
    not_reached,
    retry_after,
)
from remit_server.models.remote.clients.openai_answer import counted_at, read_call, text_at, told_error
from remit_server.models.remote.engines import PROVIDERS, RemoteReference
from remit_server.models.remote.http_exit import http_options
from remit_server.models.remote.patience import Patience
from remit_server.models.tool_words import shown_parameters
from remit_server.models.unreadable import well_formed

_CACHED = {"cache_control": {"type": "ephemeral"}}
"""Marks a place in the request; the service keeps everything before it in its cache for the next request."""


_MAY_PASS = frozenset({"overloaded_error", "rate_limit_error", "api_error", "timeout_error"})
"""Errors after which the same request may succeed."""


class AnthropicClient:
    """A client for one address and one key. `patience.py` retries requests, and the library does not."""

    def __init__(self, reference: RemoteReference, patience: Patience, key: str | None) -> None:
        """Imports the library, which takes seconds. Raises ImportError if it is not installed."""
        import anthropic
        import httpx2

        self._anthropic = anthropic
        self._service = Service.of(reference, key)
        self._client = anthropic.AsyncAnthropic(
            api_key=key or "none",
            base_url=reference.endpoint or PROVIDERS["anthropic"].endpoint,
            max_retries=0,
            http_client=httpx2.AsyncClient(**http_options(reference, patience, key, httpx2)),
            timeout=None,
        )

    async def describe(self, model: str) -> Served:
        """Return the protocol's only row; there is nothing to find out."""
        del model
        return Served("anthropic", None)

    async def stream(self, ask: Ask) -> AsyncGenerator[Piece]:
        """Ask, and stream the answer."""
        try:
            answer = await self._client.messages.create(**_request(ask))
            async with answer:
                heard = _Heard()
                async for event in answer:
                    for piece in heard.pieces(event):
                        yield piece
                for piece in heard.finish():
                    yield piece
        except self._anthropic.APIError as error:
            raise self._failure(error) from error

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _failure(self, error: Any) -> Exception:
        """Returns the exception to raise for an error of the library's."""
        if isinstance(error, self._anthropic.APIStatusError):
            said = self._service.words(told_error(error))
            if error.status_code >= 400:
                return self._service.refusal(error.status_code, said, retry_after(error.response.headers))
            return self._in_stream(error, said)
        if isinstance(error, self._anthropic.APITimeoutError | self._anthropic.APIConnectionError):
            return not_reached(error)
        return self._service.broken_off(self._service.words(str(error)))

    def _in_stream(self, error: Any, said: str) -> Exception:
        """Returns the exception for an error that came as an event of the stream."""
        match error.body:
            case {"error": {"type": str(kind)}} if kind in _MAY_PASS:
                return Busy(f"it says: {said}")
            case _:
                return self._service.broken_off(said)


def _request(ask: Ask) -> dict[str, Any]:
    system = [message.text for message in ask.messages if isinstance(message, SystemMessage)]
    messages = spell_messages([message for message in ask.messages if not isinstance(message, SystemMessage)])
    request: dict[str, Any] = {"model": ask.model, "max_tokens": ask.max_tokens, "messages": messages, "stream": True}
    if system:
        request["system"] = [{"type": "text", "text": "\n\n".join(system), **_CACHED}]
    # The library no longer has these two. What the person set is sent all the same, and the service may refuse it.
    if sampling := {k: v for k, v in (("temperature", ask.temperature), ("top_p", ask.top_p)) if v is not None}:
        request["extra_body"] = sampling
    if ask.tools:
        request["tools"] = [spell_tool(tool) for tool in ask.tools]
        if (choice := spell_choice(ask.choice)) is not None:
            request["tool_choice"] = choice
    output: dict[str, Any] = {} if ask.effort is None else {"effort": ask.effort}
    if ask.schema is not None:
        output["format"] = {"type": "json_schema", "schema": dict(ask.schema)}
    return request | ({"output_config": output} if output else {})


@dataclass(slots=True)
class _Block:
    """A content block as it comes in."""

    kind: str
    name: str = ""
    arguments: str = ""
    given: dict[str, Any] = field(default_factory=dict[str, Any])
    """The arguments in the block's first event; some servers send all of them there."""

    def read(self) -> ProposedCall:
        """Returns the call of a complete block."""
        return read_call(self.name, self.arguments or json.dumps(self.given))


@dataclass(slots=True)
class _Heard:
    """What has arrived of an answer. No part of it is trusted to have the type that the protocol says (MOD-19)."""

    blocks: dict[int, _Block] = field(default_factory=dict[int, _Block])
    prompt: int = 0
    cached: int = 0
    written: int = 0
    completion: int = 0
    reason: str | None = None

    def pieces(self, event: Any) -> Iterator[Piece]:
        """Yields the pieces of an event; a call once it is complete."""
        match event.type:
            case "message_start":
                usage = getattr(getattr(event, "message", None), "usage", None)
                self.cached = counted_at(usage, "cache_read_input_tokens")
                self.written = counted_at(usage, "cache_creation_input_tokens")
                self.prompt = counted_at(usage, "input_tokens") + self.cached + self.written
            case "content_block_start":
                block, given = getattr(event, "content_block", None), getattr(event.content_block, "input", None)
                self.blocks[counted_at(event, "index")] = _Block(
                    text_at(block, "type"), text_at(block, "name"), given=dict(given) if isinstance(given, dict) else {}
                )
            case "content_block_delta":
                yield from self._delta(counted_at(event, "index"), event.delta)
            case "content_block_stop":
                block = self.blocks.pop(counted_at(event, "index"), None)
                if block is not None and block.kind == "tool_use":
                    yield CallProposed(block.read())
            case "message_delta":
                self.completion = counted_at(getattr(event, "usage", None), "output_tokens") or self.completion
                self.reason = text_at(getattr(event, "delta", None), "stop_reason") or self.reason
            case _:
                pass

    def _delta(self, index: int, delta: Any) -> Iterator[Piece]:
        match getattr(delta, "type", None):
            case "text_delta":
                if text := well_formed(text_at(delta, "text")):
                    yield TextDelta(text)
            case "thinking_delta":
                if thinking := well_formed(text_at(delta, "thinking")):
                    yield ThinkingDelta(thinking)
            case "input_json_delta":
                self.blocks.setdefault(index, _Block("")).arguments += text_at(delta, "partial_json")
            case _:
                pass

    def finish(self) -> Iterator[Piece]:
        """Yields the end. Raises ModelFailed if the stream was cut off."""
        if self.reason is None:
            raise CutOff
        cut = self.reason == "max_tokens"
        yield Ended("length" if cut else "stop", self.prompt, self.cached, self.completion, self.written)


def spell_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Returns the conversation in alternating turns; results are the person's, and join what the person says next."""
    spelled: list[dict[str, Any]] = []
    for message in messages:
        role, blocks = _spell_message(message)
        if not blocks:
            continue
        if spelled and spelled[-1]["role"] == role:
            spelled[-1]["content"] += blocks
        else:
            spelled.append({"role": role, "content": blocks})
    if spelled:
        spelled[-1]["content"][-1] |= _CACHED
    return spelled


def _spell_message(message: Message) -> tuple[str, list[dict[str, Any]]]:
    match message:
        case SystemMessage(text=text) | UserMessage(text=text):
            return "user", [{"type": "text", "text": text or " "}]
        case ToolMessage(call_id=call_id, text=text):
            return "user", [{"type": "tool_result", "tool_use_id": call_id, "content": text}]
        case AssistantMessage(text=text, calls=calls):
            said: list[dict[str, Any]] = [{"type": "text", "text": text}] if text.strip() else []
            used = (
                {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)} for call in calls
            )
            return "assistant", [*said, *used]
        case _:
            assert_never(message)


def spell_tool(tool: ToolSpec) -> dict[str, Any]:
    """Returns a tool as the messages protocol takes it."""
    return {"name": tool.name, "description": tool.description, "input_schema": shown_parameters(tool.parameters)}


def spell_choice(choice: Choice) -> Mapping[str, Any] | None:
    """Returns a choice as the messages protocol takes it, or None if the model may call any tool or none."""
    match choice:
        case None:
            return None
        case Forced(name=name):
            return {"type": "tool", "name": name, "disable_parallel_tool_use": True}
        case Among(names=()):
            return {"type": "none"}
        case Among():
            return None
        case _:
            assert_never(choice)
