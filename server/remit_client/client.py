"""One `remit stdio` process and the turns that run in it (TRN-05)."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import sys
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from remit_server.contract import (
    ApprovalAnswer,
    ApprovalReceipt,
    ApprovalRequired,
    ErrorPayload,
    Event,
    RunRequest,
    RunResult,
    Scope,
    StatusResult,
    TextInput,
)
from remit_server.contract.streamed import (
    CancelRequest,
    ClientMessage,
    ResumeRequest,
    ServerMessage,
    ShutdownRequest,
    StatusRequest,
)

LONGEST_LINE = 64 << 20
Decide = Callable[[ApprovalRequired], Awaitable[Literal["allow", "deny"]]]
"""A function that answers a turn's questions, for programs that do not follow its events."""


class RemitRefused(Exception):
    """The server could not use a message; `payload` says what was wrong, why, and how to correct it."""

    def __init__(self, payload: ErrorPayload) -> None:
        super().__init__(f"{payload.message}; {payload.fix}")
        self.payload = payload


class RemitProcessEnded(Exception):
    """The process ended before it had answered; its standard error says why."""


class Turn:
    """One turn: its events as an asynchronous iterator, and its result. A program that does not iterate still gets the
    result."""

    def __init__(self, request: RunRequest, decide: Decide | None = None) -> None:
        self.request, self.decide = request, decide
        self._messages: asyncio.Queue[ServerMessage] = asyncio.Queue()
        self._result: asyncio.Future[RunResult] = asyncio.get_running_loop().create_future()

    async def __aiter__(self) -> AsyncIterator[Event]:
        """Yields each event once. Raises RemitRefused, RemitProcessEnded."""
        while not (self._result.done() and self._messages.empty()):
            message = await self._messages.get()
            if message.event is None:
                await self._result
                return
            yield message.event

    async def result(self) -> RunResult:
        """Returns how the turn ended, once it has. Raises RemitRefused, RemitProcessEnded."""
        return await asyncio.shield(self._result)

    def take(self, message: ServerMessage | RemitProcessEnded) -> None:
        """Takes a message of the server about this turn."""
        if not self._result.done():
            if isinstance(message, RemitProcessEnded):
                self._result.set_exception(message)
            elif message.error is not None:
                self._result.set_exception(RemitRefused(message.error))
            elif message.result is not None:
                self._result.set_result(message.result)
            if self._result.done():
                self._result.exception()  # mark the error as seen, because a program may ask only for events
        self._messages.put_nowait(ServerMessage() if isinstance(message, RemitProcessEnded) else message)


