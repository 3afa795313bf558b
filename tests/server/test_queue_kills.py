"""Workers that are killed while they run turns, and a broker that is killed and comes back (TRN-33): each turn ends
once."""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from examples import rounds
from queue_broker import NatsServer, RawNats, wait_for_queue
from queue_workers import Workers, submit, wait_for_end

from remit_governance.audit.reading.query import AuditFilter, query_audit
from remit_governance.audit.record import AuditKind
from remit_governance.policy.decision.builtin import AUDIT_DATABASE

pytestmark = pytest.mark.slow

SLOWLY = ({"text": "one two three four five six", "pace_s": 0.05},) * 20


def turn(number: int) -> Any:
    """Returns a turn that reads, writes a file of its own, and lets the model answer; two turns share a session."""
    call = {"type": "call", "by": "model"}
    parts = [
        {**call, "tool": "read_file", "arguments": {"path": "a.py"}, "intent": "ANALYZE"},
        {**call, "tool": "write_file", "arguments": {"path": f"out/{number}.txt", "content": "x\n"}, "intent": "CODE"},
        {"type": "text", "text": "go"},
    ]
    parts = parts[:1] + parts[2:] if number % 4 == 0 else parts  # some turns only read, so that they can be resumed
    return {"session_id": f"s{number // 2}", "turn_id": f"t{number}", "input": parts}


@pytest.mark.parametrize("count", sorted({24, rounds(200, 24)}))
@pytest.mark.timeout(580)
def test_TRN_33_each_turn_ends_once_whatever_dies(count: int, tmp_path: Path) -> None:
    chance = random.Random(os.environ.get("SEED", "7"))
    kills = max(4, count // 8)
    with (
        NatsServer(tmp_path / "broker") as broker,
        Workers(tmp_path, broker, SLOWLY, ("--lease", "3", "--turns", "4", "--attempts", "9")) as workers,
    ):
        for _ in range(3):
            workers.start()
        with RawNats(broker.port) as raw:
            wait_for_queue(raw)
        sending = threading.Thread(target=lambda: [submit(broker, turn(number)) for number in range(count)])
        sending.start()
        for number in range(kills):
            time.sleep(chance.uniform(0.2, 1.5))
            workers.kill_one(chance)
            if number in {kills // 3, 2 * kills // 3}:
                broker.restart()
        sending.join()
        found = [wait_for_end(broker, f"s{number // 2}", f"t{number}") for number in range(count)]
        for each in found:
            each.check()
            each.check_calls()
        time.sleep(1.0)
        with RawNats(broker.port) as raw:  # nothing was written after the end, and no request waits
            for number, each in enumerate(found):
                again = wait_for_end(broker, f"s{number // 2}", f"t{number}")
                assert len(again.messages) == len(each.messages)
    results = [each.events[-1]["result"] for each in found]
    resumed = sum(any(e["kind"] == "run_started" and e["resumed"] for e in each.events) for each in found)
    cut = [result for result in results if result["status"] != "completed"]
    assert all(result["error"] and result["error"]["code"] == "outcome_unknown" for result in cut), cut
    print(f"{count} turns: {resumed} resumed, {len(cut)} cut short, {sum(e.claims > 1 for e in found)} taken up")
    (database,) = (tmp_path / "state").rglob(AUDIT_DATABASE)
    for number in range(count):
        wanted = AuditFilter(turn_id=f"t{number}", kind=AuditKind.TOOL_INTENT, limit=None)
        calls = [record.event for record in query_audit(database, wanted)]
        assert sum(call.tool_name == "write_file" for call in calls) <= 1
