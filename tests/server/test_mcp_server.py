"""`remit mcp` as bytes, in both eras of the protocol, over a real process (TRN-20 to TRN-24, TRN-26)."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine
from doors import McpDoor, ModernMcpDoor, opened
from rule_programs import need_sandbox

pytestmark = pytest.mark.slow

ERAS = ["mcp", "mcp-modern"]
every_era = pytest.mark.parametrize("kind", ERAS)
SECRET = "AKIA" + "IOSFODNN7EXAMPLE"
ITEMS = """\
version: 1
active_intents:
  - { id: DOCS-1, owned_scope: ["docs/**"] }
"""
ALLOWS = """\
version: 1
capabilities:
  - { name: reads, match: { syscall: [fs.read, fs.list] }, action: allow }
  - { name: writes, match: { syscall: fs.write }, action: allow }
"""


PIPES = {"mcp": McpDoor, "mcp-modern": ModernMcpDoor}


@contextmanager
def served(kind: str, folder: Path, *options: str, policy: str | None = None, forms: bool = True) -> Iterator[Any]:
    """A client of a server that takes no whole requests, in a workspace with `a.py`."""
    if policy is not None:
        (folder / "config").mkdir()
        (folder / "config" / "policy.yaml").write_text(policy)
    own = {"arguments": ("mcp",), **({} if forms else {"forms": {}})}
    with opened(type("Pipe", (PIPES[kind],), own), folder, options=options) as door:
        yield door


def text_of(result: Any) -> str:
    return "\n".join(part["text"] for part in result["content"])


def called(door: Any, tool: str, **arguments: Any) -> Any:
    """Makes a call and returns its result."""
    return door.said(door.call(tool, arguments))["result"]


def noted(result: Any) -> Any:
    """Returns what a result says about its call record."""
    return result["_meta"]["remit/call"]


def asked_of(door: Any, name: str) -> tuple[Any, Any]:
    """Returns the form that a call makes its client show, and a function that answers it with the client's result."""
    if isinstance(door, ModernMcpDoor):
        result = door.said(name)["result"]
        ((key, form),) = result["inputRequests"].items()

        def again(given: Any) -> str:
            more = {"inputResponses": {key: given}, "requestState": result["requestState"]}
            return door.ask("tools/call", {**door.asked[name], **more})

        return form["params"], again
    form = door.until(lambda: next((e for e in door.received if e.get("method") == "elicitation/create"), None))

    def respond(given: Any) -> str:
        door.send({"id": form["id"], "result": given})
        return name

    return form["params"], respond


# what is offered


@every_era
def test_TRN_20_a_client_finds_the_tools_and_nothing_but_messages(kind: str, tmp_path: Path) -> None:
    with served(kind, tmp_path) as door:
        tools = door.said(door.ask("tools/list", {}))["result"]["tools"]
        names = [tool["name"] for tool in tools]
        assert names[0] == "select_active_intent"
        assert {"read_file", "write_file", "run_command", "policy_explain", "audit_why", "audit_log"} <= set(names)
        assert not {"run_turn", "set_mode", "undo_changes", "review_work"} & set(names)
        write = next(tool for tool in tools if tool["name"] == "write_file")
        assert write["inputSchema"]["properties"]["intent"]["enum"] == ["CODE", "WRITE_FILE"]
        assert write["inputSchema"]["required"] == ["path", "content"]
        assert (write["annotations"]["readOnlyHint"], write["annotations"]["destructiveHint"]) == (False, True)
        assert all(each["jsonrpc"] == "2.0" for each in door.received)


@every_era
def test_TRN_26_whole_requests_are_taken_only_where_the_person_said_so(kind: str, tmp_path: Path) -> None:
    """THR-mcp-whole-requests."""
    with opened(kind, tmp_path, {"text": "done"}) as door:
        assert (
            door.said(door.call("run_turn", {"prompt": "go"}))["result"]["structuredContent"]["status"] == "completed"
        )
        for wrong in (
            {},
            {"prompt": ""},
            {"prompt": "go", "conversation": "../x"},
            {"prompt": "go", "session_id": "s"},
        ):
            assert called(door, "run_turn", **wrong)["isError"] is True
    with served(kind, tmp_path) as door:
        assert door.said(door.call("run_turn", {"prompt": "go"}))["error"]["code"] == -32602


