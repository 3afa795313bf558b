"""Commands wait for a sandbox in one schedule; an urgent one pauses another one, whose time limit stops meanwhile."""

from __future__ import annotations

import asyncio
import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Bench, benches, call, intent

from remit_governance.audit.record import AuditKind
from remit_server.errors import ToolError
from remit_server.sandbox.choose import sandbox_named
from remit_server.sandbox.ports import CommandSpec, StreamName
from remit_server.sandbox.scheduled import AtOnce, Scheduled, Slots
from remit_server.scheduling.runner import DependencyFailed, Freezer, Runner, wait_first
from remit_server.scheduling.schedule import Limits, Task

ALLOW = "version: 1\ncapabilities:\n  - { name: all, match: { syscall: [process.exec, fs.read] }, action: allow }\n"
STAMPED = "date +%s%N; sleep 0.3; date +%s%N"


def shell(text: str, folder: Path, priority: int) -> CommandSpec:
    return CommandSpec(("/bin/sh", "-c", text), folder, folder, {"PATH": "/usr/bin:/bin"}, 60, priority=priority)


async def one_after_the_other(memory: float, folder: Path) -> tuple[asyncio.Task[Any], list[str]]:
    """Runs a slow command of low priority, and an urgent one that arrives while it runs; only one of them can run at a
    time."""
    sandbox = Scheduled(sandbox_named("bubblewrap"), Runner(Limits(1, 1_000), memory_used=lambda: memory))
    heard: list[str] = []
    ticking = asyncio.Event()

    def low_said(_stream: StreamName, data: bytes) -> None:
        heard.extend(data.decode().split())
        ticking.set()

    ticks = "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo tick; sleep 0.03; done; echo end"
    low = asyncio.create_task(sandbox.run(shell(ticks, folder, 4), low_said))
    await ticking.wait()
    urgent = shell("echo urgent; sleep 0.3; echo over", folder, 2)
    await sandbox.run(urgent, lambda _, data: heard.extend(data.decode().split()))
    return low, heard


async def test_SCH_04_an_urgent_command_pauses_the_one_that_runs(tmp_path: Path) -> None:
    low, heard = await one_after_the_other(0.1, tmp_path)
    output = await low
    assert output.exit_code == 0
    assert heard.count("tick") == 20
    assert heard[-1] == "end"
    # Output that was in the pipe when the command was paused may still arrive.
    assert heard[heard.index("urgent") : heard.index("over")].count("tick") <= 1


async def test_SCH_04_where_memory_is_short_it_is_ended_and_the_reason_said(tmp_path: Path) -> None:
    low, heard = await one_after_the_other(0.9, tmp_path)
    with pytest.raises(ToolError) as refusal:
        await low
    assert refusal.value.retryable
    assert "more urgent" in refusal.value.why
    assert "end" not in heard


@pytest.mark.slow
async def test_SCH_04_that_a_command_waits_or_is_paused_is_shown_and_audited(tmp_path: Path) -> None:
    """While a model's command runs, one of the person's own comes first, and the model's second one waits for both."""
    ticks = "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo tick; sleep 0.05; done"
    steps = [{"calls": [intent("EXECUTE"), call("run_command", command=ticks)]}, {"text": "done"}]
    own = {"type": "call", "tool": "run_command", "arguments": {"command": "sleep 0.3"}, "intent": "EXECUTE"}
    async with benches(tmp_path) as make:
        bench: Bench = await make(*steps, policy=ALLOW, global_max=1)
        first = asyncio.create_task(bench.ask("count", session="first"))
        await bench.until("tool_output")
        second = asyncio.create_task(bench.ask("count", session="second"))
        await bench.until("command_waits")
        await bench.ask(own, session="mine")
        await asyncio.gather(first, second)
        waits = {
            session: [event.wait for event in bench.of("command_waits") if event.session_id == session]
            for session in ("first", "second", "mine")
        }
        assert waits == {"first": ["paused", "resumed"], "second": ["queued", "started"], "mine": []}
        assert all(event.means for event in bench.of("command_waits"))
        kinds = [record.event.kind for record in bench.all_audit()]
        told = (AuditKind.SANDBOX_QUEUED, AuditKind.SANDBOX_PAUSED, AuditKind.SANDBOX_RESUMED)
        assert [kinds.count(kind) for kind in told] == [1, 1, 1]


async def test_SCH_04_the_time_of_a_paused_command_does_not_pass() -> None:
    freezer, over = Freezer(), asyncio.get_running_loop().create_future()
    acts: list[bool] = []
    freezer.attach(acts.append)
    freezer.freeze()
    waiting = asyncio.create_task(wait_first([over], 0.05, freezer))
    done, _ = await asyncio.wait([waiting], timeout=0.5)
    assert not done
    freezer.thaw()
    await waiting
    assert not over.done()
    assert acts == [True, False]


