"""What is said of the workflow over LSP; what is not enforced is refused (FLW-07, POL-05)."""

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


@pytest.mark.parametrize(
    ("rest", "line", "why"),
    [
        ("action: allow, constraints: { require_sandbox: L2 }", 3, "this version does not enforce `require_sandbox`"),
        ("action: allow, constraints: { require_capability_token: true }", 3, "not enforce `require_capability_token`"),
    ],
)
async def test_a_policy_that_demands_what_is_not_enforced_stops_the_start(start_real, tmp_path, rest, line, why):
    """With the file, the line and what to do; a rule that is read and ignored would be taken for a protection."""
    file = tmp_path / "config" / "policy.yaml"
    file.parent.mkdir()
    file.write_text(f"version: 1\ncapabilities:\n  - {{ name: x, match: {{ syscall: fs.write }}, {rest} }}\n")
    client = await start_real()
    await client.initialize()
    _, answer = client.run("hello")
    data = (await answer)["error"]["data"]
    assert data["code"] == "policy_invalid"
    assert f"{file}:{line}:" in data["what"] + data["why"]
    assert why in data["what"] + data["why"]
    assert "leave " in data["what"] + data["why"] + data["fix"]