# intents


@every_era
def test_TRN_21_without_an_intent_every_tool_is_refused_and_says_how_to_declare_one(kind: str, tmp_path: Path) -> None:
    """THR-mcp-no-intent."""
    with served(kind, tmp_path, policy=ALLOWS) as door:
        tools = door.said(door.ask("tools/list", {}))["result"]["tools"]
        governed = {tool["name"]: tool for tool in tools if "intent" in tool["inputSchema"].get("properties", {})}
        governed = {name: tool for name, tool in governed.items() if not name.startswith(("select", "policy"))}
        assert len(governed) > 15
        for name, tool in governed.items():
            result = called(door, name, path="b.py", content="x", command="touch b.py")
            assert (result["isError"], noted(result)["decision"]) == (True, "refused_by_gate"), name
            assert all(each in text_of(result) for each in tool["inputSchema"]["properties"]["intent"]["enum"])
        assert [path.name for path in door.workspace.iterdir()] == ["a.py"]
        calls = called(door, "audit_log", limit=100)["structuredContent"]["calls"]
        assert {call["tool_name"] for call in calls} == set(governed)


@every_era
def test_TRN_21_a_declared_intent_holds_for_the_session_until_another_is(kind: str, tmp_path: Path) -> None:
    with served(kind, tmp_path, policy=ALLOWS) as door:
        assert called(door, "select_active_intent", intent="ANALYZE")["isError"] is False
        assert "total = 1" in text_of(called(door, "read_file", path="a.py"))
        assert noted(called(door, "write_file", path="b.py", content="x"))["decision"] == "refused_by_gate"
        assert called(door, "write_file", path="b.py", content="x", intent="CODE")["isError"] is False
        assert noted(called(door, "write_file", path="c.py", content="x"))["decision"] == "refused_by_gate"
        assert called(door, "select_active_intent", intent="CODE")["isError"] is False
        assert called(door, "write_file", path="c.py", content="x")["isError"] is False
        for wrong in ({"intent": "GUESS"}, {}, {"intent": 1}, {"intent": "CODE", "work_item": "none"}):
            assert called(door, "select_active_intent", **wrong)["isError"] is True
        assert called(door, "write_file", path="d.py", content="x")["isError"] is False
        for wrong in ("GUESS", 1, None, [], "PLAN"):
            assert called(door, "write_file", path="e.py", content="x", intent=wrong)["isError"] is (wrong is not None)
        assert called(door, "read_file", path="a.py", intent="CODE")["isError"] is True


@every_era
def test_TRN_21_the_work_item_of_the_session_narrows_its_calls(kind: str, tmp_path: Path) -> None:
    (tmp_path / "shop" / ".orchestration").mkdir(parents=True)
    (tmp_path / "shop" / ".orchestration" / "active_intents.yaml").write_text(ITEMS)
    with served(kind, tmp_path, policy=ALLOWS) as door:
        assert called(door, "select_active_intent", intent="CODE", work_item="DOCS-1")["isError"] is False
        assert called(door, "write_file", path="docs/b.md", content="x")["isError"] is False
        assert noted(called(door, "write_file", path="b.py", content="x"))["decision"] == "denied"
        assert not (door.workspace / "b.py").exists()


# questions


ANSWERS: dict[str, tuple[Any, bool]] = {
    "allow": ({"action": "accept", "content": {"answer": "Allow once"}}, True),
    "deny": ({"action": "accept", "content": {"answer": "Deny", "comment": "not there"}}, False),
    "decline": ({"action": "decline"}, False),
    "cancel": ({"action": "cancel"}, False),
    "nothing": ({"action": "accept"}, False),
    "no content": ({"action": "accept", "content": {}}, False),
    "another word": ({"action": "accept", "content": {"answer": "allow once"}}, False),
    "not offered": ({"action": "accept", "content": {"answer": "Allow all edits this session"}}, False),
    "a list": ({"action": "accept", "content": {"answer": ["Allow once"]}}, False),
    "declined with a yes": ({"action": "decline", "content": {"answer": "Allow once"}}, False),
    "a true": ({"action": "accept", "content": {"answer": True}}, False),
}


