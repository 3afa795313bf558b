"""Several sessions at once in one server: each question names its session, and writes to one file are in order
(SES-07)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from bench_runtime import SHOP, Bench

from remit_server.cli.console import draw_event
from remit_server.contract import ApprovalAnswer, ApprovalRequired
from remit_server.harness.approval.question import question_text
from remit_server.harness.ports import AskingStyle

ASKS = """\
capabilities:
  - { name: reads, match: { syscall: [fs.read, fs.list] }, action: allow }
  - { name: writes, match: { syscall: fs.write }, action: require_review }
"""


@dataclass
class Patient:
    """Answers yes when the test lets it."""

    style: AskingStyle = "callback"
    now: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    question: ApprovalRequired | None = None

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        self.question = question
        self.asked.set()
        await self.now.wait()
        return ApprovalAnswer(approval_id=question.approval_id, decision="allow", digest=question.digest)


def edit(old: str, new: str) -> dict[str, Any]:
    arguments = {"path": "a.py", "old_text": old, "new_text": new}
    return {"type": "call", "tool": "edit_file", "arguments": arguments, "intent": "CODE"}


def begin(bench: Bench, session: str, old: str, new: str) -> tuple[Patient, asyncio.Task[Any]]:
    asker = Patient()
    return asker, asyncio.create_task(bench.ask(edit(old, new), asker=asker, session=session))


@pytest.fixture
async def bench(make_bench: Any) -> Bench:
    made: Bench = await make_bench({"text": "first"}, {"text": "second"}, policy=ASKS)
    return made


@pytest.mark.parametrize("first", [0, 1])
async def test_SES_07_two_wait_and_each_edit_is_made_in_either_order(bench: Bench, first: int) -> None:
    waiting = [begin(bench, "left", "total = 0", "total = 10"), begin(bench, "right", "in (1, 2)", "in (3, 4)")]
    for asker, _ in waiting:
        await asker.asked.wait()
    for asker, task in (waiting[first], waiting[1 - first]):
        asker.now.set()
        assert (await task).status == "completed"
    both = SHOP.replace("total = 0", "total = 10").replace("in (1, 2)", "in (3, 4)")
    assert (bench.workspace / "a.py").read_text() == both
    undone = await bench.ask(
        {"type": "call", "tool": "undo_changes", "arguments": {}, "intent": "CODE"}, session="left"
    )
    assert undone.status == "completed"
    assert (bench.workspace / "a.py").read_text() == SHOP.replace("in (1, 2)", "in (3, 4)")


async def test_SES_07_of_two_edits_of_one_place_the_later_is_refused(bench: Bench) -> None:
    (one, first), (two, second) = (
        begin(bench, "left", "total = 0", "total = 1"),
        begin(bench, "right", "total = 0", "x = 2"),
    )
    await one.asked.wait()
    await two.asked.wait()
    one.now.set()
    assert (await first).status == "completed"
    two.now.set()
    await second
    assert (bench.workspace / "a.py").read_text() == SHOP.replace("total = 0", "total = 1")
    assert [result.ok for result in bench.of("tool_result")] == [True, False]


async def test_SES_07_a_question_says_which_session_asks_where_there_are_several(bench: Bench) -> None:
    alone, task = begin(bench, "left", "total = 0", "total = 1")
    await alone.asked.wait()
    alone.now.set()
    await task
    assert alone.question is not None
    assert alone.question.session_name is None
    asker = Patient()
    parts = ("rename it,\nplease, with a key AKIAIOSFODNN7EXAMPLE \u202e " + "x" * 90, edit("total = 1", "total = 2"))
    task = asyncio.create_task(bench.ask(*parts, asker=asker, session="right"))
    await asker.asked.wait()
    asker.now.set()
    await task
    assert asker.question is not None
    name = asker.question.session_name
    assert name is not None
    assert name.startswith("rename it, please, with a key ")
    assert "AKIA" not in name
    assert "\u202e" not in name
    assert f"In the session: {name}" in question_text(asker.question)
    assert any(f"in the session: {name}" in line for line in draw_event(asker.question))
