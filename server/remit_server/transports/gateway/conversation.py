"""Open sessions with their exchanges and times of use, and the model's answers, given as much of them as fits (GW-03).

The present time is always an argument.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

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

MOST_SESSIONS = 1_000
MOST_KEPT = 1_000_000
"""The most characters that a session stores, with its instructions; the oldest exchanges are dropped first."""
MOST_KEPT_IN_ALL = 32_000_000
"""The most characters of all sessions together, with the running questions."""
USUAL_INSTRUCTIONS = "You are a helpful assistant."


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question and its answer, as the model saw them."""

    question: str
    answer: str

    @property
    def length(self) -> int:
        """The length in characters."""
        return len(self.question) + len(self.answer)


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation. `used` is the time of its last use, in seconds; `running` counts its running messages."""

    instructions: str
    used: float
    exchanges: tuple[Exchange, ...] = ()
    running: int = 0

    @property
    def kept(self) -> int:
        """The number of characters in the session's instructions and exchanges."""
        return len(self.instructions) + sum(exchange.length for exchange in self.exchanges)


class TooManySessions(Exception):
    """A session or message was refused: the stored text has reached the limit."""


class Sessions:
    """All open sessions by id."""

    def __init__(self) -> None:
        self._open: dict[str, Session] = {}
        self._kept = 0
        self._asked = 0

    def open(self, session_id: str, instructions: str | None, now: float) -> None:
        """Adds a session. Raises TooManySessions."""
        if len(self._open) >= MOST_SESSIONS:
            raise TooManySessions(f"{MOST_SESSIONS} sessions are open, close some")
        session = Session(USUAL_INSTRUCTIONS if instructions is None else instructions, now)
        if session.kept > MOST_KEPT:
            raise TooManySessions(f"the instructions have more than {MOST_KEPT} characters")
        self._must_have_room(session.kept)
        self._open[session_id] = session
        self._kept += session.kept

    def get(self, session_id: str) -> Session | None:
        """Returns the session of that id, if it is open."""
        return self._open.get(session_id)

    def begin(self, session_id: str, now: float, length: int) -> Session | None:
        """Registers a message of `length` characters. Returns its session, or None if that is not open. Raises
        TooManySessions.

        For every message that was begun, `end` has to be called, even if its session is closed meanwhile.
        """
        session = self._open.get(session_id)
        if session is not None:
            self._must_have_room(length)
            self._asked += length
            self._open[session_id] = replace(session, used=now, running=session.running + 1)
        return session

    def end(self, session_id: str, now: float, length: int, exchanges: tuple[Exchange, ...] | None) -> None:
        """Registers a message's end; `exchanges` are the session's from now on, or None if the message failed."""
        self._asked -= length
        session = self._open.get(session_id)
        if session is not None:
            said = session.exchanges if exchanges is None else _newest(exchanges, MOST_KEPT - len(session.instructions))
            ended = replace(session, used=now, running=session.running - 1, exchanges=said)
            self._kept += ended.kept - session.kept
            self._open[session_id] = ended

    def close(self, session_id: str) -> bool:
        """Removes a session. Returns False if it is not open."""
        session = self._open.pop(session_id, None)
        if session is not None:
            self._kept -= session.kept
        return session is not None

    def idle(self, now: float, timeout_s: float) -> tuple[str, ...]:
        """Returns the ids of the sessions that were not used for longer than `timeout_s` seconds."""
        return tuple(
            session_id
            for session_id, session in self._open.items()
            if session.running == 0 and now - session.used > timeout_s
        )

    def __len__(self) -> int:
        return len(self._open)

    def _must_have_room(self, length: int) -> None:
        """Raises TooManySessions if `length` more characters exceed the limit of all sessions."""
        if self._kept + self._asked + length > MOST_KEPT_IN_ALL:
            raise TooManySessions(f"the open sessions keep more than {MOST_KEPT_IN_ALL} characters, close some")


def _newest(exchanges: tuple[Exchange, ...], most: int) -> tuple[Exchange, ...]:
    """Returns the newest exchanges that fit into `most` characters, or none if the last one does not fit."""
    first = len(exchanges)
    while first > 0 and exchanges[first - 1].length <= most:
        first -= 1
        most -= exchanges[first].length
    return exchanges[first:]


MOST_EXCHANGES = 200
"""The most exchanges that a session stores, even if the model could read more, or if its template shows fewer."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, the session's exchanges including it, and how many older ones were dropped because they
    did not fit."""

    value: JsonValue
    exchanges: tuple[Exchange, ...]
    finished: Finished
    forgotten: int


@dataclass(frozen=True, slots=True)
class Listener:
    """Receives an answer while it is generated. `on_restart` is called if it begins again, so its text
    so far is void."""

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
    """Asks the model. If the conversation leaves no room for an answer, asks again without the older half of the
    exchanges.

    So a question that can be answered by itself is answered. Half of the exchanges are dropped at once, because after
    any change the model has to read all the rest again. Raises ModelUnavailable and ModelFailed; the session is then
    unchanged.
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
    """Returns the newer half of the exchanges, and drops at least one."""
    return exchanges[(len(exchanges) + 1) // 2 :]


async def _attempt(
    provider: ModelProvider, request: GenerateRequest, listener: Listener | None, *, last: bool
) -> Answered | None:
    """Asks once. Returns None if the conversation is too long and a shorter one can still be tried."""
    try:
        answer = await stream_answer(provider, request, listener.on_text if listener is not None else None)
    except PromptTooLong:
        if last:
            raise
        return None
    return None if answer.crowded(request.max_tokens, provider.context_tokens) and not last else answer