@every_era
def test_TRN_22_only_a_yes_that_was_offered_is_one(kind: str, tmp_path: Path) -> None:
    """THR-mcp-nonsense-for-an-answer."""
    with served(kind, tmp_path) as door:
        for number, (given, allowed) in enumerate(ANSWERS.values()):
            path = f"b{number}.py"
            name = door.call("write_file", {"path": path, "content": "x = 1\n", "intent": "CODE"})
            form, answer = asked_of(door, name)
            assert path in form["message"]
            assert "+x = 1" in form["message"]
            assert "sha256:" in form["message"]
            result = door.said(answer(given))["result"]
            door.received.clear()
            assert (result["isError"], (door.workspace / path).exists()) == (not allowed, allowed), given
            assert ("approval_unavailable" in text_of(result)) is (given["action"] == "cancel")
        assert "not there" in json.dumps(called(door, "audit_log", limit=100)["structuredContent"])


@every_era
def test_TRN_22_an_answer_for_the_session_holds_for_that(kind: str, tmp_path: Path) -> None:
    with served(kind, tmp_path) as door:
        form, answer = asked_of(door, door.call("write_file", {"path": "b.py", "content": "1\n", "intent": "CODE"}))
        assert "Allow for this session" in form["requestedSchema"]["properties"]["answer"]["enum"]
        given = {"action": "accept", "content": {"answer": "Allow for this session"}}
        assert door.said(answer(given))["result"]["isError"] is False
        assert called(door, "write_file", path="b.py", content="2\n", intent="CODE")["isError"] is False
        assert (door.workspace / "b.py").read_text() == "2\n"


