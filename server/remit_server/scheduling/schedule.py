"""What runs next: a schedule as a frozen value, and the function that advances it (SCH-01). Pure: no clock, no task.

All times, also those of `Limits`, are in one unit of the caller's choice, by one clock of the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

HIGHEST, LOWEST = 1, 5
BEST_BY_AGE = 2
"""The best priority that a task gets by waiting, so that tasks that are urgent for the system stay ahead (SCH-02)."""
NEARLY_DONE = 0.8
"""The share of its time limit after which a task is left to finish (SCH-04)."""
MEMORY_SHORT = 0.8
"""The share of memory in use above which a task is ended instead of paused, because a paused task keeps its memory
(SCH-04)."""

State = Literal["waiting", "queued", "running", "paused", "ending"]
End = Literal["completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class Task:
    """A task to run, with a `priority` from 1, the highest, to 5. `Limits` may limit how many of one `template` run.

    The task starts after the tasks of `after` have completed, and fails if one of them fails. `most` is its time limit,
    None if it has none. A `patient` task keeps its priority however long it waits.
    """

    id: str
    priority: int = 3
    template: str = ""
    after: frozenset[str] = frozenset()
    most: float | None = None
    patient: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """How many tasks run at once, in all (`most`) and of each template; a task goes up by one priority for every `age`
    that it waits.

    With `one_level`, no task starts while one of a better priority is ready, because each would slow the other.
    """

    most: int
    age: float
    per_template: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    one_level: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """A task in the schedule: `number` is its place in the queue, `since` when its state began, `awaited` the tasks
    that it still waits for, `ran` how long it ran before its last pause.

    `pausable` says that it can be paused now.
    """

    task: Task
    number: int
    state: State
    since: float
    awaited: frozenset[str] = frozenset()
    ran: float = 0.0
    pausable: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """What the caller has to do with a task now."""

    act: Literal["start", "resume", "pause", "destroy"]
    id: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A task that will not run, because the task `because`, which it depends on, did not complete (SCH-03)."""

    id: str
    because: str


@dataclass(frozen=True, slots=True)
class Schedule:
    """All tasks that have not ended, by id, in the order they came."""

    limits: Limits
    entries: Mapping[str, Entry] = field(default_factory=lambda: MappingProxyType({}))
    next_number: int = 0


def enqueue(schedule: Schedule, task: Task, now: float) -> Schedule:
    """Adds a task. Raises ValueError if the id is taken, the priority is out of range, or a task to wait for is
    unknown.

    The tasks that it waits for must be in the schedule already, so that no two tasks can wait for each other.
    """
    if task.id in schedule.entries:
        raise ValueError(f"task `{task.id}` exists already")
    if not HIGHEST <= task.priority <= LOWEST:
        raise ValueError(f"priority {task.priority} is not from {HIGHEST} to {LOWEST}")
    if unknown := sorted(task.after - schedule.entries.keys()):
        raise ValueError(f"task `{task.id}` is to come after `{unknown[0]}`, which does not exist")
    entry = Entry(task, schedule.next_number, "waiting" if task.after else "queued", now, task.after)
    return replace(schedule, entries={**schedule.entries, task.id: entry}, next_number=schedule.next_number + 1)


def end(schedule: Schedule, task_id: str, how: End, now: float) -> tuple[Schedule, tuple[Failure, ...]]:
    """Takes a task out, and the tasks that fail with it, which it returns. An unknown id is ignored, because its task
    has ended."""
    if task_id not in schedule.entries:
        return schedule, ()
    entries = {name: entry for name, entry in schedule.entries.items() if name != task_id}
    failures = () if how == "completed" else tuple(_failing(entries, task_id))
    for failure in failures:
        del entries[failure.id]
    for name, entry in entries.items():
        if task_id in entry.awaited:
            entries[name] = _without(entry, task_id, now)
    return replace(schedule, entries=entries), failures


def pausable(schedule: Schedule, task_id: str, *, can: bool) -> Schedule:
    """Sets whether a running task can be paused from now on."""
    entry = schedule.entries.get(task_id)
    return _put(schedule, replace(entry, pausable=can)) if entry else schedule


def yielded(schedule: Schedule, task_id: str, now: float) -> Schedule:
    """Queues a running task again, at its old place, after it has had one step; its waiting time begins anew."""
    return _put(schedule, replace(schedule.entries[task_id], state="queued", since=now))


