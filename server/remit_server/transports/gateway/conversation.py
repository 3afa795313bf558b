"""Asks a session's model, with as many earlier exchanges as fit (GW-03)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic import JsonValue

from remit_server.errors import PromptTooLong
from remit_server.models.answers import Answered, AnswerFormat, OnText, schema_of, stream_answer, value_of
from remit_server.models.ports import (
    AssistantMessage,
    Finished,
    GenerateRequest,
    Message,
    ModelProvider,
    SystemMessage,
    UserMessage,
)
from remit_server.transports.gateway.sessions import Exchange, Session

MOST_EXCHANGES = 200
"""A session stores no more exchanges, even if the model could read more, or its template shows it fewer."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, the session's exchanges with it, and how many older ones were left out for want of room."""

    value: JsonValue
    exchanges: tuple[Exchange, ...]
    finished: Finished
    forgotten: int


@dataclass(frozen=True, slots=True)
class Listener:
    """Receives an answer while it is generated; `restart`: it begins again, and its text so far is void."""

    on_text: OnText
    on_restart: Callable[[], Awaitable[None]]


async def converse(
    provider: ModelProvider,
    session_id: str,
    session: Session,
    question: str,
    wanted: AnswerFormat,
    *,
    max_tokens: int,
    listener: Listener | None = None,
) -> Reply:
    """Asks, and where the conversation leaves no room asks again without the older half of the exchanges.

    So a question that can be answered by itself is answered. Half of them are dropped at once, because after any change
    the model has to read all the rest again. Raises ModelUnavailable and ModelFailed; the session is then unchanged.
    """
    exchanges = session.exchanges if len(session.exchanges) < MOST_EXCHANGES else _newer_half(session.exchanges)
    while True:
        request = GenerateRequest(
            session_id=session_id,
            messages=messages(session.instructions, exchanges, question),
            intents={},
            max_tokens=max_tokens,
            answer_schema=schema_of(wanted),
        )
        answer = await _attempt(provider, request, listener, last=not exchanges)
        if answer is not None:
            said = (*exchanges, Exchange(question, answer.text))
            forgotten = len(session.exchanges) - len(exchanges)
            return Reply(value_of(wanted, answer), said, answer.finished, forgotten)
        exchanges = _newer_half(exchanges)
        if listener is not None:
            await listener.on_restart()


def messages(instructions: str, exchanges: tuple[Exchange, ...], question: str) -> tuple[Message, ...]:
    """Returns the whole conversation for a provider."""
    before = (m for e in exchanges for m in (UserMessage(e.question), AssistantMessage(e.answer)))
    standing = (SystemMessage(instructions),) if instructions else ()
    return (*standing, *before, UserMessage(question))


def _newer_half(exchanges: tuple[Exchange, ...]) -> tuple[Exchange, ...]:
    """Returns the newer half of the exchanges; at least one is dropped."""
    return exchanges[(len(exchanges) + 1) // 2 :]


async def _attempt(
    provider: ModelProvider, request: GenerateRequest, listener: Listener | None, *, last: bool
) -> Answered | None:
    """Tries once. Returns None where the conversation is too long, and a shorter one may not be."""
    try:
        answer = await stream_answer(provider, request, listener.on_text if listener is not None else None)
    except PromptTooLong:
        if last:
            raise
        return None
    return None if answer.crowded(request.max_tokens, provider.context_tokens) and not last else answer
