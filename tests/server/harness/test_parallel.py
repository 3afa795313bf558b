"""Several calls of one step: at the same time if they cannot collide, otherwise in order (AGT-02)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from bench_runtime import SHOP, Answering, call, intent
from hypothesis import given
from hypothesis import strategies as st
from rows import rows
from threat_bench import LAX

from remit_governance.audit.reading.verify import Verified, verify
from remit_governance.audit.record import AuditKind
from remit_governance.values import Action
from remit_server.cli.console import draw_event
from remit_server.harness.dispatcher import Dispatcher
from remit_server.harness.parallel import Touches, collide, order, touches
from remit_server.models.ports import ToolMessage
from remit_server.tools.spec import ReadPlan

PATHS = st.sampled_from([".", "a", "a/b", "a/b/c", "ab", "A", "d"])
TOUCHES = st.builds(Touches, st.frozensets(PATHS, max_size=2), st.frozensets(PATHS, max_size=2))


def exec_of(command: str) -> Action:
    return Action("process.exec", command=tuple(command.split()), script=command)


@given(st.lists(TOUCHES, max_size=8))
def test_a_call_waits_for_exactly_the_earlier_ones_that_it_meets(touched: list[Touches]) -> None:
    waits = order(touched)
    assert len(waits) == len(touched)
    for later, earlier in enumerate(waits):
        assert list(earlier) == [n for n in range(later) if collide(touched[n], touched[later])]


@given(TOUCHES, TOUCHES)
def test_colliding_is_mutual_and_reads_alone_never_collide(one: Touches, other: Touches) -> None:
    assert collide(one, other) == collide(other, one)
    assert not collide(replace(one, writes=frozenset()), replace(other, writes=frozenset()))
    assert collide(one, other) or not one.writes & (other.reads | other.writes)


@rows(
    ("one", "other", "met"),
    [
        (Action("fs.write", "src/a.py"), Action("fs.read", "src/a.py"), True),
        (Action("fs.write", "src/a.py"), Action("fs.list", "src"), True),
        (Action("fs.write", "src/a.py"), Action("fs.list", "."), True),
        (Action("fs.write", "src/A.py"), Action("fs.read", "src/a.py"), True),
        (Action("fs.write", "src/a.py"), Action("fs.read", "src/ab.py"), False),
        (Action("fs.write", "src/a.py"), Action("fs.list", "srcs"), False),
        (Action("fs.write", "a"), Action("fs.write", "b"), False),
        (exec_of("make"), Action("fs.read", "a"), True),
        (exec_of("ls -l"), Action("fs.read", "a"), False),
        (exec_of("ls -l"), Action("fs.write", "a"), True),
        (exec_of("ls -l > b"), Action("fs.read", "a"), True),
        (Action("net.connect"), Action("fs.read", "a"), True),
    ],
)
def test_what_meets(one: Action, other: Action, met: bool) -> None:
    assert collide(touches([one]), touches([other])) is met


@dataclass
class Meeting:
    """A door in front of a tool's read: calls wait there until `parties` of them have come."""

    parties: int
    came: int = 0
    all_there: asyncio.Event = field(default_factory=asyncio.Event)

    def before(self, run: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[Any]]:
        async def met() -> Any:
            self.came += 1
            if self.came == self.parties:
                self.all_there.set()
            await self.all_there.wait()
            return await run()

        return met


def behind(bench: Any, name: str, door: Callable[[Callable[[], Awaitable[Any]]], Callable[[], Awaitable[Any]]]) -> None:
    """Puts a door in front of the read of one of the bench's tools."""
    dispatcher = bench.runtime._runner.agent.dispatcher
    tool = dispatcher.parts.tools[name]

    async def prepare(arguments: Any, ctx: Any) -> Any:
        made = await tool.prepare(arguments, ctx)
        return ReadPlan(door(made.run))

    parts = dispatcher.parts
    changed = Dispatcher(replace(parts, tools={**parts.tools, name: replace(tool, prepare=prepare)}))
    bench.runtime._runner.agent = replace(bench.runtime._runner.agent, dispatcher=changed)


def told(bench: Any) -> list[str]:
    return [m.text for m in bench.runtime._runner.agent.provider.requests[-1].messages if isinstance(m, ToolMessage)]


async def test_reads_run_at_once_and_answer_in_the_order_of_the_calls(make_bench: Any) -> None:
    names = [f"{n}.txt" for n in range(5)]
    bench = await make_bench(
        {"calls": [intent("READ_FILE"), *(call("read_file", path=name) for name in names)]}, {"text": "ok"}
    )
    for name in names:
        (bench.workspace / name).write_text(f"I am {name}\n")
    behind(bench, "read_file", Meeting(5).before)
    async with asyncio.timeout(20):
        assert (await bench.ask("go")).status == "completed"
    assert [text.split()[0] for text in told(bench)[1:]] == names
    verified = verify(bench.settings.audit_database)
    assert isinstance(verified, Verified)
    kinds = [r.event.kind for r in bench.audit() if r.event.tool_name == "read_file"]
    assert sorted(kinds) == [AuditKind.TOOL_INTENT] * 5 + [AuditKind.TOOL_OUTCOME] * 5


async def test_edits_of_one_file_run_in_order(make_bench: Any) -> None:
    edits = [call("edit_file", path="a.py", old_text=f"n{i}", new_text=f"n{i + 1}") for i in range(6)]
    bench = await make_bench({"calls": [intent("CODE"), *edits]}, {"text": "ok"}, policy=LAX)
    (bench.workspace / "a.py").write_text("n0\n")
    await bench.ask("go")
    assert [r.ok for r in bench.of("tool_result")] == [True] * 6
    assert (bench.workspace / "a.py").read_text() == "n6\n"


