"""How a running turn is spoken to: its questions, answers to them, and its cancellation (TRN-34).

A question is an event like others. Beside it the worker asks on a subject of the turn whether anybody is there who
answers, and goes on asking: where nobody is, it is a deny. The answer comes on another subject, and gets a receipt.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable, Callable

from nats.aio.msg import Msg
from nats.errors import Error

from remit_server.contract import (
    AgentEvent,
    ApprovalReceipt,
    ApprovalRequired,
    ApprovalResolved,
    ErrorPayload,
)
from remit_server.contract.refused import refuse_request
from remit_server.contract.streamed import ClientMessage, ServerMessage
from remit_server.runtime.ports import AgentRuntime
from remit_server.runtime.streamed_client import read_message
from remit_server.transports.queue.broker import Broker
from remit_server.transports.queue.names import INBOX, TurnKey

NOBODY = "nobody who answers listens on the queue"
ASKED_AGAIN_S = 1.0
NOBODY_S = 5.0
"""For so long nobody may be there: whoever answers may be coming back, as the broker may."""
_OTHER_TURN = refuse_request("this message was not used", "it is about another turn", "send it to that turn's subject")
_NOT_HERE = refuse_request(
    "this message was not used", "a running turn takes `approve`, `cancel` and `status`", "submit what is to run"
)


class Questions:
    """The questions of one turn, and what is said to it. `asks`: whether anybody is asked at all."""

    def __init__(self, runtime: AgentRuntime, broker: Broker, key: TurnKey, *, asks: bool) -> None:
        self._runtime, self._broker, self._key, self._asks = runtime, broker, key, asks
        self._asked: set[str] = set()
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._end: Callable[[], Awaitable[None]] | None = None

    async def begin(self) -> None:
        """Listens, until `close`."""
        self._end = await self._broker.listen(self._broker.names.do(self._key), self._take)

    async def close(self) -> None:
        """Stops asking and listening."""
        for task in self._asking.values():
            task.cancel()
        if self._end is not None:
            await self._end()

    def note(self, event: AgentEvent) -> None:
        """Takes an event that is about to be told."""
        if isinstance(event, ApprovalRequired):
            self._asked.add(event.approval_id)
            if self._asks:
                self._asking[event.approval_id] = asyncio.create_task(self._ask(event))
        elif isinstance(event, ApprovalResolved) and (task := self._asking.pop(event.approval_id, None)):
            task.cancel()

    async def _ask(self, question: ApprovalRequired) -> None:
        subject = self._broker.names.ask(self._key)
        named = {"approval_id": question.approval_id, "seq": question.seq, "deadline": question.deadline}
        seen = time.monotonic()
        while time.monotonic() - seen < NOBODY_S:
            there = await self._broker.request(subject, json.dumps(named).encode())
            if there is not None or self._broker.gone_s:
                seen = time.monotonic()
            await asyncio.sleep(ASKED_AGAIN_S)
        self._runtime.withdraw(question.approval_id, NOBODY)

    async def _take(self, message: Msg) -> None:
        if message.reply.startswith(INBOX):
            with contextlib.suppress(Error):
                await self._broker.client.publish(message.reply, self._answer(message.data).to_json())

    def _answer(self, data: bytes) -> ServerMessage:
        said = read_message(data)
        if isinstance(said, ErrorPayload):
            return ServerMessage(error=said)
        if said.approve is not None:
            known = said.approve.approval_id in self._asked
            refused = ApprovalReceipt(accepted=False, reason="this turn asks no such question")
            return ServerMessage(id=said.id, receipt=self._runtime.answer(said.approve) if known else refused)
        return self._manage(said)

    def _manage(self, said: ClientMessage) -> ServerMessage:
        if said.cancel is not None:
            key = self._key
            if said.cancel.session_id not in {None, key.session} or said.cancel.turn_id not in {None, key.turn}:
                return ServerMessage(id=said.id, error=_OTHER_TURN)
            return ServerMessage(id=said.id, cancelled=self._runtime.cancel(key.session, key.turn))
        if said.status is not None:
            return ServerMessage(id=said.id, status=self._runtime.status(self._key.session))
        return ServerMessage(id=said.id, error=_NOT_HERE)