async def most_at_once(tmp_path: Path, sessions: int, **settings: Any) -> int:
    """Returns the largest number of commands, of this many sessions, that ran at the same time."""
    async with benches(tmp_path) as make:
        bench: Bench = await make(policy=ALLOW, **settings)
        part = {"type": "call", "tool": "run_command", "arguments": {"command": STAMPED}, "intent": "EXECUTE"}
        results = await asyncio.gather(*(bench.ask(part, session=f"s{number}") for number in range(sessions)))
        assert [result.status for result in results] == ["completed"] * sessions
        spans = [tuple(map(int, re.findall(r"\b\d{19}\b", event.output))) for event in bench.of("tool_result")]
    assert len(spans) == sessions
    return max(sum(start <= at < end for start, end in spans) for at, _ in spans)


@pytest.mark.slow
async def test_SCH_01_commands_of_several_sessions_share_the_places_there_are(tmp_path: Path) -> None:
    assert await most_at_once(tmp_path, 5) <= AtOnce().code_executor


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["code_executor", "global_max"])
async def test_SCH_06_no_more_commands_run_at_once_than_are_set(tmp_path: Path, limit: str) -> None:
    assert await most_at_once(tmp_path, 3, **{limit: 1}) == 1


async def test_SCH_06_the_lowest_of_the_open_folders_counts_until_it_is_closed() -> None:
    slots = Slots()
    slots.hold("one", AtOnce(8, 8, 8))
    slots.hold("two", AtOnce(8, 1, 8))
    go, begun = asyncio.Event(), list[str]()

    async def work(name: str, freezer: Freezer) -> None:
        del freezer
        begun.append(name)
        await go.wait()

    def start(name: str, template: str) -> asyncio.Task[None]:
        slots.runner.add(Task(name, template=template))
        return asyncio.create_task(slots.runner.run(name, lambda freezer: work(name, freezer)))

    tasks = [start("a", "code-executor"), start("b", "code-executor"), start("c", "integration-test")]
    for _ in range(3):
        await asyncio.sleep(0)
    assert begun == ["a", "c"]
    slots.release("two")
    tasks.append(start("d", "integration-test"))
    for _ in range(3):
        await asyncio.sleep(0)
    assert begun == ["a", "c", "b", "d"]
    go.set()
    await asyncio.gather(*tasks)


async def test_SCH_01_what_waits_begins_by_priority_and_in_order() -> None:
    runner, order = Runner(Limits(1, 1_000)), list[str]()
    names = itertools.count()

    async def work(name: str, freezer: Freezer) -> None:
        del freezer
        order.append(name)
        await asyncio.sleep(0)

    def start(priority: int) -> asyncio.Task[None]:
        name = f"{next(names)}:{priority}"
        runner.add(Task(name, priority))
        return asyncio.create_task(runner.run(name, lambda freezer: work(name, freezer)))

    await asyncio.gather(*map(start, (3, 5, 4, 2, 3, 2)))
    assert order == ["0:3", "3:2", "5:2", "4:3", "2:4", "1:5"]


async def test_SCH_03_what_comes_after_a_failure_is_told_which() -> None:
    runner = Runner(Limits(4, 1_000))

    async def fail(freezer: Freezer) -> None:
        del freezer
        raise OSError("broken")

    for name, after in (("a", ""), ("b", "a"), ("c", "b"), ("d", "")):
        runner.add(Task(name, after=frozenset(after)))
    found = await asyncio.gather(*(runner.run(name, fail) for name in "abcd"), return_exceptions=True)
    assert [type(each) for each in found] == [OSError, DependencyFailed, DependencyFailed, OSError]
    assert [str(each) for each in found[1:3]] == ["dependency failed: a", "dependency failed: b"]


async def test_SCH_03_one_that_is_cancelled_while_it_waits_gives_up_its_place() -> None:
    runner, order, go = Runner(Limits(1, 1_000)), list[str](), asyncio.Event()

    async def work(name: str) -> None:
        order.append(name)
        await go.wait()

    def start(name: str) -> asyncio.Task[None]:
        runner.add(Task(name))
        return asyncio.create_task(runner.run(name, lambda _: work(name)))

    first, second, third = map(start, ("first", "second", "third"))
    await asyncio.sleep(0)
    second.cancel()
    go.set()
    await asyncio.gather(first, third)
    assert second.cancelled()
    assert order == ["first", "third"]
