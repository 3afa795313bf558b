"""Gemini, and servers that speak its protocol, through Google's own library (MOD-11)."""
# pyright: basic

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, assert_never

from remit_server.errors import ModelFailed
from remit_server.models.ports import (
    AssistantMessage,
    CallProposed,
    Effort,
    Message,
    ProposedCall,
    SystemMessage,
    TextDelta,
    ThinkingDelta,
    ToolMessage,
    ToolSpec,
    UserMessage,
    new_call_id,
)
from remit_server.models.remote.ask import (
    Among,
    Ask,
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
from remit_server.models.remote.engines import PROVIDERS, RemoteReference
from remit_server.models.remote.http_exit import http_options
from remit_server.models.remote.patience import Patience
from remit_server.models.tool_words import shown_parameters
from remit_server.models.unreadable import unreadable

_FOREIGN = b"skip_thought_signature_validator"
"""Takes the place of the signature of a call that another model made, or that was made before a restart."""
_MOST_SIGNATURES = 2_000
_UNREADABLE = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"})
_BUDGETS: Mapping[Effort, int] = {"low": 1_024, "medium": 8_192, "high": 24_576}
"""The tokens that a model before Gemini 3 may think for each effort; later models take the word itself."""

_ANSWERS: ContextVar[list[Any]] = ContextVar("answers")
"""The HTTP answers of a stream, kept to be closed, because the library leaves them open if the reader went away."""


class GoogleClient:
    """A client for one address and one key. `patience.py` retries requests, and the library does not.

    It keeps the signatures that the service puts on calls, because the service wants them back with the conversation.
    """

    def __init__(self, reference: RemoteReference, patience: Patience, key: str | None) -> None:
        """Imports the library, which takes seconds. Raises ImportError if it is not installed."""
        import httpx2
        from google import genai
        from google.genai import errors
        from google.genai.client import DebugConfig

        self._errors, self._lost = errors, httpx2.TransportError
        self._service = Service.of(reference, key)
        self._signatures: dict[str, bytes] = {}
        options = http_options(reference, patience, key, httpx2)
        options["event_hooks"]["response"].append(_note_answer)
        self._http = httpx2.AsyncClient(**options)
        self._types = genai.types
        self._client = genai.Client(
            vertexai=False,
            api_key=key or "none",
            # Otherwise the environment could make the library write conversations into files.
            debug_config=DebugConfig(client_mode=None, replays_directory=None, replay_id=None),
            http_options=genai.types.HttpOptions(
                base_url=reference.endpoint or PROVIDERS["google"].endpoint,
                api_version="v1beta",
                httpx_async_client=self._http,
            ),
        )

    async def describe(self, model: str) -> Served:
        """Ask for the model's window."""
        try:
            found = await self._client.aio.models.get(model=model)
        except self._errors.APIError as error:
            if error.code in {401, 403}:
                raise self._status(error) from error
            return Served("gemini", None)
        except self._lost as error:
            raise self._service.unreachable(error, "start the server, or correct its address") from error
        return Served("gemini", found.input_token_limit)

    async def stream(self, ask: Ask) -> AsyncGenerator[Piece]:
        """Ask, and stream the answer."""
        heard = _Heard(self._signatures)
        opened: list[Any] = []
        _ANSWERS.set(opened)
        try:
            answer = await self._client.aio.models.generate_content_stream(
                model=ask.model,
                contents=spell_contents(ask.messages, self._signatures),
                config=self._types.GenerateContentConfig.model_validate(_settings(ask)),
            )
            async for chunk in answer:
                for piece in heard.pieces(chunk):
                    yield piece
        except self._errors.APIError as error:
            raise self._status(error) from error
        except self._lost as error:
            raise not_reached(error) from error
        finally:
            for each in opened:
                await each.aclose()
        for piece in heard.finish():
            yield piece

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def _status(self, error: Any) -> Exception:
        """Returns the exception for an error of the service's, which answers an unknown key as a bad request."""
        said = self._service.words(str(error.message))
        meant = self._service.refusal(error.code, said, _pause(error))
        unknown_key = type(meant) is ModelFailed and "API key" in said
        return self._service.refused_key(error.code) if unknown_key else meant


async def _note_answer(answer: Any) -> None:
    if (opened := _ANSWERS.get(None)) is not None:
        opened.append(answer)


def _pause(error: Any) -> float | None:
    """Returns the seconds that the service asks to wait, by a header or by a detail of the error, or None."""
    if error.response is not None and (told := retry_after(error.response.headers)) is not None:
        return told
    match error.details:
        case {"error": {"details": [*details]}}:
            delays = [detail.get("retryDelay", "") for detail in details if isinstance(detail, dict)]
            return next((float(each[:-1]) for each in delays if each[:-1].replace(".", "", 1).isdigit()), None)
        case _:
            return None


def _settings(ask: Ask) -> dict[str, Any]:
    system = "\n\n".join(message.text for message in ask.messages if isinstance(message, SystemMessage))
    settings: dict[str, Any] = {
        "system_instruction": system or None,
        "max_output_tokens": ask.max_tokens,
        "temperature": ask.temperature,
        "top_p": ask.top_p,
        "seed": ask.seed or None,
        "automatic_function_calling": {"disable": True},
        "thinking_config": spell_thinking(ask.model, ask.effort),
    }
    if ask.tools:
        settings["tools"] = [{"function_declarations": [spell_tool(tool) for tool in ask.tools]}]
        settings["tool_config"] = {"function_calling_config": spell_choice(ask.choice)}
    if ask.schema is not None:
        settings |= {"response_mime_type": "application/json", "response_json_schema": dict(ask.schema)}
    return settings


def spell_thinking(model: str, effort: Effort | None) -> dict[str, Any]:
    """Returns the setting of how much a model may think: in tokens before Gemini 3, else as a word."""
    if effort is None:
        return {"include_thoughts": True}
    older = model.removeprefix("models/").startswith(("gemini-1", "gemini-2"))
    wanted = {"thinking_budget": _BUDGETS[effort]} if older else {"thinking_level": effort.upper()}
    return {"include_thoughts": True, **wanted}


@dataclass(slots=True)
class _Heard:
    """What has arrived of an answer. The `signatures` of its calls are kept for the next request."""

    signatures: dict[str, bytes]
    usage: Any = None
    reason: str | None = None
    why: str = ""

    def pieces(self, chunk: Any) -> Iterator[Piece]:
        """Yields the pieces of a chunk."""
        self.usage = chunk.usage_metadata or self.usage
        if (blocked := chunk.prompt_feedback) is not None and blocked.block_reason is not None:
            self.reason = blocked.block_reason.value
        for candidate in (chunk.candidates or ())[:1]:
            if candidate.finish_reason is not None:
                self.reason, self.why = candidate.finish_reason.value, candidate.finish_message or ""
            for part in (candidate.content.parts if candidate.content else None) or ():
                yield from self._part(part)

    def _part(self, part: Any) -> Iterator[Piece]:
        if part.function_call is not None:
            call = ProposedCall(new_call_id(), part.function_call.name, part.function_call.args or {})
            if part.thought_signature:
                self._keep(call.id, part.thought_signature)
            yield CallProposed(call)
        elif part.text:
            yield ThinkingDelta(part.text) if part.thought else TextDelta(part.text)

    def _keep(self, call_id: str, signature: bytes) -> None:
        self.signatures[call_id] = signature
        while len(self.signatures) > _MOST_SIGNATURES:
            del self.signatures[next(iter(self.signatures))]

    def finish(self) -> Iterator[Piece]:
        """Yields the end. Raises ModelFailed if the stream was cut off, or the service held the answer back."""
        if self.reason is None:
            raise CutOff
        if self.reason in _UNREADABLE:
            yield CallProposed(unreadable(f"the service could not read it ({self.reason})", self.why))
        elif self.reason not in {"STOP", "MAX_TOKENS"}:
            why = f"it ended with {self.reason}" + (f": {self.why}" if self.why else "")
            raise ModelFailed("the service withheld the answer", why, "ask in other words, or another model")
        yield self._ended()

    def _ended(self) -> Ended:
        prompt = cached = completion = 0
        if (usage := self.usage) is not None:
            prompt, cached = usage.prompt_token_count or 0, usage.cached_content_token_count or 0
            completion = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
        return Ended("length" if self.reason == "MAX_TOKENS" else "stop", prompt, cached, completion)


def spell_contents(messages: Sequence[Message], signatures: Mapping[str, bytes]) -> list[dict[str, Any]]:
    """Returns the conversation in turns; the results of a turn's calls are a turn of their own."""
    spelled: list[dict[str, Any]] = []
    for message in messages:
        match message:
            case SystemMessage():
                pass
            case UserMessage(text=text):
                spelled.append({"role": "user", "parts": [{"text": text or " "}]})
            case ToolMessage(tool=tool, text=text):
                part = {"function_response": {"name": tool, "response": {"result": text}}}
                if spelled and "function_response" in spelled[-1]["parts"][0]:
                    spelled[-1]["parts"].append(part)
                else:
                    spelled.append({"role": "user", "parts": [part]})
            case AssistantMessage(text=text, calls=calls):
                said: list[dict[str, Any]] = [{"text": text}] if text.strip() else []
                if parts := [*said, *_spell_calls(calls, signatures)]:
                    spelled.append({"role": "model", "parts": parts})
            case _:
                assert_never(message)
    return spelled


def _spell_calls(calls: Sequence[ProposedCall], signatures: Mapping[str, bytes]) -> Iterator[dict[str, Any]]:
    """Yields calls with their signatures; the first call has to have one."""
    for number, call in enumerate(calls):
        part: dict[str, Any] = {"function_call": {"name": call.name, "args": dict(call.arguments)}}
        signature = signatures.get(call.id, _FOREIGN if number == 0 else None)
        yield part if signature is None else part | {"thought_signature": signature}


def spell_tool(tool: ToolSpec) -> dict[str, Any]:
    """Returns a tool as a function declaration."""
    parameters = shown_parameters(tool.parameters)
    return {"name": tool.name, "description": tool.description, "parameters_json_schema": parameters}


def spell_choice(choice: Choice) -> dict[str, Any]:
    """Returns a choice as the service takes it: which functions of the list have to be called, or may be."""
    match choice:
        case None:
            return {"mode": "AUTO"}
        case Forced(name=name):
            return {"mode": "ANY", "allowed_function_names": [name]}
        case Among(names=()):
            return {"mode": "NONE"}
        case Among(names=names):
            return {"mode": "VALIDATED", "allowed_function_names": list(names)}
        case _:
            assert_never(choice)
