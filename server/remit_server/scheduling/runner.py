"""Runs tasks by a schedule on one event loop (SCH-01), and pauses running commands; pauses do not count as a command's
time (SCH-04). It decides nothing, because `schedule.advance` does.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.machine.free_space import used_memory
from remit_server.scheduling.schedule import End, Failure, Limits, Move, Schedule, Task, advance, end, enqueue, pausable

_SHORTEST_LOOK_S = 0.05


@dataclass(slots=True)
class Freezer:
    """Pauses one command. The code that runs the command attaches the way to pause it; `changed` is called when there
    is such a way or none any more, and `paused`, which must not raise, when the command is paused or goes on. `more_s`
    are seconds that the command gets beyond its own limit.

    Before `attach` and after `detach`, nothing is paused.
    """

    changed: Callable[[bool], None] = lambda can: None
    paused: Callable[[bool], None] = lambda is_paused: None
    more_s: float = 0.0
    _act: Callable[[bool], None] | None = None
    _frozen_since: float | None = None
    _frozen_s: float = field(default=0.0)

    def attach(self, act: Callable[[bool], None]) -> None:
        """Sets the way to pause: `act(True)` stops all processes of the command, `act(False)` lets them go on."""
        self._act = act
        self.changed(True)

    def detach(self) -> None:
        """Ends the pausing; a paused command is resumed first, so that it can end."""
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
        """Resumes the command. Idempotent."""
        if self._act is not None and self._frozen_since is not None:
            self._frozen_s, self._frozen_since = self.frozen_s, None
            self._act(False)
            self.paused(False)

    @property
    def frozen_s(self) -> float:
        """How many seconds the command has been paused so far, in all."""
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
    """A task was not run, because a task that it depends on did not complete."""


class Runner:
    """One schedule, and the tasks of asyncio that wait for their turn in it.

    Invariant: when `run` returns or raises, its task is no longer in the schedule.
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
        """Sets limits that apply from the next start on; running tasks go on. May be called from any thread."""
        self._limits = limits

    def add(self, task: Task) -> bool:
        """Queues a task, for which the caller then calls `run`; returns whether it can start at once. Raises ValueError
        as `enqueue` does.
        """
        self._schedule = enqueue(self._schedule, task, self._clock())
        turn = self._turns[task.id] = asyncio.get_running_loop().create_future()
        self._advance()
        return turn.done()

    async def run(self, task_id: str, work: Callable[[Freezer], Awaitable[T]]) -> T:
        """Runs a queued task when its turn comes, and returns the result of `work`.

        Raises DependencyFailed; ToolError (`stale`) if the task was ended for something more urgent; and what `work`
        raises.
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
        """Takes a running task out of the schedule and lets it go on for `more_s` seconds more; the schedule no longer
        pauses or ends it."""
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
            turn.exception()  # perhaps nobody waits for the turn any more

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
    """Returns the error for a task that was ended to make room because memory is short."""
    return ToolError(
        "this was stopped before it finished",
        "something more urgent had to run, and memory was short",
        "run it again when the machine is less busy",
        code=ErrorCode.STALE,
        retryable=True,
    )
