"""Runs what a schedule says, on one event loop (SCH-01). It decides nothing: `schedule.advance` does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.machine import used_memory
from remit_server.scheduling.freezer import Freezer
from remit_server.scheduling.schedule import End, Failure, Limits, Move, Schedule, Task, advance, end, enqueue, pausable

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
