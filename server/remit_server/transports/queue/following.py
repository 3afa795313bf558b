"""The client's side of a queue: sends a request, follows a turn from any event on, and answers its
questions (TRN-36).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from nats.aio.msg import Msg
from nats.errors import Error
from nats.js.api import Header
from nats.js.errors import NoStreamResponseError

from remit_server.contract import (
    AgentEvent,
    ApprovalAnswer,
    ApprovalReceipt,
    ErrorCode,
    ErrorPayload,
    RunCompleted,
    RunRequest,
    RunResult,
)
from remit_server.contract.streamed import ClientMessage, ServerMessage
from remit_server.errors import RemitError
from remit_server.transports.queue.broker import CALL_S, Broker, unreachable
from remit_server.transports.queue.names import ERROR, INBOX, REQUEST, TurnKey, digest_of
from remit_server.transports.queue.turn_log import Portion, TurnReader, find_message, parse_event

_LOOKS_S = (0.01, 0.05, 0.2, 1.0, 2.0)
"""The seconds to wait before looking again, if no new message was announced."""
SEND_S, NO_QUEUE_S = 30.0, 5.0
"""For how many seconds a request is sent again, if the broker does not answer, and if it has no such queue."""
_REUSED = "these ids were already used for another request"


async def submit(broker: Broker, request: RunRequest) -> str:
    """Sends a request, and returns its digest. It is queued once, however often it has to be sent.
    Raises RemitError.
    """
    data = request.model_dump_json(exclude_none=True).encode()
    digest, subject = digest_of(data), broker.names.run(TurnKey(request.session_id, request.turn_id))
    began = time.monotonic()
    while True:
        waited = time.monotonic() - began
        try:
            await broker.jetstream.publish(subject, data, timeout=CALL_S, headers={Header.MSG_ID: digest})
        except NoStreamResponseError as error:
            if waited > NO_QUEUE_S:
                raise _no_queue(broker.names.queue) from error
            await asyncio.sleep(0.5)
        except (Error, OSError) as error:
            if waited > SEND_S:
                raise unreachable(SEND_S) from error
            await asyncio.sleep(0.5)
        else:
            return digest


@dataclass(slots=True)
class Following:
    """Follows one turn. `request` is the digest of its request, if known; `result` is how the turn ended, once that was
    read."""

    broker: Broker
    key: TurnKey
    patience_s: float
    request: str | None = None
    result: RunResult | None = None

    async def batches(self, after: int) -> AsyncGenerator[Sequence[AgentEvent]]:
        """Yields the events after number `after` as they come, until the turn has ended. An empty batch says that all
        present events were read. Raises RemitError if the request was refused, or if nothing comes for `patience_s`
        seconds."""
        new = asyncio.Event()

        async def wake(message: Msg) -> None:
            del message
            new.set()

        names = self.broker.names
        reader = TurnReader(self.broker, self.key)
        ends = [await self.broker.listen(subject(self.key), wake) for subject in (names.told, names.dead)]
        try:
            async for events in self._read(reader, new):
                yield [event for event in events if event.seq > after]
                if events and isinstance(events[-1], RunCompleted):
                    self.result = events[-1].result
                    return
        finally:
            for end in ends:
                await end()

    async def _read(self, reader: TurnReader, new: asyncio.Event) -> AsyncGenerator[Sequence[AgentEvent]]:
        heard, looks, begun = time.monotonic(), 0, False
        while True:
            new.clear()
            message = await reader.read(self.patience_s)
            if message is not None:
                self._check(message)
                heard, looks = time.monotonic(), 0
                if events := [event for line in message.lines if (event := parse_event(line)) is not None]:
                    begun = True
                    yield events
                continue
            yield ()
            await self._look_for_refusal(begun=begun)
            if time.monotonic() - heard > self.patience_s:
                raise _nothing_came(self.patience_s)
            looks = 0 if await _woken(new, _LOOKS_S[min(looks, len(_LOOKS_S) - 1)]) else looks + 1

    def _check(self, message: Portion) -> None:
        other = message.headers.get(REQUEST) if message.claims(self.key) else None
        if other is not None and self.request not in {None, other}:
            fix = "give every request ids of its own"
            raise RemitError("the turn was not run", _REUSED, fix, code=ErrorCode.INVALID_REQUEST)

    async def _look_for_refusal(self, *, begun: bool) -> None:
        names = self.broker.names
        found = await find_message(self.broker, names.events, names.dead(self.key), patience_s=self.patience_s)
        if found is None or ERROR not in found.headers:
            return
        if begun if self.request is None else found.headers.get(REQUEST) != self.request:
            return
        error = ErrorPayload.model_validate_json(found.headers[ERROR])
        raise RemitError(error.what, error.why, error.fix, code=error.code)

    async def be_there(self) -> Callable[[], Awaitable[None]]:
        """Tells the worker that somebody is there to answer questions. Returns the function that ends this."""

        async def here(message: Msg) -> None:
            if message.reply.startswith(INBOX):
                await self.broker.client.publish(message.reply, b"{}")

        return await self.broker.listen(self.broker.names.ask(self.key), here)

    async def answer(self, answer: ApprovalAnswer) -> ApprovalReceipt | None:
        """Answers a question. Returns the receipt, or None if no worker took the answer."""
        said = await self._say(ClientMessage(approve=answer))
        return None if said is None else said.receipt

    async def cancel(self) -> int:
        """Cancels the turn. Returns the number of turns that were told to end, 0 if the turn does not run."""
        data = json.dumps({"cancel": {}}).encode()
        said = await self.broker.request(self.broker.names.do(self.key), data)
        return 0 if said is None else json.loads(said).get("cancelled", 0)

    async def _say(self, message: ClientMessage) -> ServerMessage | None:
        data = message.model_dump_json(exclude_none=True).encode()
        said = await self.broker.request(self.broker.names.do(self.key), data)
        return None if said is None else ServerMessage.model_validate_json(said)


async def _woken(new: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(new.wait(), seconds)
    except TimeoutError:
        return False
    return True


def _no_queue(name: str) -> RemitError:
    return RemitError(
        "the request was not sent",
        f"the broker has no queue `{name}`",
        "start a worker, which makes it: `remit worker`",
        code=ErrorCode.NOT_FOUND,
    )


def _nothing_came(seconds: float) -> RemitError:
    return RemitError(
        "the turn was not followed to its end",
        f"nothing came for {seconds:g} seconds",
        "check whether a worker runs; `remit watch` follows it again",
        code=ErrorCode.TIMED_OUT,
        retryable=True,
    )
