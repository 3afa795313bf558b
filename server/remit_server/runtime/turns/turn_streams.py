"""Streams the turns of one runtime to clients that may go away and come back, from any event number on (TRN-02).

A turn belongs to no connection: it goes on when its reader is gone. Events are kept while the turn runs, and those of
the last ended turns after that; a reader takes them at its own pace, and holds up nobody.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import cast

from remit_server.contract import AgentEvent, ApprovalRequired, ApprovalResolved, Event, RunRequest, RunResult
from remit_server.errors import RemitError
from remit_server.harness.ports import Asker
from remit_server.runtime.runtime import Runtime
from remit_server.runtime.turns.taken_up import TakenUp

KEPT_TURNS = 32
"""Ended turns whose events are kept."""


@dataclass(eq=False, slots=True)
class TurnStream:
    """One turn: its events so far, and its `task`, which ends with the result, or with the error of a turn that was not
    run. Of a turn that was taken up, the first `told` events are elsewhere."""

    request: RunRequest
    told: int = 0
    events: list[AgentEvent] = field(default_factory=list[AgentEvent])
    task: asyncio.Task[RunResult] | None = None
    _more: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, event: Event) -> None:
        """Keeps an event, and wakes the readers that wait for it."""
        self.events.append(cast("AgentEvent", event))  # every event is one of the closed union
        self._wake()

    async def after(self, seq: int) -> AsyncGenerator[AgentEvent]:
        """Yields the events that come after number `seq`, until the last one."""
        async with aclosing(self.batches_after(seq)) as batches:
            async for batch in batches:
                for event in batch:
                    yield event

    async def batches_after(self, seq: int) -> AsyncGenerator[Sequence[AgentEvent]]:
        """Yields the same events, as many at once as there are."""
        at = max(0, seq - self.told)
        while True:
            if batch := self.events[at:]:
                at += len(batch)
                yield batch
            if at >= len(self.events):
                if self.ended:
                    return
                await self._more.wait()

    @property
    def ended(self) -> bool:
        """Whether the turn has ended."""
        return self.task is not None and self.task.done()

    async def result(self) -> RunResult:
        """Returns the turn's result, once it has ended. Raises RemitError if the turn was not run. Cancelling this
        cancels no turn."""
        assert self.task is not None, "it was begun"
        return await asyncio.shield(self.task)

    def begin(self, run: Callable[[Callable[[Event], None]], asyncio.Task[RunResult]]) -> None:
        """Starts the turn, once."""
        self.task = run(self.take)
        self.task.add_done_callback(lambda _: self._wake())

    def _wake(self) -> None:
        self._more.set()
        self._more = asyncio.Event()


class TurnStreams:
    """The turns that were begun here, by session and turn id."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._turns: OrderedDict[tuple[str, str], TurnStream] = OrderedDict()

    def run(self, request: RunRequest, asker: Asker, taken_up: TakenUp | None = None) -> TurnStream:
        """Begins a turn, takes one up, or returns the one that was begun by the same request. If the ids belong to
        another request, the `result` of what is returned raises RemitError."""
        key = (request.session_id, request.turn_id)
        known = self._turns.get(key)
        if known is not None and known.request == request and taken_up is None:
            return known
        stream = TurnStream(request, told=0 if taken_up is None else taken_up.after)
        # If the ids belong to another request, the runtime raises the error, and `known` keeps its place.
        stream.begin(lambda emit: asyncio.create_task(self._runtime.run(request, emit, asker, taken_up)))
        if known is None or taken_up is not None:
            self._turns[key] = stream
            self._forget()
        return stream

    def find(self, session_id: str, turn_id: str) -> TurnStream:
        """Returns a turn that was begun here. Raises RemitError if nothing of it is kept."""
        known = self._turns.get((session_id, turn_id))
        if known is None:
            why = f"turn `{turn_id}` of session `{session_id}` did not begin here, or its events are no longer kept"
            raise RemitError("there is nothing to resume", why, "read the session: `remit session show`")
        return known

    def waiting(self) -> tuple[ApprovalRequired, ...]:
        """Returns the questions of turns that wait for an answer, the oldest first."""
        asked: dict[str, ApprovalRequired] = {}
        for turn in self._turns.values():
            for event in () if turn.ended else turn.events:
                if isinstance(event, ApprovalRequired):
                    asked[event.approval_id] = event
                elif isinstance(event, ApprovalResolved):
                    asked.pop(event.approval_id, None)
        return tuple(sorted(asked.values(), key=lambda event: event.time))

    def _forget(self) -> None:
        over = len(self._turns) - KEPT_TURNS
        for key in [key for key, turn in self._turns.items() if turn.ended][: max(over, 0)]:
            del self._turns[key]
