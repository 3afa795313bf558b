"""The records of a call that waits, is stopped or is huge; and what the log says of the runtime itself."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from bench_runtime import Answering, call, intent

from remit_governance.audit.reading.query import AuditFilter, query_audit
from remit_governance.audit.record import AuditKind
from remit_governance.secrets.redaction import Redactor
from remit_server import __version__
from remit_server.contract import ApprovalAnswer, ApprovalRequired
from remit_server.harness.record.audit_events import redact_data

WRITE = call("write_file", path="b.py", content="x")
READ = call("read_file", path="a.py")
TOKEN = "ghp_" + "a1B2" * 9


async def test_a_call_that_is_cancelled_ends_with_a_result_before_its_turn_does(make_bench: Any) -> None:
    bench = await make_bench({"calls": [intent("CODE"), WRITE]}, {"text": "ok"})
    running = asyncio.create_task(bench.ask("go", asker=Answering(style="stream")))
    await bench.until("approval_required")
    bench.runtime.cancel()
    await running
    (result,) = bench.of("tool_result")
    assert (result.ok, result.error.code) == (False, "cancelled")
    assert bench.kinds()[-3:-1] == ["tool_result", "error"]
    assert bench.kinds()[-1] == "run_completed"


@pytest.mark.parametrize(("answer", "by"), [("deny", "person"), (None, "person"), ("allow", None)])
async def test_AUD_06_a_call_that_a_person_denied_is_found_among_the_denied(
    answer: Any, by: str | None, make_bench: Any
) -> None:
    bench = await make_bench({"calls": [intent("CODE"), WRITE]}, {"text": "ok"})
    await bench.ask("go", asker=Answering(answer))
    ended = [r.event for r in bench.audit() if r.event.kind in {AuditKind.TOOL_INTENT, AuditKind.TOOL_OUTCOME}]
    of_write = [event for event in ended if event.tool_name == "write_file"]
    assert [(event.policy_decision, event.denied_by) for event in of_write] == [("review_required", by)] * 2
    wanted = AuditFilter(policy_decision="denied", kind=AuditKind.TOOL_INTENT)
    assert len(query_audit(bench.settings.audit_database, wanted)) == (by is not None)


@dataclass
class Slow(Answering):
    """A person who takes longer to answer than the call takes to run."""

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        await asyncio.sleep(0.6)
        return await super().ask(question)


async def test_the_time_a_person_takes_is_not_the_calls_own(make_bench: Any) -> None:
    bench = await make_bench({"calls": [intent("CODE"), WRITE]}, {"text": "ok"})
    run = await bench.ask("go", asker=Slow())
    (asked,) = [r.event for r in bench.audit() if r.event.kind is AuditKind.APPROVAL_RESOLVED]
    (ended,) = [r.event for r in bench.audit() if r.event.kind is AuditKind.TOOL_OUTCOME]
    assert asked.duration_ms >= 500
    for took in (ended.duration_ms, bench.of("tool_result")[0].duration_ms, run.tool_trace[0].duration_ms):
        assert took < asked.duration_ms


@pytest.mark.slow
async def test_a_secret_at_the_cut_of_a_huge_argument_is_in_no_summary(make_bench: Any) -> None:
    """Every part is redacted before it is cut, and then the whole is, because some secrets show only there."""
    sizes = (0, 180, 225, 240, 480, 490, 500, 980, 1_000, 400_000)
    pieces = [call("write_file", path=f"{n}.py", content="x" * n + " " + TOKEN + " " + "y" * 20_000) for n in sizes]
    bench = await make_bench({"calls": [intent("CODE"), *pieces]}, {"text": "ok"})
    await bench.ask("go", asker=Answering("deny"))
    records = [r.event for r in bench.audit() if r.event.kind is AuditKind.TOOL_INTENT]
    assert len(records) == len(sizes)
    for record in records:
        assert record.input_summary is not None
        assert len(record.input_summary) <= 500
        assert TOKEN[:8] not in record.input_summary


async def test_a_result_has_data_for_programs_without_secrets(make_bench: Any) -> None:
    bench = await make_bench({"calls": [intent("ANALYZE"), call("list_files", pattern="*.py"), READ]}, {"text": "ok"})
    (bench.workspace / f"{TOKEN}.py").write_text("x = 1\n")
    await bench.ask("go")
    data = {result.tool: result.data for result in bench.of("tool_result")}
    assert sorted(data["list_files"]["files"]) == ["[redacted github token].py", "a.py"]
    read = data["read_file"]
    assert (read["path"], read["first_line"], read["truncated"]) == ("a.py", 1, False)


def test_data_that_is_too_long_is_left_out() -> None:
    assert redact_data({"matches": ["x" * 1000] * 300, "total": 300}, Redactor()) == {}
    assert redact_data({"matches": [{"text": TOKEN}], "total": 1}, Redactor()) == {
        "matches": [{"text": "[redacted github token]"}],
        "total": 1,
    }


async def test_the_log_says_when_the_runtime_opened_and_closed(make_bench: Any) -> None:
    bench = await make_bench({"text": "ok"})
    version = bench.runtime.status().policy
    await bench.ask("go")
    await bench.runtime.close()
    first, last = (
        [r for r in bench.audit() if r.event.kind is kind][-1].event
        for kind in (AuditKind.KERNEL_START, AuditKind.KERNEL_SHUTDOWN)
    )
    for event in (first, last):
        assert (event.policy_version, event.metadata["version"]) == (version, __version__)
    assert first.metadata["server"] == last.metadata["server"]
    assert bench.audit()[0].event.kind is AuditKind.KERNEL_START


async def test_APP_02_a_result_says_how_the_approval_of_its_call_was_settled(make_bench: Any) -> None:
    """By whom, also if an earlier answer settled it; and by nobody where policy decided alone."""
    writes = [call("write_file", path=f"b{n}.py", content="x\n") for n in range(3)]
    steps = [{"calls": [intent("CODE"), each]} for each in (call("read_file", path="a.py"), *writes)]
    bench = await make_bench(*(step for each in steps for step in (each, {"text": "ok"})))
    answers = (Answering(), Answering("deny"), Answering("allow", "edits"), Answering("deny"))
    for answer in answers:
        await bench.ask("go", asker=answer)
    settled = [each.answer for each in bench.of("tool_result") if each.tool != "select_active_intent"]
    assert [each and (each.decision, each.by, each.scope.value) for each in settled] == [
        None,
        ("deny", "person", "once"),
        ("allow", "person", "edits"),
        ("allow", "standing_answer", "edits"),
    ]
