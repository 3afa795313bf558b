"""`remit mcp --http` as bytes, in both eras of the protocol, over a real process (TRN-25)."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doors import opened
from mcp_http import MODERN, McpHttpDoor

pytestmark = pytest.mark.slow

READS = {"name": "read_file", "arguments": {"path": "a.py"}}
ANALYSES = {"name": "read_file", "arguments": {"path": "a.py", "intent": "ANALYZE"}}
DECLARES = {"name": "select_active_intent", "arguments": {"intent": "ANALYZE"}}
WRITES = {"name": "write_file", "arguments": {"path": "b.py", "content": "x = 1\n", "intent": "CODE"}}
FORMS = {"elicitation": {"form": {}}}


@pytest.fixture
def door(tmp_path: Path) -> Iterator[McpHttpDoor]:
    with opened(McpHttpDoor, tmp_path) as made:
        yield made


def refused(answer: Any) -> bool:
    return bool(answer["result"]["isError"])


def test_TRN_25_a_session_keeps_its_intent_and_no_other_has_it(door: McpHttpDoor) -> None:
    """THR-mcp-crossed-sessions."""
    one, other = door.session(), door.session()
    assert refused(door.legacy(one, "tools/call", READS))
    assert not refused(door.legacy(one, "tools/call", DECLARES))
    assert not refused(door.legacy(one, "tools/call", READS))
    assert refused(door.legacy(other, "tools/call", READS))
    logs = [
        door.legacy(session, "tools/call", {"name": "audit_log", "arguments": {}})["result"]["structuredContent"]
        for session in (one, other)
    ]
    assert [len(log["calls"]) for log in logs] == [2, 1]
    assert logs[0]["session_id"] != logs[1]["session_id"]


def test_TRN_25_where_there_are_no_sessions_each_call_brings_its_intent(door: McpHttpDoor) -> None:
    listed = {tool["name"]: tool for tool in door.modern("tools/list", {})["result"]["tools"]}
    assert not {"select_active_intent", "audit_log"} & set(listed)
    assert "intent" in listed["read_file"]["inputSchema"]["required"]
    assert door.modern("tools/call", DECLARES)["error"]["code"] == -32602
    assert refused(door.modern("tools/call", READS))
    assert not refused(door.modern("tools/call", ANALYSES))
    assert refused(door.modern("tools/call", READS))


def test_TRN_25_where_there_are_no_sessions_no_answer_stands_for_one(door: McpHttpDoor) -> None:
    asked = door.modern("tools/call", WRITES, capabilities=FORMS)["result"]
    ((key, form),) = asked["inputRequests"].items()
    assert form["params"]["requestedSchema"]["properties"]["answer"]["enum"] == ["Deny", "Allow once"]
    for word, done in (("Allow for this session", False), ("Allow once", True)):
        asked = door.modern("tools/call", WRITES, capabilities=FORMS)["result"]
        (key,) = asked["inputRequests"]
        given = {key: {"action": "accept", "content": {"answer": word}}}
        again = {**WRITES, "inputResponses": given, "requestState": asked["requestState"]}
        assert refused(door.modern("tools/call", again, capabilities=FORMS)) is not done
        assert (door.workspace / "b.py").exists() is done


def test_TRN_25_a_session_that_is_not_there_is_not_served(door: McpHttpDoor) -> None:
    """THR-mcp-a-guessed-session."""
    for session in ("nosuch", "x" * 10_000):
        headers = {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}
        status, _, _ = door.post({"id": 1, "method": "tools/call", "params": ANALYSES}, **headers)
        assert status in {400, 404}
    ended = door.session()
    headers = {"Mcp-Session-Id": ended, "MCP-Protocol-Version": "2025-11-25"}
    assert door.call("DELETE", "/mcp", None, **headers).status == 200
    assert door.post({"id": 1, "method": "tools/call", "params": ANALYSES}, **headers)[0] == 404


def test_TRN_24_a_body_that_holds_too_much_is_refused(door: McpHttpDoor) -> None:
    accepts = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": MODERN}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "read_file"}}
    for body in ({**call, "x": "x" * (5 << 20)}, {**call, "x": [0] * 600_000}):
        assert door.call("POST", "/mcp", body, **accepts).status == 413
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    for given in ({"path": deep, "intent": "ANALYZE"}, {"path": "a.py", "intent": "ANALYZE", "tell-nobody": deep}):
        told = door.modern("tools/call", {"name": "read_file", "arguments": given})
        assert "error" in told or refused(told)
    assert not refused(door.modern("tools/call", ANALYSES))


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_TRN_25_a_server_that_is_told_to_end_ends_and_takes_its_token_with_it(
    end: signal.Signals, door: McpHttpDoor
) -> None:
    asked = door.modern("tools/call", WRITES, capabilities=FORMS)["result"]
    assert asked["resultType"] == "input_required"
    door.process.send_signal(end)
    assert door.process.wait(20) == 0
    assert not door.file.exists()
    assert not (door.workspace / "b.py").exists()
