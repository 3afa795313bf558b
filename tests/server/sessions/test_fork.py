"""A fork contains whole messages, and no turn that only began (SES-04, EDI-08)."""

from __future__ import annotations

from typing import Any

from bench_runtime import Bench

from remit_server.contract import SessionStart, TurnStarted
from remit_server.sessions.messages import fork, is_message
from remit_server.sessions.session_file import read_session
from remit_server.sessions.statistics import count


async def test_SES_04_a_fork_before_a_turn_does_not_begin_that_turn(make_bench: Any) -> None:
    bench: Bench = await make_bench({"text": "one"}, {"text": "two"})
    await bench.ask("first")
    await bench.ask("second")
    (path,) = bench.settings.session_folder.glob("session-*.jsonl")
    records = read_session(path).records
    for upto in range(1, sum(map(is_message, records)) + 1):
        copy = fork(records, "copy", "2026-01-01T00:00:00Z", upto)
        assert sum(map(is_message, copy)) == upto
        assert isinstance(copy[0], SessionStart)
        assert not isinstance(copy[-1], TurnStarted)
    assert sum(isinstance(each, TurnStarted) for each in fork(records, "copy", "2026-01-01T00:00:00Z", 2)) == 1


async def test_SES_06_a_copy_does_not_end_before_it_begins(make_bench: Any) -> None:
    bench: Bench = await make_bench({"text": "one"})
    await bench.ask("first")
    folder = bench.runtime.sessions
    (session,) = folder.list()
    later = "2099-01-01T00:00:00.000Z"
    path = folder.fork(session, "copy", later)
    figures = count(read_session(path).records)
    copied = [each for each in folder.read(session) if not isinstance(each, SessionStart)]
    assert (figures.started, figures.last_used) == (min(each.timestamp for each in copied), later)
    assert figures.time.span_ms > 0
    assert [each.session_id for each in folder.list()] == ["copy", "s"]
