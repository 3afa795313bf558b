"""The workflow's messages over LSP, and the constraints of an allow, with a running server (FLW-07, POL-17, POL-18)."""

from __future__ import annotations

import pytest

from remit_governance.audit.reading.query import query_audit

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


async def test_FLW_07_status_and_audit_say_mode_and_state(start_real, tmp_path):
    client = await start_real()
    await client.initialize()
    status = await client.result("remit/status")
    assert (status["mode"], status["state"]) == ("explore", "idle")
    part = {"type": "call", "tool": "list_files", "arguments": {"path": "."}, "intent": "ANALYZE"}
    await client.result("remit/run", {"session_id": "s", "turn_id": "t", "input": part})
    assert await client.shutdown() == 0
    (database,) = (tmp_path / "state").rglob("audit.sqlite3")
    records = query_audit(database)
    assert records
    calls = [r.event for r in records if r.event.tool_name]
    assert {(event.session_mode, event.state_machine_state) for event in calls} == {("explore", "idle")}


ALLOWS = """version: 1
capabilities:
  - {{ name: reads, match: {{ syscall: [fs.read, fs.list] }}, action: allow, constraints: {reads} }}
  - {{ name: writes, match: {{ syscall: fs.write }}, action: allow, constraints: {writes} }}
  - {{ name: runs, match: {{ syscall: process.exec }}, action: allow, constraints: {runs} }}
"""


async def results_of(start_real, tmp_path, calls, **constraints):
    """Returns the result of each call, from a server with this policy."""
    file = tmp_path / "config" / "policy.yaml"
    file.parent.mkdir()
    file.write_text(ALLOWS.format(**({"reads": "{}", "writes": "{}", "runs": "{}"} | constraints)))
    (tmp_path / "work" / "a.txt").write_text("needle\n")
    client = await start_real()
    await client.initialize()
    events = []
    for number, (tool, intent, arguments) in enumerate(calls):
        part = {"type": "call", "tool": tool, "arguments": arguments, "intent": intent}
        answer = await client.result("remit/run", {"session_id": "s", "turn_id": f"t{number}", "input": part})
        events.append(answer)
    assert await client.shutdown() == 0
    (database,) = (tmp_path / "state").rglob("audit.sqlite3")
    return events, query_audit(database)


WRITE = ("write_file", "CODE", {"path": "b.txt", "content": "x\n"})
RUN = ("run_command", "EXECUTE", {"command": "echo made > c.txt"})
SEARCH = ("search_files", "ANALYZE", {"pattern": "needle"})
READ = ("read_file", "READ_FILE", {"path": "a.txt"})


async def test_POL_17_an_edit_is_not_done_in_a_sandbox_and_a_commands_own_file_is(start_real, tmp_path):
    answers, records = await results_of(start_real, tmp_path, [WRITE, RUN], writes="{ require_sandbox: L2 }")
    assert [answer["status"] for answer in answers] == ["denied", "completed"]
    assert not (tmp_path / "work" / "b.txt").exists()
    assert (tmp_path / "work" / "c.txt").read_text() == "made\n"
    said = next(record.event for record in records if record.event.tool_name == "write_file")
    assert "require_sandbox" in (said.reasons or "")


async def test_POL_17_a_command_that_needs_no_network_is_in_another_sandbox(start_real, tmp_path):
    answers, _ = await results_of(start_real, tmp_path, [RUN], runs="{ require_sandbox: integration-test }")
    assert [answer["status"] for answer in answers] == ["denied"]
    assert not (tmp_path / "work" / "c.txt").exists()


async def test_POL_18_what_a_call_names_has_a_token_and_what_a_search_meets_has_none(start_real, tmp_path):
    demand = "{ require_capability_token: true }"
    answers, records = await results_of(start_real, tmp_path, [READ, SEARCH, WRITE], reads=demand, writes=demand)
    assert [answer["status"] for answer in answers] == ["completed", "completed", "completed"]
    outputs = {r.event.tool_name: r.event.output_summary or "" for r in records if r.event.kind == "tool_outcome"}
    assert outputs["search_files"].startswith("0 matches")
    assert (tmp_path / "work" / "b.txt").read_text() == "x\n"


async def test_APP_12_tokens_sandboxes_and_turns_are_audited_from_their_beginning_to_their_end(start_real, tmp_path):
    _, records = await results_of(start_real, tmp_path, [RUN])
    words = [record.event.kind.value for record in records if record.event.turn_id]
    assert [word for word in words if word.startswith(("run_", "capability_", "sandbox_"))] == [
        "run_started",
        *("capability_issued", "capability_used"),
        *("sandbox_created", "sandbox_destroyed"),
        *("capability_issued", "capability_used", "capability_ended"),
        *("capability_ended", "run_completed"),
    ]
    created, destroyed = (
        next(record.event.metadata for record in records if record.event.kind.value == kind)
        for kind in ("sandbox_created", "sandbox_destroyed")
    )
    assert created["template"] == "code-executor"
    assert created["sandbox"] == destroyed["sandbox"]
    assert destroyed["exit_code"] == "0"