async def test_an_intent_is_a_barrier(make_bench: Any) -> None:
    """004, rule 4: each call runs under the intent that was declared before it, though calls run at the same time."""
    read = call("read_file", path="a.py")
    calls = [intent("READ_FILE"), read, read, intent("CODE"), read, intent("ANALYZE"), read, read]
    bench = await make_bench({"calls": calls}, {"text": "ok"})
    await bench.ask("go")
    intents = {e.tool_call_id: e.intent for e in bench.of("tool_call")}
    assert list(intents.values()) == ["READ_FILE", "READ_FILE", "CODE", "ANALYZE", "ANALYZE"]
    assert [text.startswith("error") for text in told(bench)] == [False] * 4 + [True] + [False] * 3
    outcomes = [r.event for r in bench.audit() if r.event.kind is AuditKind.TOOL_OUTCOME]
    assert [e.intent for e in outcomes] == list(intents.values())


async def test_one_refusal_ends_no_other_call(make_bench: Any) -> None:
    calls = [intent("READ_FILE"), *(call("read_file", path=p) for p in ("a.py", ".env", "no.py", "../x", "a.py"))]
    bench = await make_bench({"calls": calls}, {"text": "ok"})
    assert (await bench.ask("go")).status == "completed"
    assert [text.startswith("error") for text in told(bench)] == [False, False, True, True, True, False]


async def test_questions_are_put_one_at_a_time(make_bench: Any) -> None:
    edits = [call("edit_file", path=f"{n}.py", old_text="x", new_text="y") for n in range(4)]
    bench = await make_bench({"calls": [intent("CODE"), *edits]}, {"text": "ok"})
    for n in range(4):
        (bench.workspace / f"{n}.py").write_text("x\n")
    open_now: list[int] = []
    await bench.ask("go", asker=Answering(before=lambda: open_now.append(bench.runtime.status().pending_approvals)))
    assert open_now == [1] * 4
    places = {(event.step_call, event.step_calls) for event in bench.of("approval_required")}
    assert places == {(n, 4) for n in range(1, 5)}, "each says which of the step's calls it is (APP-03)"
    drawn = [next(iter(draw_event(event))) for event in bench.of("approval_required")]
    assert sorted(line[-len("call 1 of 4") :] for line in drawn) == [f"call {n} of 4" for n in range(1, 5)]
    assert [(bench.workspace / f"{n}.py").read_text() for n in range(4)] == ["y\n"] * 4


async def test_what_the_person_answered_for_the_session_answers_the_call_that_waited(make_bench: Any) -> None:
    policy = LAX.replace("process.exec }, action: allow", "process.exec }, action: require_review")
    looks = [call("run_command", command="ls")] * 3
    bench = await make_bench({"calls": [intent("EXECUTE"), *looks]}, {"text": "ok"}, policy=policy)
    asker = Answering(scope="session")
    await bench.ask("go", asker=asker)
    assert len(asker.asked) == 1
    assert [r.ok for r in bench.of("tool_result")] == [True] * 3
    assert [e.by for e in bench.of("approval_resolved")] == ["person", "standing_answer", "standing_answer"]


async def test_a_denied_question_leaves_the_others_to_be_asked(make_bench: Any) -> None:
    @dataclass
    class Choosy(Answering):
        async def ask(self, question: Any) -> Any:
            self.decision = "deny" if "b.py" in question.title else "allow"
            return await super().ask(question)

    edits = [
        call("edit_file", path=p, old_text="total", new_text="x", replace_all=True) for p in ("a.py", "b.py", "c.py")
    ]
    bench = await make_bench({"calls": [intent("CODE"), *edits]}, {"text": "ok"})
    for name in ("b.py", "c.py"):
        (bench.workspace / name).write_text(SHOP)
    await bench.ask("go", asker=Choosy())
    assert [(bench.workspace / p).read_text() == SHOP for p in ("a.py", "b.py", "c.py")] == [False, True, False]


async def test_cancelling_stops_all_of_them_and_each_is_answered_and_audited(make_bench: Any) -> None:
    reads = [call("read_file", path="a.py")] * 3
    bench = await make_bench({"calls": [intent("READ_FILE"), *reads]}, {"text": "ok"})
    meeting = Meeting(4)
    behind(bench, "read_file", meeting.before)
    running = asyncio.create_task(bench.ask("go"))
    async with asyncio.timeout(20):
        while meeting.came < 3:
            await asyncio.sleep(0.01)
    bench.runtime.cancel()
    assert (await running).status == "cancelled"
    assert [r.error.code for r in bench.of("tool_result")] == ["cancelled"] * 3
    ended = [r.event for r in bench.audit() if r.event.kind is AuditKind.TOOL_OUTCOME]
    assert len({e.tool_call_id for e in ended}) == 3
    assert isinstance(verify(bench.settings.audit_database), Verified)


async def test_a_command_runs_after_what_stands_before_it_and_before_what_comes_after(make_bench: Any) -> None:
    commands = [call("run_command", command=c) for c in ("echo 1 >> log", "echo 2 >> log", "cat log", "cat log a.py")]
    bench = await make_bench({"calls": [intent("EXECUTE"), *commands]}, {"text": "ok"}, policy=LAX)
    await bench.ask("go")
    assert (bench.workspace / "log").read_text() == "1\n2\n"
    assert all("1\n2" in text for text in told(bench)[3:])
