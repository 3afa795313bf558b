"""No workflow is enforced by this version, and no surface says otherwise (LSP-04)."""

from __future__ import annotations

import pytest

from remit_governance.audit.reading.query import query_audit

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


async def test_no_surface_claims_a_mode_or_a_state(start_real, tmp_path):
    """`strict` and `idle` were said whatever happened."""
    client = await start_real()
    await client.initialize()
    status = await client.result("remit/status")
    assert (status["mode"], status["state"]) == (None, None)
    part = {"type": "call", "tool": "list_files", "arguments": {"path": "."}, "intent": "ANALYZE"}
    await client.result("remit/run", {"session_id": "s", "turn_id": "t", "input": part})
    assert await client.shutdown() == 0
    (database,) = (tmp_path / "state").rglob("audit.sqlite3")
    records = query_audit(database)
    assert records
    assert {(r.event.session_mode, r.event.state_machine_state) for r in records} == {(None, None)}
    assert not any(word in (r.event.actions or "") for r in records for word in ("strict", "idle"))


@pytest.mark.parametrize("mode", ["strict", "explore", "debug", None])
async def test_a_run_that_wants_a_mode_is_refused_with_the_reason(start_real, mode):
    client = await start_real()
    await client.initialize()
    _, answer = client.run("hello", policy={"mode": mode})
    error = (await answer)["error"]
    assert error["code"] == -32602
    assert error["data"]["why"] == "`policy`: `mode` is not enforced by this version; leave it out"


@pytest.mark.parametrize(
    ("rest", "line", "why"),
    [
        ("action: allow, constraints: { require_sandbox: L2 }", 3, "this version does not enforce `require_sandbox`"),
        ("action: allow, constraints: { require_capability_token: true }", 3, "not enforce `require_capability_token`"),
        ("action: deny, except: [{ mode: explore }]", 3, "`x` looks at `mode`, and this version enforces no workflow"),
        ("action: pass }\n  - { name: z, match: { state: idle }, action: deny", 4, "`z` looks at `state`"),
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
