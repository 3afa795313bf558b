"""OpenAI's chat completions, and every server that speaks them, through its own library (MOD-11)."""
# pyright: basic

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, assert_never

from remit_server.errors import ModelUnavailable, PromptTooLong
from remit_server.models.ports import AssistantMessage, Message, SystemMessage, ToolMessage, ToolSpec, UserMessage
from remit_server.models.remote.ask import (
    TOO_LONG,
    Among,
    Ask,
    Choice,
    Ended,
    Forced,
    GapAsk,
    Piece,
    Served,
    Service,
    not_reached,
    numbers_in,
    retry_after,
)
from remit_server.models.remote.clients.openai_answer import Heard, fills_gaps, gap_request, read_gap, told_error
from remit_server.models.remote.engines import OWNERS, PROVIDERS, STARTED_WITH, RemoteReference
from remit_server.models.remote.http_exit import http_options
from remit_server.models.remote.patience import Patience
from remit_server.models.tool_words import shown_parameters

_DESCRIBE_S = 10.0
_CUT = re.compile(r"does not match the expected [\w-]+ format")
"""The error with which llama-server ends a stream that reached its token limit within a schema."""
_READ = re.compile(r": keepalive (\d{1,9})/(\d{1,9})")
"""The comment that mlx_lm's server writes between events while it reads a prompt."""
_OLLAMA_WINDOW = 4_096
"""The tokens that Ollama reads over this protocol, which cannot ask for more; Ollama silently cuts off the rest."""


_NOT_THERE = 404
_NOT_TAKEN = frozenset({400, 422})
_CAN_BE_LEFT_OUT = (
    "stream_options",
    "reasoning_effort",
    "seed",
    "top_p",
    "temperature",
    "tool_choice",
    "return_progress",
)


def _marked_stream(openai: Any, chunk: Any) -> Any:
    """Returns the library's stream class with what that drops: whether the server said that the stream is over, and the
    comments that tell how much of the prompt was read."""
    from openai._streaming import ServerSentEvent, SSEDecoder

    class Telling(SSEDecoder):
        def decode(self, line: str) -> ServerSentEvent | None:
            told = _READ.fullmatch(line)
            if told is None:
                return super().decode(line)
            progress = {"processed": int(told[1]), "total": int(told[2])}
            return ServerSentEvent(data=json.dumps({"choices": [], "prompt_progress": progress}))

    class MarkedStream(openai.AsyncStream[chunk]):  # type: ignore[misc]
        is_over = False

        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self._decoder = Telling()

        async def _iter_events(self) -> AsyncGenerator[Any]:
            async for event in super()._iter_events():
                self.is_over = self.is_over or event.data.startswith("[DONE]")
                yield event

    return MarkedStream