@pytest.mark.parametrize("options", [(), ("--approve", "never")], ids=["no forms", "never"])
@every_era
def test_TRN_22_where_nobody_can_be_asked_it_is_denied_and_says_how_to_allow_it(
    kind: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    with served(kind, tmp_path, *options, forms=bool(options)) as door:
        result = called(door, "write_file", path="b.py", content="x", intent="CODE")
        assert result["isError"] is True
        assert "approval_unavailable" in text_of(result)
        assert "remit policy update" in text_of(result)
        assert not (door.workspace / "b.py").exists()
        assert "total" in text_of(called(door, "read_file", path="a.py", intent="ANALYZE"))


@every_era
def test_TRN_22_what_cannot_all_be_shown_is_not_asked(kind: str, tmp_path: Path) -> None:
    with served(kind, tmp_path) as door:
        result = called(door, "write_file", path="b.py", content="x = 1\n" * 5_000, intent="CODE")
        assert "approval_unavailable" in text_of(result)
        assert not (door.workspace / "b.py").exists()


def test_TRN_22_a_client_that_cannot_put_the_form_has_not_said_no(tmp_path: Path) -> None:
    with served("mcp", tmp_path) as door:
        for number, given in enumerate(
            ({"error": {"code": -32601, "message": "none"}}, {"result": {}}, {"result": {"action": "maybe"}})
        ):
            name = door.call("write_file", {"path": "b.py", "content": "x", "intent": "CODE"})
            form = door.until(
                lambda seen=number: next(
                    iter([e for e in door.received if e.get("method") == "elicitation/create"][seen:]), None
                )
            )
            door.send({"id": form["id"], **given})
            assert "approval_unavailable" in text_of(door.said(name)["result"])
        assert not (door.workspace / "b.py").exists()


def test_TRN_22_a_state_counts_for_the_call_that_it_was_given_for_and_once(tmp_path: Path) -> None:
    """THR-mcp-a-state-forged-or-moved."""
    yes = {"action": "accept", "content": {"answer": "Allow once"}}
    with served("mcp-modern", tmp_path) as door:
        call = {"name": "write_file", "arguments": {"path": "b.py", "content": "x = 1\n", "intent": "CODE"}}
        first = door.said(door.ask("tools/call", call))["result"]
        (key,) = first["inputRequests"]
        state = first["requestState"]
        other = {**call, "arguments": {**call["arguments"], "path": "c.py"}}
        wrong = [
            {**call, "requestState": "x"},
            {**call, "requestState": state[:-4] + "AAAA"},
            {**call, "requestState": f"v1.{'A' * 100_000}"},
            {**other, "requestState": state},
            {**call, "name": "delete_file", "requestState": state},
        ]
        for each in wrong:
            error = door.said(door.ask("tools/call", {**each, "inputResponses": {key: yes}}))["error"]
            assert error["code"] == -32602
        again = door.said(door.ask("tools/call", {**call, "requestState": state}))["result"]
        assert list(again["inputRequests"]) == [key]
        assert [path.name for path in door.workspace.iterdir()] == ["a.py"]
        given = {**call, "requestState": state, "inputResponses": {key: yes}}
        done = door.said(door.ask("tools/call", given))["result"]
        assert (done["isError"], (door.workspace / "b.py").read_text()) == (False, "x = 1\n")
        (door.workspace / "b.py").unlink()
        assert noted(door.said(door.ask("tools/call", given))["result"]) == noted(done)
        assert not (door.workspace / "b.py").exists()


def test_TRN_22_a_cancelled_call_changes_nothing_and_the_next_one_runs(tmp_path: Path) -> None:
    with served("mcp", tmp_path) as door:
        name = door.call("write_file", {"path": "b.py", "content": "x", "intent": "CODE"})
        asked_of(door, name)
        door.send({"method": "notifications/cancelled", "params": {"requestId": name}})
        assert "total" in text_of(called(door, "read_file", path="a.py", intent="ANALYZE"))
        assert not (door.workspace / "b.py").exists()
        (_, call) = called(door, "audit_log")["structuredContent"]["calls"]
        assert (call["tool_name"], call["failed"]) == ("write_file", True)


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT, None], ids=["SIGTERM", "SIGINT", "end of input"])
@every_era
def test_TRN_20_a_server_that_is_left_ends_and_what_waited_is_not_done(
    kind: str, end: signal.Signals | None, tmp_path: Path
) -> None:
    with served(kind, tmp_path) as door:
        asked_of(door, door.call("write_file", {"path": "b.py", "content": "x", "intent": "CODE"}))
        door.process.stdin.close() if end is None else door.process.send_signal(end)
        assert door.process.wait(20) == 0
        assert not (door.workspace / "b.py").exists()


# policy and audit


@every_era
def test_TRN_23_policy_and_past_calls_are_explained(kind: str, tmp_path: Path) -> None:
    with served(kind, tmp_path) as door:
        told = called(door, "policy_explain", syscall="fs.write", path=".git/config")["structuredContent"]
        assert told["verdict"] == "deny"
        refused = called(door, "read_file", path=".env", intent="ANALYZE")
        why = called(door, "audit_why", call=noted(refused)["call"])["structuredContent"]
        assert (why["decision"], why["caller"], why["tool"]) == ("denied", "agent", "read_file")
        assert why["now"]["verdict"] == "deny"
        assert why["reasons"][0]["rule"] in noted(refused)["rules"]
        for wrong in ({}, {"call": 1}, {"call": "nosuch"}, {"call": "x", "more": 1}):
            assert called(door, "audit_why", **wrong)["isError"] is True
        for wrong in ({"syscall": "fs.read", "intent": "GUESS"}, {"syscall": ""}, {"path": "a"}, {"syscall": ["a"]}):
            assert called(door, "policy_explain", **wrong)["isError"] is True


