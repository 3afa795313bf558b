"""Turns: idempotent ids, order within a session, cancellation, time-outs, and one `run_completed` (AGT-06)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from bench_runtime import Answering, call, intent

from remit_server.contract import RunRequest
from remit_server.errors import RemitError
from remit_server.harness.ports import NobodyToAsk
from remit_server.models.ports import UserMessage


def request(turn: str, text: str = "hello", session: str = "s") -> RunRequest:
    return RunRequest.model_validate({"session_id": session, "turn_id": turn, "input": {"type": "text", "text": text}})


async def test_the_same_turn_id_gives_the_same_result_without_running_again(make_bench: Any) -> None:
    bench = await make_bench({"text": "one"}, {"text": "two"})
    first = await bench.runtime.run(request("1"), bench.events.append, NobodyToAsk())
    seen = len(bench.events)
    again = await bench.runtime.run(request("1"), bench.events.append, NobodyToAsk())
    assert again is first
    assert len(bench.events) == seen


async def test_the_same_turn_id_for_another_request_is_refused(make_bench: Any) -> None:
    bench = await make_bench({"text": "one"})
    await bench.runtime.run(request("1"), bench.events.append, NobodyToAsk())
    with pytest.raises(RemitError, match="already used"):
        await bench.runtime.run(request("1", "other"), bench.events.append, NobodyToAsk())


async def test_two_waiters_for_one_running_turn_share_its_result(make_bench: Any) -> None:
    bench = await make_bench({"text": "one", "delay_s": 0.1})
    results = await asyncio.gather(
        *[bench.runtime.run(request("1"), bench.events.append, NobodyToAsk()) for _ in range(2)]
    )
    assert results[0] is results[1]
    assert bench.kinds().count("run_completed") == 1


async def test_turns_of_one_session_run_one_after_the_other(make_bench: Any) -> None:
    bench = await make_bench({"text": "one", "delay_s": 0.2}, {"text": "two"})
    results = await asyncio.gather(
        *[bench.runtime.run(request(t), bench.events.append, NobodyToAsk()) for t in ("1", "2")]
    )
    assert [r.final_output for r in results] == ["one", "two"]
    assert [e.turn_id for e in bench.events] == sorted(e.turn_id for e in bench.events)


async def test_cancel_stops_a_hanging_model_and_the_next_turn_works(make_bench: Any) -> None:
    bench = await make_bench({"text": "so ", "hang": True}, {"text": "two"})
    running = asyncio.create_task(bench.ask("hang"))
    await bench.until("token_delta")
    assert bench.runtime.cancel(session_id="other") == 0
    assert bench.runtime.cancel(session_id="s") == 1
    result = await running
    assert result.status == "cancelled"
    assert result.error is not None
    assert bench.kinds()[-1] == "run_completed"
    assert (await bench.ask("again")).final_output == "two"


async def test_cancelling_the_awaiting_task_cancels_the_turn_and_completes_it(make_bench: Any) -> None:
    bench = await make_bench({"text": "so ", "hang": True})
    running = asyncio.create_task(bench.ask("hang"))
    await bench.until("token_delta")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert bench.kinds().count("run_completed") == 1


async def test_a_turn_past_its_time_is_timed_out(make_bench: Any) -> None:
    bench = await make_bench({"text": "so ", "hang": True})
    result = await bench.ask("hang", policy={"timeout_s": 0.1})
    assert result.status == "timed_out"
    assert result.error is not None
    assert result.error.code == "timed_out"
    assert bench.kinds()[-2:] == ["error", "run_completed"]


async def test_a_turn_that_takes_too_many_steps_is_ended(make_bench: Any) -> None:
    read = {"calls": [intent("READ_FILE"), call("read_file", path="a.py")]}
    bench = await make_bench(*[read] * 5)
    result = await bench.ask("loop", policy={"max_steps": 3})
    assert result.error is not None
    assert result.error.code == "limit_reached"
    assert len(bench.of("tool_result")) == 3


@pytest.mark.parametrize("step", [{"error": "unavailable"}, {"text": "half an ans", "error": "boom"}])
async def test_a_failing_model_ends_the_turn_clearly_and_the_next_one_works(make_bench: Any, step: Any) -> None:
    bench = await make_bench(step, {"text": "fine"})
    result = await bench.ask("go")
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.what
    assert result.error.why
    assert result.error.fix
    assert (await bench.ask("again")).status == "completed"


async def test_a_lost_client_means_deny_and_nothing_changes(make_bench: Any) -> None:
    edit = call("edit_file", path="a.py", old_text="total", new_text="x", replace_all=True)
    bench = await make_bench({"calls": [intent("CODE"), edit]}, {"text": "ok"})
    before = (bench.workspace / "a.py").read_text()

    def lost(event: Any) -> None:
        if event.kind == "approval_required":
            raise ConnectionError("the client is gone")

    result = await bench.runtime.run(request("1"), lost, Answering(style="stream"))
    assert result.status == "failed"
    assert (bench.workspace / "a.py").read_text() == before


async def test_closing_denies_what_is_pending_and_is_idempotent(make_bench: Any) -> None:
    bench = await make_bench({"calls": [intent("CODE"), call("write_file", path="b.py", content="x")]}, {"text": "ok"})
    running = asyncio.create_task(bench.ask("go", asker=Answering(style="stream")))
    await bench.until("approval_required")
    await bench.runtime.close()
    await bench.runtime.close()
    assert (await running).status == "cancelled"
    assert not (bench.workspace / "b.py").exists()
    with pytest.raises(RemitError, match="shutting down"):
        await bench.ask("late")


async def test_the_model_is_told_only_what_the_run_allows(make_bench: Any) -> None:
    bench = await make_bench({"text": "ok"})
    await bench.ask("go", policy={"allow_tools": ["read_file"]})
    (asked,) = bench.runtime._runner.agent.provider.requests
    assert {t.name for tools in asked.intents.values() for t in tools} == {"read_file"}
    assert {i.value for i in asked.intents} == {"READ_FILE", "ANALYZE", "DEBUG"}


async def test_every_call_keeps_its_answer_in_the_conversation_when_a_turn_is_cut_short(make_bench: Any) -> None:
    bench = await make_bench(
        {
            "calls": [
                intent("CODE"),
                call("write_file", path="b", content="x"),
                intent("READ_FILE"),
                call("read_file", path="a.py"),
            ]
        },
        {"text": "ok"},
    )
    running = asyncio.create_task(bench.ask("go", asker=Answering(style="stream")))
    await bench.until("approval_required")
    bench.runtime.cancel()
    await running
    messages = bench.runtime._sessions.by_id["s"].conversation.messages
    calls = [c.id for m in messages if type(m).__name__ == "AssistantMessage" for c in m.calls]
    answered = [m.call_id for m in messages if type(m).__name__ == "ToolMessage"]
    assert answered == calls


async def test_what_the_editor_shows_reaches_the_model(make_bench: Any) -> None:
    bench = await make_bench({"text": "one"})
    await bench.ask("hello", context={"open_document": "a.py"})
    (said,) = [m.text for m in bench.runtime._sessions.open("s").conversation.messages if isinstance(m, UserMessage)]
    assert "open document: a.py" in said
