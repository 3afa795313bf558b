"""One client that runs turns by messages, over lines on a pipe or a WebSocket (TRN-01, TRN-03).

Every message is answered, by one or more messages, and a slow reader holds up no turn. Absent: bytes and connections,
which the transports know.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

from pydantic import ValidationError

from remit_server.contract import (
    AgentEvent,
    ApprovalAnswer,
    ApprovalRequired,
    ApprovalResolved,
    ErrorCode,
    ErrorPayload,
    RunRequest,
)
from remit_server.contract.refused import describe_problems, refuse_request
from remit_server.contract.streamed import ClientMessage, MessageId, ServerMessage
from remit_server.errors import RemitError
from remit_server.harness.ports import NEVER_ASK, AskingStyle, Unasked
from remit_server.json_bounds import has_too_many_values
from remit_server.runtime.runtime import Runtime
from remit_server.runtime.turns.turn_streams import TurnStream, TurnStreams

log = logging.getLogger(__name__)

NOBODY_LEFT = "the client sends nothing any more, so nobody can answer"
_GONE = Unasked(NOBODY_LEFT, "keep the client's side open while a turn runs, or allow it in the policy")
Approving = Literal["ask", "never", "session"]
Send = Callable[[ServerMessage], Awaitable[None]]


@dataclass(slots=True)
class StreamAnswers:
    """How the client of a stream is asked: by its events, until it stops sending. With `approving` as `session` every
    question is answered yes, with `never` every one no."""

    approving: Approving = "ask"
    gone: bool = False

    @property
    def unasked(self) -> Unasked:
        """Why nobody is asked, while `style` is `never`."""
        return _GONE if self.gone else NEVER_ASK

    @property
    def style(self) -> AskingStyle:
        """How questions are asked from now on."""
        styles: dict[Approving, AskingStyle] = {"ask": "stream", "never": "never", "session": "beforehand"}
        return styles[self.approving]

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        """Returns the yes that was given beforehand, for exactly this question."""
        return ApprovalAnswer(approval_id=question.approval_id, decision="allow", digest=question.digest)


def read_message(data: bytes) -> ClientMessage | ErrorPayload:
    """Returns the message, or the error to send if it cannot be used."""
    what = "this message was refused"
    if has_too_many_values(data):
        return refuse_request(what, "it holds too many values", "send less in one message")
    try:
        given = json.loads(data)
    except (ValueError, RecursionError) as error:
        return refuse_request(what, f"it is not JSON: {error}", "send one JSON object")
    try:
        return ClientMessage.model_validate(given)
    except ValidationError as error:
        return refuse_request(what, describe_problems(error), "send what the contract's JSON Schema describes")


class StreamedClient:
    """One connected client. `send` writes one message, and waits while the reader is slow."""

    def __init__(self, runtime: Runtime, turns: TurnStreams, send: Send, approving: Approving = "ask") -> None:
        self._runtime, self._turns, self._send = runtime, turns, send
        self._answers = StreamAnswers(approving)
        self._unanswered: set[str] = set()
        self._working: set[asyncio.Task[None]] = set()
        self._asked_for: list[RunRequest] = []
        self.shut_down = asyncio.Event()

    def take(self, data: bytes) -> asyncio.Task[None] | None:
        """Handles one message; the task ends when it is answered. Returns None for a message whose answer takes as long
        as a turn, because the turn may wait for a later message."""
        message = read_message(data)
        if isinstance(message, ErrorPayload):
            return self._begin(self._refuse(None, message))
        task = self._begin(self._work(message))
        return task if message.run is None and message.resume is None else None

    def _begin(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._working.add(task)
        task.add_done_callback(self._working.discard)
        return task

    async def finish(self) -> None:
        """Handles the end of the client's messages: running turns go on and are sent, but nobody is asked any more.

        After a `shutdown` the running turns have been cancelled.
        """
        if self._answers.approving == "ask":
            self._answers.approving, self._answers.gone = "never", True
        for approval_id in tuple(self._unanswered):
            self._runtime.withdraw(approval_id, NOBODY_LEFT)
        while self._working:
            await asyncio.wait(tuple(self._working))

    async def close(self) -> None:
        """Stops sending. The turns go on, because they are the runtime's."""
        for task in tuple(self._working):
            task.cancel()
        while self._working:
            await asyncio.wait(tuple(self._working))

    async def _work(self, message: ClientMessage) -> None:
        try:
            await self._answer(message)
        except RemitError as error:
            await self._refuse(message.id, error.payload())
        except Exception:
            log.exception("a message could not be answered")
            why, fix = "an unexpected error; the log has the details", "report it with the log"
            what = "this message was not answered"
            payload = ErrorPayload(code=ErrorCode.INTERNAL, message=f"{what}: {why}", what=what, why=why, fix=fix)
            await self._refuse(message.id, payload)

    async def _answer(self, message: ClientMessage) -> None:
        """Answers a message. Raises RemitError if there is nothing to answer but an error."""
        answered = ServerMessage(id=message.id)
        if message.run is not None:
            for notice in await self._runtime.reload():
                log.log(logging.INFO if notice.good else logging.WARNING, "%s", notice.message)
            self._asked_for.append(message.run)
            await self._stream(self._turns.run(message.run, self._answers), 0, message.id)
        elif message.resume is not None:
            asked = message.resume
            await self._stream(self._turns.find(asked.session_id, asked.turn_id), asked.after, message.id)
        elif message.approve is not None:
            await self._send(answered.model_copy(update={"receipt": self._runtime.answer(message.approve)}))
        elif message.cancel is not None:
            told = self._runtime.cancel(message.cancel.session_id, message.cancel.turn_id)
            await self._send(answered.model_copy(update={"cancelled": told}))
        elif message.status is not None:
            status = self._runtime.status(message.status.session_id)
            await self._send(answered.model_copy(update={"status": status}))
        else:  # the runtime may have other clients, whose turns go on
            for request in self._asked_for:
                self._runtime.cancel(request.session_id, request.turn_id)
            self.shut_down.set()

    async def _stream(self, turn: TurnStream, after: int, message_id: MessageId | None) -> None:
        async with aclosing(turn.after(after)) as events:
            async for event in events:
                self._note(event)
                await self._send(ServerMessage(id=message_id, event=event))
        await self._send(ServerMessage(id=message_id, result=await turn.result()))

    def _note(self, event: AgentEvent) -> None:
        """Notes the questions that are open for this client."""
        if isinstance(event, ApprovalRequired):
            self._unanswered.add(event.approval_id)
        elif isinstance(event, ApprovalResolved):
            self._unanswered.discard(event.approval_id)

    async def _refuse(self, message_id: MessageId | None, error: ErrorPayload) -> None:
        await self._send(ServerMessage(id=message_id, error=error))
