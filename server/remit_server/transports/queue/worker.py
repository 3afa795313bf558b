"""One worker: takes requests from the queue, runs each turn, and publishes its events (TRN-31 to TRN-33).

A client can answer the questions of a running turn, and cancel the turn (TRN-34). A question is an event like others.
In addition the worker keeps asking, on a subject of the turn, whether anybody is there who can answer. If nobody is,
the question is denied. The answer comes on another subject, and gets a receipt.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from nats.aio.msg import Msg
from nats.errors import Error
from pydantic import ValidationError

from remit_server.contract import (
    AgentEvent,
    ApprovalReceipt,
    ApprovalRequired,
    ApprovalResolved,
    CallInput,
    ErrorPayload,
    RunRequest,
)
from remit_server.contract.refused import describe_problems, refuse_request
from remit_server.contract.streamed import ClientMessage, ServerMessage
from remit_server.errors import RemitError
from remit_server.json_bounds import has_too_many_values
from remit_server.runtime.runtime import Runtime
from remit_server.runtime.turns.streamed_client import Approving, StreamAnswers, read_message
from remit_server.runtime.turns.taken_up import TakenUp, hold_turn
from remit_server.runtime.turns.turn_streams import TurnStream, TurnStreams
from remit_server.transports.queue.broker import CALL_S, Broker
from remit_server.transports.queue.names import ERROR, INBOX, PLACE, REQUEST, TurnKey, digest_of
from remit_server.transports.queue.turn_log import Forgotten, Lost, Told, TurnWriter, find_message, read_told
from remit_server.uninterrupted import wait_for_any

NOBODY = "nobody on the queue can answer"
ASKED_AGAIN_S = 1.0
NOBODY_S = 5.0
"""The seconds after which a question is denied if nobody is there, because a client or the broker may come back."""
_OTHER_TURN = refuse_request("this message was refused", "it is about another turn", "send it to that turn's subject")
_NOT_HERE = refuse_request(
    "this message was refused", "a running turn takes `approve`, `cancel` and `status`", "submit what is to run"
)


class Questions:
    """The questions of one turn, and the messages to it. `asks` says whether anybody is asked at all."""

    def __init__(self, runtime: Runtime, broker: Broker, key: TurnKey, *, asks: bool) -> None:
        self._runtime, self._broker, self._key, self._asks = runtime, broker, key, asks
        self._asked: set[str] = set()
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._end: Callable[[], Awaitable[None]] | None = None

    async def begin(self) -> None:
        """Listens for messages to the turn until `close`."""
        self._end = await self._broker.listen(self._broker.names.do(self._key), self._take)

    async def close(self) -> None:
        """Stops asking and listening."""
        for task in self._asking.values():
            task.cancel()
        if self._end is not None:
            await self._end()

    def note(self, event: AgentEvent) -> None:
        """Starts or stops asking, according to an event that is about to be published."""
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


log = logging.getLogger(__name__)

Fetch = Callable[[int, float], Awaitable[list[Msg]]]
TAKING_S = 5.0
BACK_S = 1.0
NOT_YET_S = 0.3
"""The seconds after which a request is delivered again if its session has an earlier request that is not done."""
HELD_LOOKS = 3
"""At which delivery a turn is taken from a living worker that holds it but has been silent for a lease."""
TOLD_AT_END_S = 10.0
WRITE_PATIENCE_S = 600.0
HEADERS = 16 << 10
"""The bytes of a message that its headers may take."""


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """How one worker works. `place` identifies the place where its records are, and `locks` is a folder there. A turn
    that `attempts` workers have begun is not begun by another one."""

    approving: Approving
    turns: int
    lease_s: float
    attempts: int
    place: str
    locks: Path


class Worker:
    """Takes requests, and works on up to `options.turns` of them at once."""

    def __init__(self, runtime: Runtime, broker: Broker, options: WorkerOptions, tell: Callable[[str], None]) -> None:
        self._runtime, self._broker, self._options, self._tell = runtime, broker, options, tell
        self._turns = TurnStreams(runtime)
        self._held: Counter[TurnKey] = Counter()
        self._working: set[asyncio.Task[None]] = set()
        self._trouble = ""

    async def work(self, stop: asyncio.Event) -> None:
        """Works until `stop` is set. Turns that run then are cancelled, and publish their end."""
        slots = asyncio.Semaphore(self._options.turns)
        names = self._broker.names
        jetstream = self._broker.jetstream
        taken = await jetstream.pull_subscribe_bind(names.workers, names.runs)
        keeping = asyncio.create_task(self._keep_queue())
        try:
            while not stop.is_set():
                await slots.acquire()
                message = await self._next(taken.fetch, stop)
                if message is None:
                    slots.release()
                    continue
                task = asyncio.create_task(self._handle(message))
                self._working.add(task)
                task.add_done_callback(self._working.discard)
                task.add_done_callback(lambda _: slots.release())
        finally:
            keeping.cancel()
        self._runtime.cancel()
        if self._working:
            await asyncio.wait(tuple(self._working), timeout=TOLD_AT_END_S)
        for task in tuple(self._working):
            task.cancel()

    async def _next(self, fetch: Fetch, stop: asyncio.Event) -> Msg | None:
        """Returns the next request, or None if none has come yet or `stop` is set."""
        fetching = asyncio.ensure_future(fetch(1, TAKING_S))
        began = time.monotonic()
        try:
            await wait_for_any(fetching, stop)
            if fetching.done():
                return fetching.result()[0]
        except (TimeoutError, Error, OSError) as error:  # a broker that has lost the queue may just stay silent
            log.debug("no request came: %s", error)
            await self._make_again()
            if time.monotonic() - began < TAKING_S / 2:
                await wait_for_any(stop, within_s=BACK_S)
        finally:
            fetching.cancel()
        return None

    async def _keep_queue(self) -> None:
        """Restores the queue, if it is lost, whenever the broker has come back, because `work` does not ask for
        requests while every slot is busy.
        """
        while True:
            await self._broker.returned.wait()
            self._broker.returned.clear()
            while not await self._make_again() and not self._broker.gone_s:  # noqa: ASYNC110  nothing tells of that
                await asyncio.sleep(BACK_S)

    async def _make_again(self) -> bool:
        """Makes the queue again if the broker has lost it. Returns whether the queue is there. The same trouble is told
        only once."""
        if self._broker.gone_s:
            return False
        trouble = ""
        try:
            await self._broker.prepare(self._options.lease_s)
        except (RemitError, OSError) as error:
            trouble = str(error)
        if trouble and trouble != self._trouble:
            self._tell(trouble)
        self._trouble = trouble
        return not trouble

    async def _handle(self, message: Msg) -> None:
        """Works on one request, and tells the broker the outcome. Never raises."""
        beating = asyncio.create_task(self._beat(message))
        try:
            await self._take(message)
        except (RemitError, Error, OSError) as error:  # the broker delivers it again
            log.warning("a request was left to the next worker: %s", error)
            self._tell(f"a turn was left to the next worker: {error}")
        except Exception:
            log.exception("a request could not be worked on")
        finally:
            beating.cancel()

    async def _beat(self, message: Msg) -> None:
        """Renews the lease on a request until it is cancelled; skips a renewal that the broker does not take."""
        while True:
            await asyncio.sleep(self._options.lease_s / 3)
            with contextlib.suppress(Error, OSError):
                await message.in_progress()

    async def _take(self, message: Msg) -> None:
        names = self._broker.names
        found = self._parse(message)
        if isinstance(found, ErrorPayload):
            await self._bury(message, found)
            return
        key = TurnKey(found.session_id, found.turn_id)
        place = message.metadata.sequence.stream
        first = await find_message(self._broker, names.runs, names.run(key.of_session), 1)
        if first is not None and first.place < place:
            await message.nak(NOT_YET_S)
            return
        with hold_turn(self._options.locks, str(key)) as held:
            if not held:
                self._held[key] += 1
                if self._held[key] < HELD_LOOKS:
                    await message.nak(self._options.lease_s / 2)
                    return
            self._held.pop(key, None)
            await self._begin(message, found, key, held=held)

    def _parse(self, message: Msg) -> RunRequest | ErrorPayload:
        what = "this request was not run"
        if has_too_many_values(message.data):
            return refuse_request(what, "it holds too many values", "send less in one request")
        try:
            found = RunRequest.model_validate_json(message.data)
        except ValidationError as error:
            return refuse_request(what, describe_problems(error), "send a RunRequest as its JSON Schema describes")
        named = self._broker.names.run(TurnKey(found.session_id, found.turn_id))
        if message.subject != named:
            return refuse_request(what, "its subject names another turn", f"send it to `{named}`")
        if found.model is not None:
            return refuse_request(what, "it names a model, but a worker uses its own", "leave `model` out")
        if any(isinstance(part, CallInput) and (part.by == "person" or part.typed) for part in found.parts):
            why = "it holds a call marked as the person's own, which cannot be verified here"
            return refuse_request(what, why, "send the call with `by` `model`, and without `typed`")
        return found

    async def _begin(self, message: Msg, request: RunRequest, key: TurnKey, *, held: bool) -> None:
        """Claims a turn and runs it, unless it has ended."""
        told, digest = await read_told(self._broker, key), digest_of(message.data)
        if told.claims and told.claims[0].get(REQUEST) != digest:
            why = "these ids were already used for another request"
            await self._bury(message, refuse_request("the turn was not run", why, "give every request ids of its own"))
            return
        if told.ended:
            await message.ack_sync(CALL_S)
            return
        writer = TurnWriter(self._broker, key, told.last)
        try:
            await writer.claim({PLACE: self._options.place, REQUEST: digest})
            refused = await self._run(request, key, writer, self._taken_up(told, held=held))
        except Lost:
            self._tell(f"turn `{key.turn}` has another worker now")
            return
        except Forgotten:
            # Do not leave the request to be delivered again. No record says any more that the turn had begun, so it
            # would be run again.
            why = "the broker has lost its record"
            fix = "look at what it did, and send the rest with new ids"
            refused = refuse_request(f"turn `{key.turn}` was ended", why, fix)
            await self._bury(message, refused)
            return
        if len(told.claims) >= self._options.attempts:
            why = f"{len(told.claims)} workers began it, and none of them ended it"
            refused = refuse_request("the turn was given up", why, "look at what it does to a worker")
        await (message.ack_sync(CALL_S) if refused is None else self._bury(message, refused))

    def _taken_up(self, told: Told, *, held: bool) -> TakenUp | None:
        if held and not told.claims:
            return None
        here = all(claim.get(PLACE) == self._options.place for claim in told.claims)
        return TakenUp(told.events, here=here and held and len(told.claims) < self._options.attempts)

    async def _run(
        self, request: RunRequest, key: TurnKey, writer: TurnWriter, taken_up: TakenUp | None
    ) -> ErrorPayload | None:
        """Runs a turn and publishes its events until it has ended. Returns the error if the request was refused.

        Raises Lost, Forgotten, RemitError.
        """
        for notice in await self._runtime.reload():
            log.log(logging.INFO if notice.good else logging.WARNING, "%s", notice.message)
        approving = self._options.approving
        questions = Questions(self._runtime, self._broker, key, asks=approving == "ask")
        await questions.begin()
        turn = self._turns.run(request, StreamAnswers(approving), taken_up)
        watching = asyncio.create_task(self._watch(key))
        try:
            await self._tell_turn(turn, writer, questions)
        finally:
            watching.cancel()
            self._runtime.cancel(key.session, key.turn)  # it still runs if it was lost, or if this worker ends
            await questions.close()
            refused = await _refusal(turn)
        return refused

    async def _tell_turn(self, turn: TurnStream, writer: TurnWriter, questions: Questions) -> None:
        async for batch in turn.batches_after(turn.told):
            for event in batch:
                questions.note(event)  # before the write, because an answer may come before the broker's receipt
            lines = b"".join(event.model_dump_json().encode() + b"\n" for event in batch)
            await writer.write(lines, WRITE_PATIENCE_S)

    async def _watch(self, key: TurnKey) -> None:
        """Cancels a turn whose lease cannot be renewed, because another worker may have the turn by then."""
        while True:
            await asyncio.sleep(self._options.lease_s / 10)
            if self._broker.gone_s > self._options.lease_s:
                self._tell(f"turn `{key.turn}` is ended: the broker is gone for as long as a lease")
                self._runtime.cancel(key.session, key.turn)
                return

    async def _bury(self, message: Msg, error: ErrorPayload) -> None:
        """Publishes a request as a dead letter with the reason, and ends its delivery. Raises Error."""
        names = self._broker.names
        key = message.subject.removeprefix(names.run(""))
        headers = {ERROR: json.dumps(error.model_dump(mode="json")), REQUEST: digest_of(message.data)}
        most = self._broker.client.max_payload - HEADERS
        await self._broker.jetstream.publish(names.dead(key), message.data[:most], headers=headers)
        await message.term()
        self._tell(f"a request was not run: {error.message}")


async def _refusal(turn: TurnStream) -> ErrorPayload | None:
    """Waits until the turn has ended. Returns the error if the request was no turn, for example because it is for
    another workspace, else None."""
    try:
        await turn.result()
    except RemitError as error:
        return error.payload()
    return None