class OpenAIClient:
    """A client for one address and one key. `patience.py` retries requests, and the library does not."""

    def __init__(self, reference: RemoteReference, patience: Patience, key: str | None) -> None:
        """Imports the library, which takes a second. Raises ImportError if it is not installed."""
        import httpx2
        import openai
        from openai.types.chat import ChatCompletionChunk

        self._openai = openai
        self._service = Service.of(reference, key)
        self._own = reference.endpoint is None
        self._left_out: set[str] = set()
        self._any_tool = False
        self._window: int | None = None
        self._tells_progress = False
        self._chunk = ChatCompletionChunk
        self._stream = _marked_stream(openai, self._chunk)
        self._client = openai.AsyncOpenAI(
            api_key=key or "none",
            base_url=reference.endpoint or PROVIDERS["openai"].endpoint,
            max_retries=0,
            http_client=httpx2.AsyncClient(**http_options(reference, patience, key, httpx2)),
            timeout=None,
        )

    async def describe(self, model: str) -> Served:
        """Ask for the list of models; the owner of a model tells the engine."""
        try:
            found = [each.model_dump() async for each in self._client.models.list(timeout=_DESCRIBE_S)]
        except self._openai.NotFoundError:
            return Served("openai" if self._own else "other", None, self._named(model, ()))
        except self._openai.APIError as error:
            raise self._unavailable(error) from error
        except ValueError:  # mlx_lm's server sends an empty answer if its machine has no folder for models of the hub
            return Served("mlx_lm", None, model or STARTED_WITH)
        if not model and len(found) > 1 and all(_engine_of(each, model) == "mlx_lm" for each in found):
            model = STARTED_WITH
        model = self._named(model, [str(each.get("id")) for each in found])
        row = next((each for each in found if each.get("id") == model), found[0] if found else {})
        if self._own:
            return Served("openai", None)
        self._tells_progress = (engine := _engine_of(row, model)) == "llama.cpp"
        only = str(found[0].get("id")) if len(found) == 1 and engine != "mlx_lm" else model
        other = only if only != model else None
        return Served(engine, _window_of(row), model, _weights_of(row), fills_gaps(row), other)

    def _named(self, model: str, listed: Sequence[str]) -> str:
        """Returns the model to ask: the server's only model if none was named. Raises ModelUnavailable."""
        if model or len(listed) == 1:
            return model or listed[0]
        has = f"it lists {', '.join(listed[:10])}" if listed else "it lists no models"
        raise ModelUnavailable(f"`{self._service.host}` was not told which model to ask", has, "name one with --model")

    async def stream(self, ask: Ask) -> AsyncGenerator[Piece]:
        """Ask, and stream the answer."""
        try:
            answer = await self._begin(ask)
            async with answer:
                heard = Heard()
                async for chunk in answer:
                    for piece in heard.pieces(chunk):
                        yield piece
                for piece in heard.finish(done=answer.is_over):
                    yield piece
        except self._openai.APIError as error:
            if not _CUT.search(str(error)):
                raise self._failure(error) from error
            yield Ended("length")

    async def _begin(self, ask: Ask) -> Any:
        """Sends the request; if the server refuses a field, repeats it without that field, now and from then on."""
        while True:
            body = {name: value for name, value in self._request(ask).items() if name not in self._left_out}
            if self._any_tool and "tool_choice" in body:
                body["tool_choice"] = "required"
            try:
                return await self._client.post(
                    "/chat/completions",
                    body=body,
                    cast_to=self._chunk,
                    stream=True,
                    stream_cls=self._stream,
                )
            except self._openai.APIStatusError as error:
                said = told_error(error)
                if error.status_code not in _NOT_TAKEN or not (self._reserve_less(said) or self._leave_out(body, said)):
                    raise

    def _reserve_less(self, said: str) -> bool:
        """Remembers the window that a server names in an error, so that less is reserved for the answer: the reserve
        counts towards the window there. Returns False if the window is known already, or less would not help."""
        window, tokens = numbers_in(said) if TOO_LONG.search(said) else (0, 0)
        if not window or self._window == window or tokens + answer_share(window) > window:
            return False
        self._window = window
        return True

    def _leave_out(self, body: Mapping[str, Any], said: str) -> bool:
        """Remembers which field of the request the server's error refuses. Returns False if it names none."""
        if "tool_choice" in said and isinstance(body.get("tool_choice"), dict) and not self._any_tool:
            self._any_tool = True
            return True
        named = next((name for name in _CAN_BE_LEFT_OUT if name in said and name in body), None)
        if named is not None:
            self._left_out.add(named)
        return named is not None

    async def fill(self, ask: GapAsk) -> AsyncGenerator[Piece]:
        """Ask for the text of a gap, and stream it."""
        path, body = gap_request(ask, str(self._client.base_url))
        try:
            answer = await self._client.post(
                path, body=body, cast_to=object, stream=True, stream_cls=self._openai.AsyncStream[object]
            )
            async with answer:
                async for piece in read_gap(answer):
                    yield piece
        except self._openai.APIStatusError as error:
            cannot = self._service.cannot_fill(error.status_code, self._service.words(told_error(error)))
            raise cannot or self._failure(error) from error
        except self._openai.APIError as error:
            raise self._failure(error) from error

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _request(self, ask: Ask) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": ask.model,
            "messages": spell_messages(ask.messages),
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_completion_tokens" if self._own else "max_tokens": ask.max_tokens
            if self._window is None
            else min(ask.max_tokens, answer_share(self._window)),
        }
        wanted = {"temperature": ask.temperature, "top_p": ask.top_p, "reasoning_effort": ask.effort}
        request |= {name: value for name, value in wanted.items() if value is not None}
        if ask.seed:
            request["seed"] = ask.seed
        if self._tells_progress:
            request["return_progress"] = True
        if ask.tools:
            request["tools"] = [spell_tool(tool) for tool in ask.tools]
            if (choice := spell_choice(ask.choice, ask.tools)) is not None:
                request["tool_choice"] = choice
        if ask.schema is not None:
            schema = {"name": "step", "schema": dict(ask.schema)}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
        return request

    def _failure(self, error: Any) -> Exception:
        """Returns the exception to raise for an error of the library's."""
        if isinstance(error, self._openai.APIStatusError):
            return self._status(error)
        if isinstance(error, self._openai.APITimeoutError | self._openai.APIConnectionError):
            return not_reached(error)
        # The error came as a part of the stream, or the stream was cut off.
        said = self._service.words(str(error))
        if TOO_LONG.search(said):
            return self._service.too_long(said, *numbers_in(said))
        return self._service.broken_off(said)

    def _status(self, error: Any) -> Exception:
        status, said = error.status_code, self._service.words(told_error(error))
        wait_s = retry_after(error.response.headers)
        if status == _NOT_THERE:
            fix = "name a model that the server has, or start it with one; its log says more"
            return self._service.refusal(status, said, wait_s, fix=fix)
        meant = self._service.refusal(status, said, wait_s, too_long=(400, 413, 500))
        match error.body:
            case {"n_prompt_tokens": int(tokens), "n_ctx": int(window)} if isinstance(meant, PromptTooLong):
                return self._service.too_long(said, window, tokens)
            case _:
                return meant

    def _unavailable(self, error: Any) -> ModelUnavailable:
        if isinstance(error, self._openai.AuthenticationError | self._openai.PermissionDeniedError):
            return self._service.refused_key(error.status_code)
        return self._service.unreachable(error, "start the server, or correct its address")