@every_era
def test_TRN_23_an_agent_is_told_of_what_agents_did_and_only_of_itself_what(kind: str, tmp_path: Path) -> None:
    """THR-mcp-what-the-person-did."""
    with served(kind, tmp_path) as door:
        mine = noted(called(door, "read_file", path="a.py", intent="ANALYZE"))["call"]
    with served(kind, tmp_path) as door:
        remit = CommandLine.alone(door.workspace, tmp_path)
        assert remit("run-tool", "read_file", '{"path": "a.py"}', "--intent", "READ_FILE").code == 0
        calls = [each for each in remit("audit", "log", "--json").lines if each["kind"] == "tool_intent"]
        (own,) = (call["tool_call_id"] for call in calls if call["caller"] == "human")
        assert called(door, "audit_why", call=own)["isError"] is True
        told = called(door, "audit_why", call=mine)["structuredContent"]
        assert (told["decision"], "outcome" in told, "input" in told) == ("allowed", False, False)
        assert called(door, "audit_log")["structuredContent"]["calls"] == []


@every_era
def test_TRN_21_a_policy_that_changes_counts_for_the_next_call(kind: str, tmp_path: Path) -> None:
    with served(kind, tmp_path, policy=ALLOWS) as door:
        assert called(door, "write_file", path="b.py", content="1", intent="CODE")["isError"] is False
        (tmp_path / "config" / "policy.yaml").write_text(
            ALLOWS.replace("fs.write }, action: allow", "fs.write }, action: deny")
        )
        assert noted(called(door, "write_file", path="c.py", content="1", intent="CODE"))["decision"] == "denied"


@every_era
def test_TRN_21_results_are_redacted(kind: str, tmp_path: Path) -> None:
    with served(kind, tmp_path, policy=ALLOWS) as door:
        (door.workspace / "keys.py").write_text(f"key = '{SECRET}'\n")
        called(door, "read_file", path="keys.py", intent="ANALYZE")
        called(door, "search_files", pattern="key", intent="ANALYZE")
        called(door, "write_file", path=f"{SECRET}.py", content=SECRET, intent="CODE")
        called(door, "audit_log")
        assert SECRET not in json.dumps(door.received)


# malformed messages and arguments


