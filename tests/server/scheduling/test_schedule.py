"""What runs next: order, limits, dependencies, age and pausing, compared with an obvious second implementation."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import rows

from remit_server.scheduling.schedule import (
    Failure,
    Limits,
    Move,
    Schedule,
    Task,
    advance,
    effective_priority,
    end,
    enqueue,
    pausable,
    yielded,
)

LIMITS = Limits(3, 10, {"a": 2, "b": 1})


@dataclass(frozen=True)
class Job:
    """A task with the time when it arrives, how long it takes, and whether it fails."""

    task: Task
    comes: int
    takes: int
    fails: bool


def random_jobs(seed: int) -> list[Job]:
    """Returns a random graph: each task may depend on earlier ones that arrive at the same time."""
    choice = random.Random(seed)
    jobs: list[Job] = []
    comes = 0
    for number in range(choice.randint(1, 12)):
        comes += choice.choice([0, 0, 0, 1, 5])
        # A task that has ended can no longer be a dependency, so only those that arrive at the same time are used.
        near = [job.task.id for job in jobs if job.comes == comes]
        after = frozenset(choice.sample(near, choice.randint(0, min(2, len(near)))))
        task = Task(str(number), choice.randint(1, 5), choice.choice(["a", "b", "c"]), after)
        jobs.append(Job(task, comes, choice.randint(1, 20), choice.random() < 0.15))
    return jobs


@dataclass
class Story:
    """What happened to all tasks: when each started, and how it ended."""

    started: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    ended: dict[str, str] = field(default_factory=dict[str, str])


def by_schedule(jobs: list[Job]) -> Story:
    """Returns the story of the jobs with the real schedule."""
    story, schedule, until = Story(), Schedule(LIMITS), dict[str, int]()
    by_id = {job.task.id: job for job in jobs}
    for now in range(1_000):
        for name in [name for name, time in until.items() if time == now]:
            del until[name]
            story.ended[name] = "failed" if by_id[name].fails else "completed"
            schedule, failures = end(schedule, name, "failed" if by_id[name].fails else "completed", now)
            story.ended |= {failure.id: f"after {failure.because}" for failure in failures}
        for job in jobs:
            if job.comes == now:
                schedule = enqueue(schedule, job.task, now)
        schedule, moves = advance(schedule, now)
        for move in moves:
            assert move.act == "start"
            story.started.append((now, move.id))
            until[move.id] = now + by_id[move.id].takes
        if len(story.ended) == len(jobs):
            return story
    raise AssertionError(f"not all of {len(jobs)} have ended: {story.ended}")


def obviously(jobs: list[Job]) -> Story:
    """Returns the same in the plainest way: at each tick, end the finished jobs, and start the best that may start."""
    story, running, ready = Story(), dict[str, int](), dict[str, int]()
    by_id = {job.task.id: job for job in jobs}
    for now in range(1_000):
        for name in [name for name, time in running.items() if time == now]:
            del running[name]
            story.ended[name] = "failed" if by_id[name].fails else "completed"
        here = [job for job in jobs if job.comes <= now and job.task.id not in story.ended]
        for _ in jobs:
            for job in here:
                bad = [name for name in job.task.after if story.ended.get(name, "completed") != "completed"]
                if bad and job.task.id not in story.ended:
                    story.ended[job.task.id] = f"after {bad[0]}"
        for job in here:
            free = all(story.ended.get(name) == "completed" for name in job.task.after)
            if free and job.task.id not in story.ended | running:
                ready.setdefault(job.task.id, now)
        while may := [name for name in ready if has_room(by_id[name].task, [by_id[each].task for each in running])]:
            best = min(may, key=lambda name: (aged(by_id[name].task.priority, now - ready[name]), int(name)))
            del ready[best]
            running[best] = now + by_id[best].takes
            story.started.append((now, best))
        if len(story.ended) == len(jobs):
            return story
    raise AssertionError("not all have ended")


def aged(priority: int, waited: int) -> int:
    while waited >= 10 and priority > 2:
        waited, priority = waited - 10, priority - 1
    return priority


def has_room(task: Task, running: list[Task]) -> bool:
    most: Mapping[str, int] = {"a": 2, "b": 1, "c": 3}
    return len(running) < 3 and [each.template for each in running].count(task.template) < most[task.template]


def check_graphs(seeds: range) -> None:
    for seed in seeds:
        jobs = random_jobs(seed)
        story, plain = by_schedule(jobs), obviously(jobs)
        assert story.started == plain.started, seed
        # If several dependencies failed, it does not matter which one is named.
        assert {n: how.split()[0] for n, how in story.ended.items()} == {
            n: how.split()[0] for n, how in plain.ended.items()
        }, seed
        times = {name: time for time, name in story.started}
        for job in jobs:
            if job.task.id in times:
                assert all(story.ended[name] == "completed" for name in job.task.after), seed
                assert all(times[name] < times[job.task.id] for name in job.task.after), seed


@pytest.mark.slow
def test_SCH_01_random_graphs_run_as_the_rules_say_and_none_starves() -> None:
    check_graphs(range(1_000))


@pytest.mark.slow
def test_SCH_01_ten_thousand_random_graphs_run_as_the_rules_say_and_none_starves() -> None:
    check_graphs(range(1_000, 11_000))


@given(st.lists(st.tuples(st.integers(1, 5), st.sampled_from("abc"), st.integers(0, 3)), min_size=1, max_size=15))
def test_SCH_04_who_gives_way_goes_on_later_and_limits_hold(drawn: list[tuple[int, str, int]]) -> None:
    """Everything can be paused: never more than the limits run, and all tasks end."""
    schedule, left = Schedule(LIMITS), dict[str, int]()
    for now in range(2_000):
        if now < len(drawn):
            priority, template, takes = drawn[now]
            schedule = enqueue(schedule, Task(str(now), priority, template), now)
            left[str(now)] = takes + 1
        schedule, moves = advance(schedule, now)
        assert all(move.act in {"start", "resume", "pause"} for move in moves)
        running = [entry for entry in schedule.entries.values() if entry.state == "running"]
        assert len(running) <= LIMITS.most
        for template, most in LIMITS.per_template.items():
            assert sum(entry.task.template == template for entry in running) <= most
        for entry in running:
            schedule = pausable(schedule, entry.task.id, can=True)
            left[entry.task.id] -= 1
            if left[entry.task.id] == 0:
                schedule, _ = end(schedule, entry.task.id, "completed", now)
        if now >= len(drawn) and not schedule.entries:
            return
    raise AssertionError("not all have ended")


def started(*tasks: Task, limits: Limits, now: float = 0) -> Schedule:
    schedule = Schedule(limits)
    for task in tasks:
        schedule = enqueue(schedule, task, now)
    schedule, _ = advance(schedule, now)
    for task in tasks:
        schedule = pausable(schedule, task.id, can=True)
    return schedule


@rows(
    ("now", "memory", "can", "acts"),
    [
        (80, 0.5, True, ["pause", "start"]),
        (81, 0.5, True, []),
        (80, 0.81, True, ["destroy", "start"]),
        (81, 0.81, True, []),
        (10, 0.5, False, []),
    ],
)
def test_SCH_04_what_is_nearly_done_is_waited_for_and_what_has_memory_ended_where_it_is_short(
    now: float, memory: float, can: bool, acts: list[str]
) -> None:
    schedule = started(Task("low", 4, most=100), limits=Limits(1, 1_000))
    schedule = enqueue(pausable(schedule, "low", can=can), Task("high", 2), now)
    schedule, moves = advance(schedule, now, lambda: memory)
    assert [move.act for move in moves] == acts
    if acts and acts[0] == "pause":
        schedule, _ = end(schedule, "high", "completed", now + 5)
        schedule, moves = advance(schedule, now + 5)
        assert moves == (Move("resume", "low"),)


def test_SCH_04_the_same_priority_and_age_make_nothing_give_way() -> None:
    schedule = started(Task("low", 4), limits=Limits(1, 10))
    for name, priority in (("same", 4), ("lower", 5)):
        schedule = enqueue(schedule, Task(name, priority), 0)
    assert advance(schedule, 1_000)[1] == ()


def test_SCH_02_age_lifts_to_the_second_priority_and_never_above() -> None:
    schedule = started(Task("first", 1), limits=Limits(1, 10))
    for name, priority in (("old", 5), ("new", 3)):
        schedule = enqueue(schedule, Task(name, priority), 0)
    schedule = enqueue(schedule, Task("patient", 5, patient=True), 0)
    ages = [effective_priority(schedule.entries["old"], LIMITS, now) for now in (0, 9, 10, 20, 30, 1_000)]
    assert ages == [5, 5, 4, 3, 2, 2]
    assert effective_priority(schedule.entries["patient"], LIMITS, 1_000) == 5
    schedule = enqueue(schedule, Task("system", 1), 1_000)
    order: list[str] = []
    name = "first"
    while schedule.entries:
        schedule, _ = end(schedule, name, "completed", 1_000)
        schedule, moves = advance(schedule, 1_000)
        order += [name := move.id for move in moves]
    assert order == ["system", "old", "new", "patient"]


def test_SCH_03_failure_goes_on_to_all_that_come_after_and_to_nothing_else() -> None:
    schedule = Schedule(LIMITS)
    for name, after in (("1", ""), ("2", "1"), ("3", "2"), ("4", ""), ("5", "34")):
        schedule = enqueue(schedule, Task(name, after=frozenset(after)), 0)
    schedule, _ = advance(schedule, 0)
    schedule, failures = end(schedule, "1", "failed", 1)
    assert failures == (Failure("2", "1"), Failure("3", "2"), Failure("5", "3"))
    assert list(schedule.entries) == ["4"]
    assert end(schedule, "1", "failed", 1) == (schedule, ())


def test_SCH_03_what_is_not_there_cannot_be_waited_for() -> None:
    schedule = enqueue(Schedule(LIMITS), Task("1"), 0)
    for task in (Task("1"), Task("2", after=frozenset("3")), Task("2", 6), Task("2", 0)):
        with pytest.raises(ValueError, match="task|priority"):
            enqueue(schedule, task, 0)


def test_SCH_05_a_step_is_queued_again_at_its_place() -> None:
    limits = Limits(8, 4, one_level=True)
    schedule = Schedule(limits)
    for name, priority in (("turn", 2), ("background", 3)):
        schedule = enqueue(schedule, Task(name, priority), 0)
    rounds: list[list[str]] = []
    for now in range(1, 9):
        schedule, moves = advance(schedule, now)
        rounds.append([move.id for move in moves])
        for move in moves:
            schedule = yielded(schedule, move.id, now)
    assert rounds == [["turn"]] * 3 + [["turn", "background"]] + [["turn"]] * 3 + [["turn", "background"]]
