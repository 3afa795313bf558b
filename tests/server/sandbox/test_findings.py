"""The sandbox that can be used is looked for when it is needed, and only once in a process (BOX-10)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import call, intent
from programs_started import programs_started

from remit_server.sandbox.bubblewrap.bubblewrap import Bubblewrap
from remit_server.sandbox.choose import choose_sandbox
from remit_server.sandbox.findings import AGAIN_S, Circumstances, circumstances, find_once, forget_findings
from remit_server.sandbox.ports import Isolation


@dataclass(frozen=True, slots=True)
class Found:
    isolation: Isolation


HERE = Circumstances("bubblewrap", (("/usr/bin/bwrap", 1, 2, 3),), "6.1", ("/tmp", 4), 1000, (), (None,))


@pytest.mark.usefixtures("another_process")
async def test_BOX_10_the_same_circumstances_are_tried_once() -> None:
    tries: list[str] = []

    async def attempt() -> Found:
        tries.append("tried")
        return Found(Isolation("bubblewrap", True))

    first = await find_once(HERE, attempt)
    assert await find_once(replace(HERE), attempt) is first
    assert tries == ["tried"]


@pytest.mark.usefixtures("another_process")
@pytest.mark.parametrize(
    "other",
    [
        {"runtime": "podman"},
        {"programs": (("/usr/bin/bwrap", 1, 2, 4),)},
        {"kernel": "6.2"},
        {"temporary": ("/tmp", 5)},
        {"user": 0},
        {"groups": ("/sys/fs/cgroup/a",)},
        {"settings": ("limits",)},
    ],
    ids=lambda other: next(iter(other)),
)
async def test_BOX_10_other_circumstances_are_tried_anew(other: dict[str, Any]) -> None:
    async def works() -> Found:
        return Found(Isolation("bubblewrap", True))

    async def works_not() -> Found:
        return Found(Isolation("bubblewrap", False))

    await find_once(HERE, works)
    assert not (await find_once(replace(HERE, **other), works_not)).isolation.available


@pytest.mark.usefixtures("another_process")
async def test_BOX_10_a_failure_is_not_kept() -> None:
    answers = iter([False, True])

    async def attempt() -> Found:
        return Found(Isolation("bubblewrap", next(answers)))

    assert [(await find_once(HERE, attempt)).isolation.available for _ in range(3)] == [False, True, True]


@pytest.mark.usefixtures("another_process")
async def test_BOX_10_less_than_all_of_it_is_tried_again_a_minute_later() -> None:
    now, answers = 1000.0, iter(["a part", "all", "more"])

    async def attempt() -> Found:
        return Found(Isolation("bubblewrap", True, why=next(answers)))

    found = []
    for passed in (0, AGAIN_S - 1, 1, AGAIN_S, 1e9):
        now += passed
        there = await find_once(HERE, attempt, lambda each: each.isolation.why == "all", lambda: now)  # noqa: B023
        found.append(there.isolation.why)
    assert found == ["a part", "a part", "all", "all", "all"]


def test_BOX_10_a_program_that_was_replaced_is_another(tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    before = circumstances("bubblewrap", ("bwrap",), str(tmp_path))
    assert circumstances("bubblewrap", ("bwrap",), str(tmp_path)) == before
    (tmp_path / "new").write_text("#!/bin/sh\n")
    (tmp_path / "new").chmod(0o755)
    (tmp_path / "new").replace(program)
    assert circumstances("bubblewrap", ("bwrap",), str(tmp_path)) != before


@pytest.mark.usefixtures("another_process")
async def test_BOX_10_a_turn_of_reads_and_writes_starts_no_program(make_bench: Callable[..., Any]) -> None:
    """The runtime opens, reads and writes a file, tells its status and closes, without starting any program."""
    steps = [
        {"calls": [intent("READ_FILE"), call("read_file", path="a.py"), call("search_files", pattern="total")]},
        {"calls": [intent("CODE"), call("edit_file", path="a.py", old_text="total = 0", new_text="total = 1")]},
        {"text": "done"},
    ]
    with programs_started() as started:
        bench = await make_bench(*steps)
        assert (await bench.ask("change it")).status == "completed"
        assert bench.runtime.status().sandbox == choose_sandbox().name
        await bench.runtime.close()
    assert started == []
    assert "total = 1" in (bench.workspace / "a.py").read_text()


@pytest.mark.usefixtures("another_process")
async def test_BOX_10_a_second_folder_of_a_server_tries_nothing(tmp_path: Path) -> None:
    if not (isolation := await asyncio.to_thread(Bubblewrap().isolation)).available:
        pytest.skip(isolation.why)
    with programs_started() as started:
        assert await asyncio.to_thread(Bubblewrap(workspace=tmp_path).isolation) == isolation
    assert started == []
    forget_findings()
    with programs_started() as started:
        await asyncio.to_thread(Bubblewrap().isolation)
    assert started != []
