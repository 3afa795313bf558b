"""Web pages of other sites, strangers, and clients that lie, before a real `remit mcp` (TRN-20 to TRN-26): nothing is
done."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doors import McpDoor, ModernMcpDoor, opened
from mcp_http import MODERN, McpHttpDoor

pytestmark = pytest.mark.slow

ALLOWS = """\
version: 1
capabilities:
  - { name: reads, match: { syscall: [fs.read, fs.list] }, action: allow }
  - { name: writes, match: { syscall: fs.write }, action: allow }
"""
WRITES = {"name": "write_file", "arguments": {"path": "b.py", "content": "x = 1\n", "intent": "CODE"}}
CLEAN = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@pytest.fixture
def door(tmp_path: Path) -> Iterator[McpHttpDoor]:
    """A server whose policy allows a file to be written."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "policy.yaml").write_text(ALLOWS)
    with opened(McpHttpDoor, tmp_path) as made:
        yield made


STRANGERS = {
    "THR-mcp-http-no-token": {"Authorization": ""},
    "THR-mcp-http-a-wrong-token": {"Authorization": "Bearer x"},
    "THR-mcp-http-a-name-that-resolves-here": {"Host": "evil.example:{port}"},
    "THR-mcp-http-another-port": {"Host": "127.0.0.1:1"},
    "THR-mcp-http-another-origin": {"Origin": "http://evil.example"},
    "THR-mcp-http-a-page-of-another-site": {"Sec-Fetch-Site": "cross-site"},
}


@pytest.mark.parametrize("name", STRANGERS)
def test_a_request_that_is_not_the_persons_has_nothing_done(name: str, door: McpHttpDoor) -> None:
    headers = {key: value.format(port=door.port) for key, value in STRANGERS[name].items()}
    meta = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**WRITES, "_meta": meta}}
    modern = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "write_file"}
    begin = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    for method, body, more in (
        ("POST", call, modern),
        ("POST", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin}, {}),
        ("GET", None, {}),
        ("DELETE", None, {}),
        ("OPTIONS", None, {}),
    ):
        answer = door.call(method, "/mcp", body, **{**CLEAN, **more, **headers})
        assert answer.status in {401, 403}
        assert not [name for name in answer.headers if name.lower().startswith(("access-control", "mcp-"))]
        answer.read()
    assert not (door.workspace / "b.py").exists()
    door.modern("tools/call", WRITES)
    assert (door.workspace / "b.py").exists()


def test_THR_mcp_http_a_path_that_is_none_shows_nothing_without_the_token(door: McpHttpDoor) -> None:
    for path in ("/", "/page.js", "/v1/status", "/mcp/", "//mcp", "/MCP"):
        assert door.call("GET", path, None, Authorization="").status == 401


def test_THR_mcp_more_sessions_than_there_can_be_end_none(door: McpHttpDoor) -> None:
    first = door.session()
    begin = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    statuses = [door.post({"id": 0, "method": "initialize", "params": begin})[0] for _ in range(205)]
    assert statuses[-1] == 503
    assert door.legacy(first, "tools/call", WRITES)["result"]["isError"] is False


def test_THR_mcp_questions_that_nobody_answers_leave_room_for_no_more_than_there_are_places(tmp_path: Path) -> None:
    with opened(McpHttpDoor, tmp_path) as door:
        forms = {"elicitation": {"form": {}}}
        asked = [door.modern("tools/call", WRITES, capabilities=forms)["result"] for _ in range(52)]
        assert [each["resultType"] for each in asked] == ["input_required"] * 50 + ["complete"] * 2
        assert asked[-1]["isError"] is True
        one = asked[0]
        given = {key: {"action": "decline"} for key in one["inputRequests"]}
        again = {**WRITES, "inputResponses": given, "requestState": one["requestState"]}
        assert door.modern("tools/call", again, capabilities=forms)["result"]["isError"] is True
        assert door.modern("tools/call", WRITES, capabilities=forms)["result"]["resultType"] == "input_required"
        assert not (door.workspace / "b.py").exists()


PIPES = {"mcp": McpDoor, "mcp-modern": ModernMcpDoor}


@pytest.mark.parametrize("kind", PIPES)
def test_THR_mcp_answers_that_nobody_asked_for_are_none(kind: str, tmp_path: Path) -> None:
    """An answer without a question counts for nothing, nor does an answer to another question, before or after this
    one."""
    yes = {"action": "accept", "content": {"answer": "Allow once"}}
    with opened(PIPES[kind], tmp_path) as door:
        for number in range(20):
            door.send({"id": number, "result": yes})
            door.send({"id": str(number), "result": yes})
        name = door.ask("tools/call", {**WRITES, "inputResponses": {"x": yes}})
        if kind == "mcp":
            door.until(lambda: [e for e in door.received if e.get("method") == "elicitation/create"])
            door.send({"id": "another", "result": yes})
        else:
            asked = door.said(name)["result"]
            other = {**WRITES, "inputResponses": {"x": yes}, "requestState": asked["requestState"]}
            assert door.said(door.ask("tools/call", other))["result"]["inputRequests"] == asked["inputRequests"]
        assert [path.name for path in door.workspace.iterdir()] == ["a.py"]


def test_THR_mcp_an_answer_is_not_heard_twice(tmp_path: Path) -> None:
    with opened("mcp", tmp_path) as door:
        name = door.ask("tools/call", WRITES)
        form = door.until(lambda: next((e for e in door.received if e.get("method") == "elicitation/create"), None))
        no = {"action": "accept", "content": {"answer": "Deny"}}
        yes = {"action": "accept", "content": {"answer": "Allow once"}}
        for given in (no, yes, yes):
            door.send({"id": form["id"], "result": given})
        assert door.said(name)["result"]["isError"] is True
        assert not (door.workspace / "b.py").exists()


class Named(McpDoor):
    """A client whose name is made to control a terminal and to fill a log."""

    arguments = ("mcp",)

    def ask(self, method: str, params: Any) -> str:
        if method == "initialize":
            params = {**params, "clientInfo": {"name": "\x1b[2J\u202eevil\n" + "x" * 100_000, "version": "\u0000"}}
        return super().ask(method, params)


def test_THR_mcp_a_name_of_a_client_says_nothing_that_is_not_seen(tmp_path: Path) -> None:
    with opened(Named, tmp_path) as door:
        why = door.said(door.call("read_file", {"path": "a.py", "intent": "ANALYZE"}))["result"]["_meta"]["remit/call"]
        assert door.said(door.call("audit_why", {"call": why["call"]}))["result"]["isError"] is False
    data = b"".join(path.read_bytes() for path in (tmp_path / "state").rglob("audit.sqlite3*"))
    assert b"\x1b[2J" not in data
    assert b"x" * 1000 not in data


def test_THR_mcp_a_thousand_calls_at_once_are_answered_and_the_pipe_holds(tmp_path: Path) -> None:
    with opened("mcp", tmp_path) as door:
        names = [door.call("read_file", {"path": "a.py"}) for _ in range(1_000)]
        refused = [door.said(name)["result"]["isError"] for name in names]
        assert all(refused)
        assert door.said(door.call("read_file", {"path": "a.py", "intent": "ANALYZE"}))["result"]["isError"] is False
