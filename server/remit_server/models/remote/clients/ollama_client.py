"""Ollama's own protocol, through its own library; only this protocol can set the conversation's window (MOD-11)."""
# pyright: basic

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, assert_never

from remit_server.errors import ModelFailed, ModelUnavailable
from remit_server.models.ports import (
    AssistantMessage,
    CallProposed,
    Message,
    SystemMessage,
    TextDelta,
    ThinkingDelta,
    ToolMessage,
    UserMessage,
)
from remit_server.models.remote.ask import Ask, CutOff, Ended, GapAsk, Piece, Served, Service, not_reached
from remit_server.models.remote.clients.openai_answer import read_call
from remit_server.models.remote.clients.openai_client import spell_tool
from remit_server.models.remote.engines import PROVIDERS, RemoteReference
from remit_server.models.remote.http_exit import http_options
from remit_server.models.remote.patience import Patience
from remit_server.models.unreadable import well_formed

MOST_CONTEXT = 32_768
"""The largest window to ask for, because Ollama takes the memory for it when it loads the model. The model's file may
say more."""

KEEP_ALIVE = "30m"
"""How long Ollama keeps the model loaded. Its default of five minutes is shorter than a person may think."""


class OllamaClient:
    """A client for one address and one key. `patience.py` retries requests."""

    def __init__(self, reference: RemoteReference, patience: Patience, key: str | None) -> None:
        """Imports the library. Raises ImportError if it is not installed."""
        import httpx
        import ollama

        self._ollama, self._lost = ollama, httpx.TransportError
        self._service = Service.of(reference, key)
        self._window: int | None = None
        self._client = ollama.AsyncClient(
            reference.endpoint or PROVIDERS["ollama"].endpoint,
            **http_options(reference, patience, key, httpx),
        )

    async def describe(self, model: str) -> Served:
        """Ask for the model's window; unless a request names one, Ollama silently cuts it off at 4,096 tokens."""
        try:
            shown = await self._client.show(model)
        except self._ollama.ResponseError as error:
            raise self._unavailable(error, model) from error
        except ConnectionError as error:
            fix = "start it with `ollama serve`, or correct its address"
            raise self._service.unreachable(error, fix) from error
        self._window = context_of(shown.modelinfo or {}, shown.parameters or "")
        weights = (shown.modelinfo or {}).get("general.parameter_count")
        fills = None if shown.capabilities is None else "insert" in shown.capabilities
        known = weights if isinstance(weights, int) else None
        return Served("ollama", self._window, parameters=known, fills=fills)

    def stream(self, ask: Ask) -> AsyncGenerator[Piece]:
        """Ask, and stream the answer."""
        lines = self._lines("/api/chat", self._request(ask))
        return self._answer(lines, self._pieces, lambda error: self._status(error, ask.model))

    def fill(self, ask: GapAsk) -> AsyncGenerator[Piece]:
        """Ask for the text of a gap; the model's own template places the two texts."""
        wanted = {"temperature": ask.temperature, "num_ctx": self._window, "num_predict": ask.max_tokens}
        request = {
            "model": ask.model,
            "prompt": ask.gap.before,
            "suffix": ask.gap.after,
            "stream": True,
            "keep_alive": KEEP_ALIVE,
            "options": {name: value for name, value in wanted.items() if value is not None},
        }

        def refused(error: Any) -> Exception:
            cannot = self._service.cannot_fill(error.status_code, self._service.words(str(error.error)))
            return cannot or self._status(error, ask.model)

        return self._answer(self._lines("/api/generate", request), self._gap_pieces, refused)

    async def _lines(self, path: str, body: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """Yields the lines of an answer as JSON objects; not all that servers send fits the library's types (MOD-19).

        The library's reader would also end at an empty line.
        """
        async with self._client._client.stream("POST", path, json=body) as response:  # noqa: SLF001
            if not response.is_success:
                await response.aread()
                raise self._ollama.ResponseError(response.text, response.status_code)
            async for line in response.aiter_lines():
                chunk = json.loads(line) if line.strip() else {}
                if said := chunk.get("error"):
                    raise self._ollama.ResponseError(str(said))
                yield chunk

    async def _answer(
        self, chunks: AsyncGenerator[Any], read: Callable[[Any], Iterator[Piece]], refused: Callable[[Any], Exception]
    ) -> AsyncGenerator[Piece]:
        """Yields the pieces, and the end last, even if the server sent pieces after it. Raises what `refused` makes of
        an error that the server answers with."""
        ended: Ended | None = None
        try:
            async with aclosing(chunks):
                async for chunk in chunks:
                    for piece in read(chunk):
                        if isinstance(piece, Ended):
                            ended = piece
                        else:
                            yield piece
        except self._ollama.ResponseError as error:
            raise refused(error) from error
        except (ConnectionError, self._lost) as error:
            raise not_reached(error) from error
        if ended is None:
            raise CutOff
        yield ended

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()  # type: ignore[no-untyped-call]

    def _request(self, ask: Ask) -> dict[str, Any]:
        wanted = {"temperature": ask.temperature, "top_p": ask.top_p, "num_ctx": self._window}
        options = {name: value for name, value in wanted.items() if value is not None}
        request: dict[str, Any] = {
            "model": ask.model,
            "messages": spell_messages(ask.messages),
            "stream": True,
            "keep_alive": KEEP_ALIVE,
            "options": {**options, "num_predict": ask.max_tokens, **({"seed": ask.seed} if ask.seed else {})},
        }
        if ask.tools:
            request["tools"] = [spell_tool(tool) for tool in ask.tools]
        if ask.schema is not None:
            request["format"] = dict(ask.schema)
        if ask.effort is not None:
            request["think"] = ask.effort
        return request

    def _pieces(self, chunk: Mapping[str, Any]) -> Iterator[Piece]:
        """Yields the pieces of a line. No part of it is trusted to have the type that the protocol says (MOD-19)."""
        message = chunk.get("message")
        told = message if isinstance(message, dict) else {}
        if isinstance(thinking := told.get("thinking"), str) and thinking:
            yield ThinkingDelta(well_formed(thinking))
        if isinstance(text := told.get("content"), str) and text:
            yield TextDelta(well_formed(text))
        calls = told.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            yield CallProposed(read_call(*_spelled(call)))
        if chunk.get("done") is True:
            yield self._ended(chunk)

    def _gap_pieces(self, chunk: Mapping[str, Any]) -> Iterator[Piece]:
        if isinstance(text := chunk.get("response"), str) and text:
            yield TextDelta(well_formed(text))
        if chunk.get("done") is True:
            yield self._ended(chunk)

    def _ended(self, chunk: Mapping[str, Any]) -> Ended:
        """Returns the end. Raises ModelFailed if the server has cut the conversation to make it fit."""
        prompt, completion = _whole(chunk.get("prompt_eval_count")), _whole(chunk.get("eval_count"))
        if self._window is not None and prompt >= self._window:
            why = f"its prompt fills all {self._window:,} tokens of the context, so the beginning was left out"
            fix = "set `num_ctx` in the model's file to more, or ask for less at once"
            raise ModelFailed(f"`{self._service.host}` has cut the conversation", why, fix)
        cut = chunk.get("done_reason") == "length"
        return Ended("length" if cut else "stop", prompt_tokens=prompt, completion_tokens=completion)

    def _status(self, error: Any, model: str) -> Exception:
        said = self._service.words(str(error.error))
        if error.status_code < 0:  # the error came within the stream
            return self._service.broken_off(said)
        if error.status_code == 404:
            return self._unavailable(error, model)
        return self._service.refusal(error.status_code, said, too_long=(400, 413, 500))

    def _unavailable(self, error: Any, model: str) -> ModelUnavailable:
        said = self._service.words(str(error.error))
        if error.status_code == 404:
            fix = f"fetch it with `ollama pull {model}`"
            return ModelUnavailable(f"`{self._service.host}` has no model `{model}`", said, fix)
        if error.status_code in {401, 403}:
            return self._service.refused_key(error.status_code)
        return ModelUnavailable(f"`{self._service.host}` cannot be used", said, "see the server's log")


def _spelled(call: object) -> tuple[str, str]:
    """Returns a call's name, and its arguments as JSON text; some servers already send them as text."""
    match call:
        case {"function": {"name": str(name), **more}}:
            given = more.get("arguments")
            return name, given if isinstance(given, str) else json.dumps({} if given is None else given)
        case _:
            return "", json.dumps(call)


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def context_of(info: Mapping[str, Any], parameters: str) -> int | None:
    """Returns the window in tokens that the model's file states, or else the model's own up to `MOST_CONTEXT`."""
    for line in parameters.splitlines():
        match line.split():
            case ["num_ctx", number] if number.isdecimal():
                return int(number)
            case _:
                pass
    stated = [value for key, value in info.items() if key.endswith(".context_length") and isinstance(value, int)]
    return min(stated[0], MOST_CONTEXT) if stated else None


def spell_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Returns the conversation as Ollama takes it: calls have no ids, results name their tool."""
    return [_spell_message(message) for message in messages]


def _spell_message(message: Message) -> dict[str, Any]:
    match message:
        case SystemMessage(text=text):
            return {"role": "system", "content": text}
        case UserMessage(text=text):
            return {"role": "user", "content": text}
        case ToolMessage(tool=tool, text=text):
            return {"role": "tool", "tool_name": tool, "content": text}
        case AssistantMessage(text=text, calls=calls):
            spelled: dict[str, Any] = {"role": "assistant", "content": text}
            if calls:
                spelled["tool_calls"] = [
                    {"function": {"name": call.name, "arguments": dict(call.arguments)}} for call in calls
                ]
            return spelled
        case _:
            assert_never(message)