def spell_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Returns the conversation as chat completions take it."""
    return [_spell_message(message) for message in messages]


def _spell_message(message: Message) -> dict[str, Any]:
    match message:
        case SystemMessage(text=text):
            return {"role": "system", "content": text}
        case UserMessage(text=text):
            return {"role": "user", "content": text}
        case ToolMessage(call_id=call_id, text=text):
            return {"role": "tool", "tool_call_id": call_id, "content": text}
        case AssistantMessage(text=text, calls=calls):
            spelled: dict[str, Any] = {"role": "assistant", "content": text if text.strip() else None}
            if calls:
                spelled["tool_calls"] = [
                    {
                        "id": call.id,
                        "type": "function",
                        "function": {
                            "name": call.name,
                            "arguments": json.dumps(dict(call.arguments), ensure_ascii=False),
                        },
                    }
                    for call in calls
                ]
            return spelled
        case _:
            assert_never(message)


def spell_tool(tool: ToolSpec) -> dict[str, Any]:
    """Returns a tool as chat completions take it."""
    function = {"name": tool.name, "description": tool.description, "parameters": shown_parameters(tool.parameters)}
    return {"type": "function", "function": function}


def spell_choice(choice: Choice, tools: Sequence[ToolSpec]) -> Any:
    """Returns a choice as chat completions take it, or None if the model may call any tool or none."""
    match choice:
        case None:
            return None
        case Forced(name=name):
            return {"type": "function", "function": {"name": name}}
        case Among(names=()):
            return "none"
        case Among(names=names) if len(names) == len(tools):
            return None
        case Among(names=names):
            allowed = [{"type": "function", "function": {"name": name}} for name in names]
            return {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": allowed}}
        case _:
            assert_never(choice)


def answer_share(window: int) -> int:
    """Returns the tokens to reserve for an answer if the server wants prompt and reserve to fit the window together."""
    return window // 4


def _engine_of(row: Mapping[str, Any], model: str) -> str:
    owner = row.get("owned_by")
    if owner is None and (row or model == STARTED_WITH):
        return "mlx_lm"
    return OWNERS.get(str(owner), "other")


def _window_of(row: Mapping[str, Any]) -> int | None:
    if row.get("owned_by") == "library":
        return _OLLAMA_WINDOW
    meta = row.get("meta")
    places = (row.get("max_model_len"), row.get("context_length"), *_meta_windows(meta))
    return next((size for size in places if isinstance(size, int) and size > 0), None)


def _weights_of(row: Mapping[str, Any]) -> int | None:
    match row.get("meta"):
        case {"n_params": int(weights)}:
            return weights
        case _:
            return None


def _meta_windows(meta: object) -> tuple[object, ...]:
    return (meta.get("n_ctx"), meta.get("n_ctx_train")) if isinstance(meta, dict) else ()