MARK = "tell-nobody"
LINES = [
    (b"{", -32700),
    (b"\xff\xfe", -32700),
    (b'{"a": "\\ud800"}', -32700),
    (b"[" * 100_000, -32700),
    (b'{"a":' * 900 + b"1" + b"}" * 900, -32700),
    (b"[]", -32600),
    (b"null", -32600),
    (b'"tell-nobody"', -32600),
    (b'{"jsonrpc": "1.0", "id": 1, "method": "tell-nobody"}', -32600),
    (b'{"jsonrpc": "2.0", "id": {}, "method": "tell-nobody"}', -32600),
    (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', -32600),
    (b"[" + b"0," * 600_000 + b"0]", -32600),
    (b'"' + b"x" * (5 << 20) + b'"', -32600),
    (b'"' + b"x" * (17 << 20) + b'"', -32600),
]


@every_era
def test_TRN_20_a_line_that_is_no_message_is_answered_and_the_next_one_counts(kind: str, tmp_path: Path) -> None:
    with served(kind, tmp_path) as door:
        for line, code in LINES:
            seen = len(door.received)
            door.process.stdin.write(line + b"\n")
            door.process.stdin.flush()
            (answer,) = door.until(lambda seen=seen: door.received[seen:])
            assert (answer["id"], answer["error"]["code"]) == (None, code), line[:40]
            assert MARK not in json.dumps(answer)
        assert "tools" in door.said(door.ask("tools/list", {}))["result"]


@every_era
def test_TRN_24_no_error_of_the_protocol_repeats_what_was_sent(kind: str, tmp_path: Path) -> None:
    """THR-mcp-hostile-names."""
    long = MARK + "x" * 1_000_000
    asked: list[tuple[str, Any]] = [
        (MARK, {}),
        (long, {}),
        ("tools/call", {}),
        ("tools/call", {"name": MARK}),
        ("tools/call", {"name": long}),
        ("tools/call", {"name": f"read_file\u202e{MARK}"}),
        ("tools/call", {"name": {"a": MARK}}),
        ("tools/call", {"name": "read_file", "arguments": [MARK]}),
        ("tools/call", {"name": "read_file", "arguments": MARK}),
        ("tools/call", {"name": "../read_file", "arguments": {"path": MARK}}),
        ("resources/read", {"uri": MARK}),
        ("prompts/get", {"name": MARK}),
        ("completion/complete", {"ref": MARK}),
        ("tools/list", {"cursor": {"a": MARK}}),
    ]
    with served(kind, tmp_path) as door:
        for method, params in asked:
            answer = door.said(door.ask(method, params))
            assert answer["error"]["code"] in {-32601, -32602}, (method, params)
            assert MARK not in json.dumps(answer)
        for tool in ("policy_explain", "audit_log", "audit_why"):
            assert MARK not in json.dumps(called(door, tool, **{MARK: MARK}, call={MARK: MARK}))


@every_era
def test_TRN_24_arguments_are_held_to_the_form_of_their_tool(kind: str, tmp_path: Path) -> None:
    """THR-mcp-deep-and-long-arguments."""
    deep: Any = "x"
    for _ in range(150):
        deep = [deep]
    wrong: list[dict[str, Any]] = [
        {},
        {"path": 1, "content": "x"},
        {"path": "b.py", "content": ["x"]},
        {"path": "b.py", "content": "x", "mode": 0o777},
        {"path": "b.py", "content": deep},
        {"path": "b.py", "content": "x", "deep": deep},
        {"path": "b.py\u0000", "content": "x"},
        {"path": "../b.py", "content": "x"},
        {"path": "/etc/b.py", "content": "x"},
        {"path": "b" * 1_000_000, "content": "x"},
        {"path": "b.py", "content": "x", "k" * 1_000_000: 1},
        {"path": "b.py", "content": "x", **{f"k{number}": number for number in range(10_000)}},
    ]
    with served(kind, tmp_path, policy=ALLOWS) as door:
        for given in wrong:
            result = called(door, "write_file", **given, intent="CODE")
            assert result["isError"] is True, str(given)[:80]
            assert len(text_of(result)) < 20_000
        assert [path.name for path in door.workspace.iterdir()] == ["a.py"]


class Unshaken(McpDoor):
    """A client that begins without the handshake of its era."""

    arguments = ("mcp",)

    def connect(self) -> None:
        pass


def test_TRN_20_before_the_handshake_nothing_is_served(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "policy.yaml").write_text(ALLOWS)
    with opened(Unshaken, tmp_path) as door:
        name = door.call("write_file", {"path": "b.py", "content": "x", "intent": "CODE"})
        assert door.said(name)["error"]["code"] == -32602
        assert not (door.workspace / "b.py").exists()


COUNTS = """\
#!/bin/sh
if [ "$1" = "--schema" ]; then
  echo '{"name": "count_words", "description": "Count", "parameters": {"path": {"type": "string", "required": true}}}'
  exit
fi
echo '{"success": true, "result": "'$(wc -w < a.py)' words"}'
"""


@every_era
def test_TRN_21_a_tool_of_the_persons_own_is_offered_asked_about_and_run(kind: str, tmp_path: Path) -> None:
    need_sandbox()
    program = tmp_path / "config" / "tools" / "count_words"
    with served(kind, tmp_path) as door:
        assert "count_words" not in str(door.said(door.ask("tools/list", {})))
        program.parent.mkdir(parents=True)
        program.write_text(COUNTS)
        program.chmod(0o755)
        tools = {tool["name"]: tool for tool in door.said(door.ask("tools/list", {}))["result"]["tools"]}
        assert tools["count_words"]["inputSchema"]["properties"]["intent"]["enum"] == ["EXECUTE"]
        assert "find_tools" not in tools
        assert noted(called(door, "count_words", path="a.py"))["decision"] == "refused_by_gate"
        _, answer = asked_of(door, door.call("count_words", {"path": "a.py", "intent": "EXECUTE"}))
        result = door.said(answer({"action": "accept", "content": {"answer": "Allow once"}}))["result"]
        assert (result["isError"], "3 words" in text_of(result)) == (False, True)
