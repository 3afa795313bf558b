"""The local model as a provider: a process started on first use, and again after it died (agent.md §Model engine)."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import assert_never

from pydantic import JsonValue

from remit_governance.values import Intent
from remit_server.errors import ModelUnavailable
from remit_server.models import wire
from remit_server.models.embedded.guiding import guided
from remit_server.models.ports import (
    AssistantMessage,
    CallProposed,
    Finished,
    GenerateRequest,
    Message,
    ModelEvent,
    ModelState,
    ProposedCall,
    SystemMessage,
    TextDelta,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from remit_server.models.process import START_TIMEOUT_S, HostProcess

EMBEDDED = "embedded"
"""The reference of the model that ships with Remit."""


class MlxProvider:
    """A `ModelProvider` over the model process. Requests that come together are worked off in order."""

    def __init__(self, reference: str, *, start_timeout_s: float = START_TIMEOUT_S) -> None:
        """`reference` is `embedded` or the path of a folder in MLX format; nothing is started yet."""
        self._reference = absolute(reference)
        self._start_timeout_s = start_timeout_s
        self._start: asyncio.Task[HostProcess] | None = None
        self._closed = False

    @property
    def name(self) -> str:
        """`embedded`, or the folder's name."""
        return self._reference if self._reference == EMBEDDED else Path(self._reference).name

    @property
    def state(self) -> ModelState:
        """What a status bar shows."""
        if self._start is None or self._closed:
            return "stopped"
        if not self._start.done():
            return "starting"
        host = _host_of(self._start)
        if host is None or not host.alive:
            return "failed"
        return "busy" if host.busy else "ready"

    @property
    def reads_context(self) -> bool:
        """The embedded model has never seen any."""
        return self._reference != EMBEDDED

    @property
    def pid(self) -> int | None:
        """The model process, while there is one."""
        host = _host_of(self._start) if self._start is not None and self._start.done() else None
        return host.pid if host is not None and host.alive else None

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[ModelEvent]:
        """Stream one generation, as `ModelProvider.generate` says."""
        host = await self._host()
        request, sentence = guided(request) if self._reference == EMBEDDED else (request, None)
        async with aclosing(host.generate(to_wire(request))) as events:
            async for event in events:
                match event:
                    case wire.Progress():
                        continue
                    case wire.Delta(text=text) if sentence is not None:
                        sentence.add(text)
                    case wire.Delta(text=text):
                        yield TextDelta(text)
                    case wire.Call(name=name, arguments=arguments):
                        yield CallProposed(ProposedCall(f"call_{uuid.uuid4().hex[:12]}", name, arguments))
                    case wire.Finished():
                        if sentence is not None:
                            yield TextDelta(sentence.text)
                        yield _finished(event)
                    case _:
                        assert_never(event)

    async def close(self) -> None:
        """Stop the model process, by force if it does not stop by itself. Idempotent."""
        self._closed = True
        start, self._start = self._start, None
        if start is None:
            return
        if not start.done():
            start.cancel()
        await asyncio.wait([start])
        host = _host_of(start)
        if host is not None:
            await host.close()

    async def _host(self) -> HostProcess:
        """Return the process, started if there is none or if the last one died. Raises ModelUnavailable."""
        if self._closed:
            fix = "restart the server"
            raise ModelUnavailable("the model cannot be asked", "it was shut down", fix)
        if self._start is None or (self._start.done() and not _usable(self._start)):
            self._start = asyncio.create_task(HostProcess.start(self._reference, self._start_timeout_s))
            self._start.add_done_callback(_host_of)
        # Whoever gives up waiting does not stop the start: others wait for it too, or will.
        return await asyncio.shield(self._start)


def absolute(reference: str) -> str:
    """Return a model reference that means the same in any folder."""
    return reference if reference == EMBEDDED else str(Path(reference).expanduser().absolute())


def to_wire(request: GenerateRequest) -> wire.Generate:
    """Spell a request for the model process, under a new id."""
    return wire.Generate(
        id=uuid.uuid4().hex,
        session_id=request.session_id,
        messages=tuple(_message(message) for message in request.messages),
        intents=_intents(request.intents),
        max_tokens=request.max_tokens,
        temperature=request.temperature,
        seed=request.seed,
        answer_schema=dict(request.answer_schema) if request.answer_schema is not None else None,
    )


def _intents(intents: Mapping[Intent, tuple[ToolSpec, ...]]) -> dict[str, tuple[wire.ToolSchema, ...]]:
    return {
        intent.value: tuple(
            wire.ToolSchema(name=tool.name, description=tool.description, parameters=dict(tool.parameters))
            for tool in tools
        )
        for intent, tools in intents.items()
    }


def _message(message: Message) -> wire.ChatMessage:
    match message:
        case SystemMessage(text):
            return wire.ChatMessage(role="system", content=text)
        case UserMessage(text):
            return wire.ChatMessage(role="user", content=text)
        case AssistantMessage(text, calls):
            return wire.ChatMessage(role="assistant", content=text, tool_calls=tuple(map(_call, calls)))
        case ToolMessage(call_id, tool, text):
            return wire.ChatMessage(role="tool", content=text, tool_call_id=call_id, name=tool)
        case _:
            assert_never(message)


def _call(call: ProposedCall) -> wire.CallSpelling:
    arguments: dict[str, JsonValue] = dict(call.arguments)
    return wire.CallSpelling(id=call.id, name=call.name, arguments=arguments)


def _finished(event: wire.Finished) -> Finished:
    # `cancelled` is only ever sent to a stream that nobody listens to, or to one that a shutdown cut off.
    if event.reason == "cancelled":
        raise ModelUnavailable("the model stopped", "it was shut down while it answered", "ask again", retryable=True)
    return Finished(event.reason, event.prompt_tokens, event.cached_tokens, event.completion_tokens)


def _usable(start: asyncio.Task[HostProcess]) -> bool:
    host = _host_of(start)
    return host is not None and host.alive


def _host_of(start: asyncio.Task[HostProcess]) -> HostProcess | None:
    """Return what a finished start came to: None if it failed."""
    return None if start.cancelled() or start.exception() is not None else start.result()
