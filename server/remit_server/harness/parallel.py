"""Runs the calls of one step: in parallel if they touch different files, else in the order they were made (AGT-02).

A declaration of an intent, and a call that may change any file, are barriers: they begin when all calls before them
have ended, and later calls are looked at only when they have ended. So every call runs under the intent declared before
it.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile

from remit_governance.audit.record import READING
from remit_governance.intents import SELECT_INTENT, canonical_tool
from remit_governance.policy.decision.risk import risk_of
from remit_governance.policy.matching.paths import fold
from remit_governance.values import Action
from remit_server.harness.approval.proposal import git_folders
from remit_server.harness.calls import CallResult, RunDenied, ToolCall
from remit_server.harness.dispatcher import Dispatcher
from remit_server.harness.turn import Turn
from remit_server.scheduling.runner import DependencyFailed, Freezer, Runner
from remit_server.scheduling.schedule import Limits, Task

MAX_AT_ONCE = 8
"""The most calls that run at the same time; each read takes a thread and a few open files."""
MAX_AGE_S = 30.0
"""Seconds of waiting after which a call gets the next higher priority. All calls of a step begin with the same one."""

WHOLE_WORKSPACE = "."


@dataclass(frozen=True, slots=True)
class Touches:
    """The relative paths that a call reads and writes. A folder stands for everything below it."""

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()

    @property
    def everything(self) -> bool:
        """Whether the call may change any file."""
        return WHOLE_WORKSPACE in self.writes


def touches(actions: Iterable[Action]) -> Touches:
    """Returns what these actions touch. A command writes everything, or reads everything if it only reads."""
    reads: set[str] = set()
    writes: set[str] = set()
    for action in actions:
        path = WHOLE_WORKSPACE if action.path is None else fold(action.path)
        reading = risk_of(action) == "low" if action.syscall == "process.exec" else action.syscall in READING
        (reads if reading else writes).add(path)
        if not reading:
            # Whether the write turns a folder into a git repository depends on the folder's other files, so the write
            # counts as one of the whole folder.
            writes |= {folder or WHOLE_WORKSPACE for folder, _ in git_folders(path)}
    return Touches(frozenset(reads), frozenset(writes))


def collide(one: Touches, other: Touches) -> bool:
    """Returns whether the order of two calls matters, because one writes what the other reads or writes."""
    return _overlap(one.writes, other.reads | other.writes) or _overlap(other.writes, one.reads)


def order(touched: Sequence[Touches]) -> tuple[tuple[int, ...], ...]:
    """Returns for each call the positions of the earlier calls that it collides with and so has to wait for."""
    return tuple(
        tuple(earlier for earlier in range(later) if collide(touched[earlier], touched[later]))
        for later in range(len(touched))
    )


async def execute_all(
    dispatcher: Dispatcher, calls: Sequence[ToolCall], turn: Turn, results: list[CallResult | None]
) -> None:
    """Executes the calls, and puts each result at its call's place in `results` as soon as the call has ended.

    A refusal stops no other call. A cancellation, a RunDenied or a defect ends the turn and stops all other calls:
    those that have begun are finished or audited as interrupted, the rest never begin.
    """
    calls = number_calls(calls)
    run = partial(_execute_one, dispatcher, calls, turn, results)
    start = 0
    while start < len(calls):
        touched = await _find_stretch(dispatcher, calls[start:], turn)
        await _run(order(touched), start, run)
        start += len(touched)


def number_calls(calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    """Returns the calls numbered within the step, not counting declarations of intents. A question shows the number, so
    that the person sees how many more calls may ask (APP-03)."""
    count = sum(not _declares(call) for call in calls)
    numbers = itertools.accumulate(int(not _declares(call)) for call in calls)
    return tuple(replace(call, number=number, count=count) for call, number in zip(calls, numbers, strict=True))


async def _execute_one(
    dispatcher: Dispatcher, calls: Sequence[ToolCall], turn: Turn, results: list[CallResult | None], position: int
) -> None:
    try:
        results[position] = await dispatcher.execute(calls[position], turn)
    except RunDenied as denied:
        results[position] = denied.result
        raise


async def _find_stretch(dispatcher: Dispatcher, calls: Sequence[ToolCall], turn: Turn) -> list[Touches]:
    """Returns what each of the first calls touches, up to the next barrier. If the first call is a barrier, returns
    that call's alone."""
    if _declares(calls[0]):
        return [Touches()]
    together = list(takewhile(lambda call: not _declares(call), calls))
    if len(together) == 1:
        return [Touches()]
    found: list[Touches] = []
    for call in together:
        touched = touches(await dispatcher.preview_actions(call, turn))
        if touched.everything or dispatcher.is_after_review(call, turn):
            return found or [touched]
        found.append(touched)
    return found


async def _run(waits: Sequence[Sequence[int]], start: int, run: Callable[[int], Awaitable[None]]) -> None:
    """Runs each call, at positions counted from `start`, after all calls that it waits for have ended.

    The first exception stops the other calls, and an exception is raised when they have ended.
    """
    if len(waits) == 1:
        await run(start)
        return
    runner = Runner(Limits(MAX_AT_ONCE, MAX_AGE_S))
    for position, earlier in enumerate(waits):
        runner.add(Task(str(position), after=frozenset(map(str, earlier))))

    async def work(position: int, _: Freezer) -> None:
        await run(start + position)

    try:
        async with asyncio.TaskGroup() as group:
            for position in range(len(waits)):
                group.create_task(runner.run(str(position), partial(work, position)))
    except BaseExceptionGroup as several:
        raise _ending(several.exceptions) from None


def _ending(errors: Sequence[BaseException]) -> BaseException:
    """Returns the exception that the run ends with: a RunDenied if there is one, else the first that is not a
    DependencyFailed, which says only that a call waited for one that failed."""
    first = next((error for error in errors if not isinstance(error, DependencyFailed)), errors[0])
    return next((error for error in errors if isinstance(error, RunDenied)), first)


def _declares(call: ToolCall) -> bool:
    return canonical_tool(call.name) == SELECT_INTENT


def _overlap(some: frozenset[str], others: frozenset[str]) -> bool:
    return any(_within(one, other) or _within(other, one) for one in some for other in others)


def _within(path: str, folder: str) -> bool:
    return folder in {WHOLE_WORKSPACE, path} or path.startswith(folder + "/")