class Remit:
    """A connected server. Every method raises RemitRefused if the server cannot use the message, and RemitProcessEnded
    if the server has ended."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._ids = (str(number) for number in itertools.count(1))
        self._waiting: dict[str, Turn | asyncio.Future[ServerMessage]] = {}
        self._deciding: set[asyncio.Task[None]] = set()
        self._reading = asyncio.create_task(self._read())

    async def run(self, prompt: str | RunRequest, *, session: str | None = None, decide: Decide | None = None) -> Turn:
        """Starts a turn. Its questions are answered by `decide` if given, else by the program's calls of `approve`."""
        if isinstance(prompt, str):
            text = TextInput(text=prompt)
            prompt = RunRequest(session_id=session or uuid.uuid4().hex, turn_id=uuid.uuid4().hex, input=text)
        turn = Turn(prompt, decide)
        await self._send(ClientMessage(run=prompt), turn)
        return turn

    async def resume(self, turn: Turn, after: int = 0) -> Turn:
        """Returns the same turn, with the events after number `after`."""
        request, again = turn.request, Turn(turn.request, turn.decide)
        asked = ResumeRequest(session_id=request.session_id, turn_id=request.turn_id, after=after)
        await self._send(ClientMessage(resume=asked), again)
        return again

    async def approve(
        self,
        question: ApprovalRequired,
        decision: Literal["allow", "deny"] = "allow",
        *,
        scope: Scope = Scope.ONCE,
        comment: str | None = None,
    ) -> ApprovalReceipt:
        """Answers this one question."""
        answer = ApprovalAnswer(
            approval_id=question.approval_id, decision=decision, scope=scope, digest=question.digest, comment=comment
        )
        receipt = (await self._ask(ClientMessage(approve=answer))).receipt
        assert receipt is not None, "the contract has it"
        return receipt

    async def cancel(self, turn: Turn | None = None) -> int:
        """Cancels a turn, or all running turns; returns how many were told to end."""
        named = (
            CancelRequest()
            if turn is None
            else CancelRequest(session_id=turn.request.session_id, turn_id=turn.request.turn_id)
        )
        return (await self._ask(ClientMessage(cancel=named))).cancelled or 0

    async def status(self, session: str | None = None) -> StatusResult:
        """Returns the status, as a status bar shows it."""
        status = (await self._ask(ClientMessage(status=StatusRequest(session_id=session)))).status
        assert status is not None, "the contract has it"
        return status

    async def close(self) -> None:
        """Makes the server end its turns and itself. Idempotent."""
        with contextlib.suppress(RemitProcessEnded):
            await self._send(ClientMessage(shutdown=ShutdownRequest()), None)
        await self._reading
        await self._process.wait()
        for task in tuple(self._deciding):
            task.cancel()

    async def _ask(self, message: ClientMessage) -> ServerMessage:
        answer: asyncio.Future[ServerMessage] = asyncio.get_running_loop().create_future()
        await self._send(message, answer)
        found = await answer
        if found.error is not None:
            raise RemitRefused(found.error)
        return found

    async def _send(self, message: ClientMessage, waits: Turn | asyncio.Future[ServerMessage] | None) -> None:
        if self._reading.done():
            raise RemitProcessEnded("remit stdio has ended")
        name = next(self._ids)
        if waits is not None:
            self._waiting[name] = waits
        assert self._process.stdin is not None, "it was opened with pipes"
        sent = message.model_copy(update={"id": name}).model_dump_json(exclude_none=True)
        try:
            self._process.stdin.write(sent.encode() + b"\n")
            await self._process.stdin.drain()
        except (OSError, RuntimeError) as error:
            raise RemitProcessEnded(f"remit stdio has ended: {error}") from error

    async def _read(self) -> None:
        assert self._process.stdout is not None, "it was opened with pipes"
        try:
            async for line in self._process.stdout:
                self._take(ServerMessage.model_validate_json(line))
        finally:
            for waits in self._waiting.values():
                _end(waits, RemitProcessEnded("remit stdio ended before it had answered"))

    def _take(self, message: ServerMessage) -> None:
        waits = self._waiting.get(message.id or "")
        if isinstance(waits, Turn):
            waits.take(message)
            if waits.decide is not None and isinstance(message.event, ApprovalRequired):
                task = asyncio.create_task(self._decide(message.event, waits.decide))
                self._deciding.add(task)
                task.add_done_callback(self._deciding.discard)
        elif waits is not None and not waits.done():
            waits.set_result(message)
        if message.event is None:
            self._waiting.pop(message.id or "", None)

    async def _decide(self, question: ApprovalRequired, decide: Decide) -> None:
        with contextlib.suppress(RemitProcessEnded):
            await self.approve(question, await decide(question))


def _end(waits: Turn | asyncio.Future[ServerMessage], error: RemitProcessEnded) -> None:
    if isinstance(waits, Turn):
        waits.take(error)
    elif not waits.done():
        waits.set_exception(error)


@asynccontextmanager
async def connect(
    workspace: str | Path = ".",
    *,
    approve: Literal["ask", "never", "session"] = "ask",
    model: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncGenerator[Remit]:
    """Yields a server for a folder, and ends it afterwards. `approve` is as for `remit stdio`; `environment` is added
    to this process's own."""
    options = ("--approve", approve, *(("--model", model) if model else ()))
    pipe = asyncio.subprocess.PIPE
    start = "from remit_server.cli.main import enter; enter()"
    command = (sys.executable, "-P", "-c", start, "stdio", *options)
    process = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, cwd=workspace, env={**os.environ, **(environment or {})}, limit=LONGEST_LINE
    )
    remit = Remit(process)
    try:
        yield remit
    finally:
        await remit.close()
