"""Receives requests, keeps their order, and answers each once (GW-01)."""

from __future__ import annotations

import asyncio
import json
import logging
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import assert_never

from remit_server.errors import ModelFailed, ModelUnavailable
from remit_server.models.answers import full_prompt
from remit_server.models.ports import ModelProvider
from remit_server.transports.gateway.conversation import Listener, Reply, Sessions, TooManySessions, converse
from remit_server.transports.gateway.protocol import (
    Answered,
    Ask,
    Available,
    CheckAvailability,
    CloseSession,
    Done,
    Failed,
    Line,
    Opened,
    OpenSession,
    Piece,
    RequestForm,
    RequestId,
    Response,
    Shutdown,
    parse,
    spell,
)

log = logging.getLogger(__name__)

_DETAILS = 300
_STOPPED = Failed("execution_failed: the gateway was shut down", "a shutdown came before the answer")


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds until an unused session is closed, seconds between two checks, and the most tokens of an answer."""

    idle_timeout_s: float = 120.0
    idle_check_s: float = 30.0
    max_tokens: int = 1024


class Gateway:
    """One client's gateway: its sessions and running requests.

    Requests without an id run in order, and so do those of one session; others run concurrently.
    """

    def __init__(
        self,
        provider: ModelProvider,
        write: Callable[[bytes], Awaitable[None]],
        availability: Callable[[], Awaitable[str | None]],
        limits: Limits,
    ) -> None:
        self._provider, self._write, self._availability, self._limits = provider, write, availability, limits
        self._sessions = Sessions()
        self._last: dict[str | None, asyncio.Task[None]] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._closing = False
        self.ended = asyncio.Event()

    def take(self, data: bytes | None) -> asyncio.Task[None] | None:
        """Handles one line; None stands for a line that is too long. Returns the task that ends with the response, or
        None if there will be none, because the gateway is closing."""
        if self._closing:
            return None
        line = Line(Failed("invalid_json", "the line is too long")) if data is None else parse(data)
        for name in line.unknown:
            near = next(iter(get_close_matches(name, RequestForm.model_fields, n=1)), None)
            log.warning("no request has a field %r%s", name, f"; did you mean {near!r}" if near else "")
        self._closing = isinstance(line.request, Shutdown)
        queues = _queues_of(line)
        before = {self._last[queue] for queue in queues if queue in self._last}
        task = asyncio.create_task(self._serve(line, before))
        self._running.add(task)
        self._last.update(dict.fromkeys(queues, task))

        def forget(_: asyncio.Task[None]) -> None:
            self._running.discard(task)
            for queue in queues:
                if self._last.get(queue) is task:
                    del self._last[queue]

        task.add_done_callback(forget)
        return task

    async def finish(self) -> None:
        """Handles the end of input: answers the accepted requests, then ends."""
        if not self._closing:
            self._closing = True
            await self._wait_for(self._running)
            log.info("End of input")
            self.ended.set()

    async def abandon(self) -> None:
        """Stops all requests without a response, because the client is gone or a signal came."""
        self._closing = True
        self.ended.set()
        for task in self._running:
            task.cancel()
        await self._wait_for(self._running)

    async def watch_idle(self) -> None:
        """Closes unused sessions until it is cancelled."""
        while True:
            await asyncio.sleep(self._limits.idle_check_s)
            for session_id in self._sessions.idle(time.monotonic(), self._limits.idle_timeout_s):
                if session_id not in self._last:  # none of its messages is waiting
                    log.warning("Session %s idle timeout, closing", session_id)
                    self._sessions.close(session_id)

    async def _serve(self, line: Line, before: set[asyncio.Task[None]]) -> None:
        try:
            await self._wait_for(before)
            response = await self._respond(line)
        except asyncio.CancelledError:
            if self.ended.is_set():
                raise
            response = _STOPPED
        except Exception:
            log.exception("a request failed")
            response = Failed("execution_failed: an unexpected error; the gateway's log has the details")
        if isinstance(response, Failed):
            log.error("%s%s", _quote(response.code), f" ({_quote(response.details)})" if response.details else "")
        await self._write(spell(response, line.request_id))
        if isinstance(line.request, Shutdown):
            self.ended.set()

    async def _respond(self, line: Line) -> Response:
        match line.request:
            case Failed():
                return line.request
            case OpenSession(instructions):
                return self._open(instructions)
            case Ask():
                return await self._ask(line.request, line.request_id)
            case CloseSession(session_id):
                return self._close(session_id)
            case CheckAvailability():
                return Available(await self._availability())
            case Shutdown():
                return await self._shut_down()
            case _:
                assert_never(line.request)

    def _open(self, instructions: str | None) -> Response:
        session_id = str(uuid.uuid4())
        try:
            self._sessions.open(session_id, instructions, time.monotonic())
        except TooManySessions as error:
            return Failed(f"failed_to_open_session: {error}")
        log.info("Session opened: %s", session_id)
        return Opened(session_id)

    def _close(self, session_id: str) -> Response:
        if not self._sessions.close(session_id):
            return Failed("session_not_found", session_id)
        log.info("Session closed: %s", session_id)
        return Done()

    async def _ask(self, asked: Ask, request_id: RequestId | None) -> Response:
        started = time.monotonic()
        question = full_prompt(asked.prompt, asked.content)
        try:
            session = self._sessions.begin(asked.session_id, started, len(question))
        except TooManySessions as error:
            return Failed(f"execution_failed: {error}")
        if session is None:
            return Failed("session_not_found", asked.session_id)
        reply: Reply | None = None
        try:
            if asked.wanted is None:
                return Failed("unknown_output_format")
            reply = await converse(
                self._provider,
                asked.session_id,
                session,
                question,
                asked.wanted,
                max_tokens=self._limits.max_tokens,
                listener=self._listener(request_id) if asked.stream else None,
            )
            if reply.forgotten:
                log.warning("Session %s: the oldest %d exchanges fit no more", asked.session_id, reply.forgotten)
            _log_processed(asked, reply, time.monotonic() - started)
            return Answered(reply.value)
        except ModelUnavailable as error:
            return Failed("model_unavailable", f"{error}; fix: {error.fix}")
        except ModelFailed as error:
            return Failed(f"execution_failed: {error}"[:_DETAILS], f"fix: {error.fix}")
        finally:
            said = reply.exchanges if reply is not None else None
            self._sessions.end(asked.session_id, time.monotonic(), len(question), said)

    async def _shut_down(self) -> Response:
        """Stops the requests that still run. These have ids, because those without an id were answered before."""
        mine = asyncio.current_task()
        others = {task for task in self._running if task is not mine}
        for task in others:
            task.cancel()
        await self._wait_for(others)
        log.info("Shutting down, closing %d sessions", len(self._sessions))
        return Done()

    def _listener(self, request_id: RequestId | None) -> Listener:
        async def on_text(text: str) -> None:
            await self._write(spell(Piece(text), request_id))

        async def on_restart() -> None:
            await self._write(spell(Piece("", restart=True), request_id))

        return Listener(on_text, on_restart)

    @staticmethod
    async def _wait_for(tasks: set[asyncio.Task[None]]) -> None:
        if tasks:
            await asyncio.wait(tuple(tasks))


def _queues_of(line: Line) -> tuple[str | None, ...]:
    """Returns the queues that a request waits in: the common one (None) if it has no id, and its session's."""
    session = (line.request.session_id,) if isinstance(line.request, Ask | CloseSession) else ()
    return session if line.request_id is not None else (None, *session)


def _log_processed(asked: Ask, reply: Reply, seconds: float) -> None:
    log.info(
        "Message processed: session=%s, format=%s, content_length=%d, used_length=%d, prompt_tokens=%d, "
        "cached_tokens=%d, answer_tokens=%d, exchanges=%d, time=%.2fs",
        asked.session_id,
        asked.wanted if isinstance(asked.wanted, str) else "json_schema",
        asked.given,
        len(asked.content),
        reply.finished.prompt_tokens,
        reply.finished.cached_tokens,
        reply.finished.completion_tokens,
        len(reply.exchanges),
        seconds,
    )


def _quote(text: str) -> str:
    """Returns text as one line of printable characters, so that a client cannot forge a line of the log."""
    return json.dumps(text)[1:-1][:_DETAILS]