def effective_priority(entry: Entry, limits: Limits, now: float) -> int:
    """Returns the priority of an entry after its wait: by age never better than `BEST_BY_AGE`; patient and running
    tasks keep theirs."""
    priority = entry.task.priority
    if entry.task.patient or priority <= BEST_BY_AGE or entry.state == "running":
        return priority
    return max(BEST_BY_AGE, priority - int((now - entry.since) // limits.age))


def advance(
    schedule: Schedule, now: float, memory_used: Callable[[], float] = lambda: 0.0
) -> tuple[Schedule, tuple[Move, ...]]:
    """Starts the tasks that the limits allow now, by priority and then by place in the queue; stops worse tasks to make
    room.

    `memory_used` gives the share of the machine's memory that is in use, from 0 to 1. It is called only if a task has
    to give way, because it has to read a dozen files.
    """
    moves: list[Move] = []
    best: int | None = None
    for entry in _candidates(schedule, now):
        level = effective_priority(entry, schedule.limits, now)
        best = level if best is None else best
        if schedule.limits.one_level and level > best:
            break
        if not _has_room(schedule, entry.task):
            victim = _victim(schedule, entry, now)
            if victim is None:
                continue
            act: Literal["pause", "destroy"] = "destroy" if memory_used() > MEMORY_SHORT else "pause"
            schedule = _stop(schedule, victim, act, now)
            moves.append(Move(act, victim.task.id))
        moves.append(Move("start" if entry.state == "queued" else "resume", entry.task.id))
        schedule = _put(schedule, replace(entry, state="running", since=now))
    return schedule, tuple(moves)


def _candidates(schedule: Schedule, now: float) -> list[Entry]:
    ready = (entry for entry in schedule.entries.values() if entry.state in {"queued", "paused"})
    return sorted(ready, key=lambda entry: (effective_priority(entry, schedule.limits, now), entry.number))


def _has_room(schedule: Schedule, task: Task) -> bool:
    running = [entry.task.template for entry in schedule.entries.values() if entry.state == "running"]
    own = schedule.limits.per_template.get(task.template)
    return len(running) < schedule.limits.most and (own is None or running.count(task.template) < own)


def _victim(schedule: Schedule, entry: Entry, now: float) -> Entry | None:
    """Returns the running task that gives way: the one with the worst own priority, and of these the last in the queue.
    That priority must be worse than the own priority of `entry`.

    Returns None if no task may give way; then `entry` waits. Age does not count here, because two tasks could displace
    each other for ever.
    """
    running = [each for each in schedule.entries.values() if each.state == "running"]
    own = schedule.limits.per_template.get(entry.task.template)
    template = entry.task.template
    if own is not None and sum(each.task.template == template for each in running) >= own:
        running = [each for each in running if each.task.template == template]
    lower = [each for each in running if each.task.priority > entry.task.priority and _gives_way(each, now)]
    return max(lower, key=lambda each: (each.task.priority, each.number), default=None)


def _gives_way(entry: Entry, now: float) -> bool:
    ran = entry.ran + now - entry.since
    return entry.pausable and (entry.task.most is None or ran <= NEARLY_DONE * entry.task.most)


def _stop(schedule: Schedule, victim: Entry, act: Literal["pause", "destroy"], now: float) -> Schedule:
    """Stops a running task. A destroyed task gives up its room now, but stays in the schedule until its end is
    reported."""
    state: State = "paused" if act == "pause" else "ending"
    return _put(schedule, replace(victim, state=state, since=now, ran=victim.ran + now - victim.since))


def _failing(entries: Mapping[str, Entry], failed: str) -> Iterator[Failure]:
    """Yields the tasks that depend on a task that did not complete, each with the task that it waited for."""
    gone: dict[str, str] = {}
    pending = [failed]
    while pending:
        because = pending.pop(0)
        for name, entry in entries.items():
            if because in entry.awaited and name not in gone:
                gone[name] = because
                pending.append(name)
                yield Failure(name, because)


def _without(entry: Entry, ended: str, now: float) -> Entry:
    left = entry.awaited - {ended}
    return replace(entry, awaited=left) if left else replace(entry, awaited=left, state="queued", since=now)


def _put(schedule: Schedule, entry: Entry) -> Schedule:
    return replace(schedule, entries={**schedule.entries, entry.task.id: entry})
