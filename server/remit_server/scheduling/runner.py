"""Runs what a schedule says, on one event loop (SCH-01), and pauses a running command, whose time does not pass
meanwhile (SCH-04). It decides nothing: `schedule.advance` does.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.machine import used_memory
from remit_server.scheduling.schedule import End, Failure, Limits, Move, Schedule, Task, advance, end, enqueue, pausable

_SHORTEST_LOOK_S = 0.05


@dataclass(slots=True)
class Freezer:
    """Belongs to one command. Whoever runs it attaches the way to pause it; `changed` is told when there is one, and
    `paused` when it is paused and goes on, which may not raise. `more_s` are seconds that it has beyond its own.

    Until then, and after its end, nothing is paused.
    """

    changed: Callable[[bool], None] = lambda can: None
    paused: Callable[[bool], None] = lambda is_paused: None
    more_s: float = 0.0
    _act: Callable[[bool], None] | None = None
    _frozen_since: float | None = None
    _frozen_s: float = field(default=0.0)

    def attach(self, act: Callable[[bool], None]) -> None:
        """Says how: `act(True)` stops everything of the command, `act(False)` lets it go on."""
        self._act = act
        self.changed(True)

    def detach(self) -> None:
        """Says that it is over; a paused command is let go on first, so that it can end."""
        self.thaw()
        self._act = None
        self.changed(False)

    def freeze(self) -> None:
        """Stops the command. Idempotent."""
        if self._act is not None and self._frozen_since is None:
            self._frozen_since = time.monotonic()
            self._act(True)
            self.paused(True)

    def thaw(self) -> None:
        """Lets it go on. Idempotent."""
        if self._act is not None and self._frozen_since is not None:
            self._frozen_s, self._frozen_since = self.frozen_s, None
            self._act(False)
            self.paused(False)

    @property
    def frozen_s(self) -> float:
        """Seconds that it was paused until now, in all."""
        return self._frozen_s + (0.0 if self._frozen_since is None else time.monotonic() - self._frozen_since)


async def wait_first(ends: Collection[asyncio.Future[Any]], seconds: float, freezer: Freezer | None) -> None:
    """Waits for the first of `ends`, or until the command has run for `seconds`, pauses not counted."""
    if freezer is None:
        await asyncio.wait(ends, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return
    began, before = time.monotonic(), freezer.frozen_s
    while (left := seconds + freezer.more_s - (time.monotonic() - began - (freezer.frozen_s - before))) > 0:
        done, _ = await asyncio.wait(ends, timeout=max(left, _SHORTEST_LOOK_S), return_when=asyncio.FIRST_COMPLETED)
        if done:
            return


T = TypeVar("T")


class DependencyFailed(Exception):
    """A task was not run: the one that it was to come after did not complete."""


class Runner:
    """One schedule, and the tasks of asyncio that wait for their turn in it.

    Invariant: what `run` was called for is out of the schedule when `run` is over, however that was.
    """

    def __init__(
        self,
        limits: Limits,
        clock: Callable[[], float] = time.monotonic,
        memory_used: Callable[[], float] = used_memory,
    ) -> None:
        self._schedule, self._clock, self._memory_used = Schedule(limits), clock, memory_used
        self._limits = limits
        self._turns: dict[str, asyncio.Future[None]] = {}
        self._freezers: dict[str, Freezer] = {}
        self._jobs: dict[str, asyncio.Future[object]] = {}
        self._destroyed: set[str] = set()

    def limit(self, limits: Limits) -> None:
        """Has other limits count from the next start on; what runs goes on. May be called from any thread."""
        self._limits = limits

    def add(self, task: Task) -> bool:
        """Queues a task, which `run` is to be called for; tells whether it can start at once. Raises ValueError, as
        `enqueue` does.
        """
        self._schedule = enqueue(self._schedule, task, self._clock())
        turn = self._turns[task.id] = asyncio.get_running_loop().create_future()
        self._advance()
        return turn.done()

    async def run(self, task_id: str, work: Callable[[Freezer], Awaitable[T]]) -> T:
        """Runs a queued task when it is its turn, and returns what `work` does.

        Raises DependencyFailed; ToolError (`stale`) where it was ended for something more urgent; and what `work` does.
        """
        freezer = self._freezers[task_id] = Freezer(lambda can: self._note_pausable(task_id, can=can))
        try:
            await self._turns[task_id]
            result = await self._work(task_id, work(freezer))
        except asyncio.CancelledError:
            self._end(task_id, "cancelled")
            raise
        except BaseException:
            self._end(task_id, "failed")
            raise
        self._end(task_id, "completed")
        return result

    def leave(self, task_id: str, more_s: float) -> None:
        """Has what runs give its turn back, and go on for so many seconds more: nothing pauses or ends it any more."""
        freezer = self._freezers[task_id]
        freezer.thaw()
        freezer.changed = freezer.paused = lambda _: None
        freezer.more_s = more_s
        self._end(task_id, "completed")

    async def _work(self, task_id: str, work: Awaitable[T]) -> T:
        job = asyncio.ensure_future(work)
        self._jobs[task_id] = job  # type: ignore[assignment]
        try:
            return await job
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if task_id in self._destroyed and not (current and current.cancelling()):
                raise displaced() from None
            raise

    def _note_pausable(self, task_id: str, *, can: bool) -> None:
        self._schedule = pausable(self._schedule, task_id, can=can)
        if can:
            self._advance()

    def _end(self, task_id: str, how: End) -> None:
        self._schedule, failures = end(self._schedule, task_id, how, self._clock())
        for held in (self._turns, self._freezers, self._jobs):
            held.pop(task_id, None)
        self._destroyed.discard(task_id)
        for failure in failures:
            self._fail(failure)
        self._advance()

    def _fail(self, failure: Failure) -> None:
        turn = self._turns.pop(failure.id)
        if not turn.done():
            turn.set_exception(DependencyFailed(f"dependency failed: {failure.because}"))
            turn.exception()  # it may be that nobody waits for it any more

    def _advance(self) -> None:
        limited = replace(self._schedule, limits=self._limits)
        self._schedule, moves = advance(limited, self._clock(), self._memory_used)
        for move in moves:
            self._make(move)

    def _make(self, move: Move) -> None:
        match move.act:
            case "start":
                if not self._turns[move.id].done():
                    self._turns[move.id].set_result(None)
            case "pause":
                self._freezers[move.id].freeze()
            case "resume":
                self._freezers[move.id].thaw()
            case "destroy":
                self._destroyed.add(move.id)
                self._jobs[move.id].cancel()


def displaced() -> ToolError:
    """Returns the refusal of what was ended to make room, memory being short."""
    return ToolError(
        "this was ended before it finished",
        "something more urgent had to run, and memory is short",
        "run it again when the machine is less busy",
        code=ErrorCode.STALE,
        retryable=True,
    )
