"""What holds only for `remit acp`, over raw lines and a real process (TRN-10 to TRN-18). What holds for every transport
is in test_doors.py."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doors import AcpDoor, opened, request
from messages import SAYS

from remit_server import __version__

pytestmark = pytest.mark.slow

SECRET = "hunter2-in-a-parameter"


def step(intent: str, tool: str, **arguments: Any) -> Any:
    return {
        "calls": [
            {"name": "select_active_intent", "arguments": {"intent": intent}},
            {"name": tool, "arguments": arguments},
        ]
    }


def write(path: str = "b.py", content: str = "x = 1\n") -> Any:
    return step("CODE", "write_file", path=path, content=content)


DONE = {"text": "done"}


def kinds(updates: list[Any]) -> list[str]:
    return [each["sessionUpdate"] for each in updates]


def texts(updates: list[Any], kind: str = "agent_message_chunk") -> str:
    return "".join(each["content"]["text"] for each in updates if each["sessionUpdate"] == kind)


def prompt(door: AcpDoor, *blocks: Any, session: str = "s") -> Any:
    """Sends a prompt of these blocks, and returns the answer."""
    sent = [{"type": "text", "text": each} if isinstance(each, str) else each for each in blocks]
    return door.told("session/prompt", {"sessionId": door.sessions[session], "prompt": sent})


def asked(door: AcpDoor, number: int = 0) -> Any:
    """Waits for a permission request of the agent's, and returns it."""

    def found() -> Any:
        sent = [each for each in door.received if each.get("method") == "session/request_permission"]
        return sent[number] if len(sent) > number else None

    return door.until(found)


def pick(door: AcpDoor, question: Any, option: str) -> None:
    door.send({"id": question["id"], "result": {"outcome": {"outcome": "selected", "optionId": option}}})


def quiet(door: AcpDoor) -> None:
    """Waits until everything that was sent before has been handled."""
    door.told("session/list", {"cwd": str(door.workspace)})


# TRN-10: the process.


def test_TRN_10_what_the_agent_can_do_is_said_before_anything_else_is_asked(tmp_path: Path) -> None:
    class Silent(AcpDoor):
        def connect(self) -> None:
            self.sessions = {}

    with opened(Silent, tmp_path) as door:
        early = door.told("session/new", {"cwd": str(door.workspace), "mcpServers": []})
        assert early["error"]["code"] == -32600
        can = door.told("initialize", {"protocolVersion": 7, "clientCapabilities": {}})["result"]
        assert can["protocolVersion"] == 1
        assert set(can["agentCapabilities"]["sessionCapabilities"]) == {"list", "delete", "fork", "resume", "close"}
        assert can["agentCapabilities"]["loadSession"] is True
        assert can["agentCapabilities"]["mcpCapabilities"] == {"http": False, "sse": False}


def test_TRN_10_the_entry_for_a_registry_is_of_this_version_and_starts_the_agent() -> None:
    entry = json.loads((Path(__file__).parents[2] / "docs" / "acp" / "agent.json").read_text())
    assert entry["version"] == __version__
    assert entry["distribution"] == {"uvx": {"package": f"remit=={__version__}", "args": ["acp"]}}


def test_TRN_10_input_that_ends_leaves_what_runs_and_nobody_to_ask(tmp_path: Path) -> None:
    with opened("acp", tmp_path, write("b.py"), DONE) as door:
        name = door.run(request("t"))
        asked(door)
        door.process.stdin.close()
        result = door.result(name)
        assert [trace["decision"] for trace in result["tool_trace"]] != ["allowed"]
        assert door.process.wait(20) == 0
        assert not (door.workspace / "b.py").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_TRN_10_a_process_that_is_told_to_end_ends_its_turns(number: signal.Signals, tmp_path: Path) -> None:
    with opened("acp", tmp_path, write("b.py"), DONE) as door:
        name = door.run(request("t"))
        asked(door)
        door.process.send_signal(number)
        assert door.result(name)["status"] == "cancelled"
        assert door.process.wait(20) == 0


# TRN-11: malformed messages, which the SDK mishandles.


LINES: list[tuple[bytes, int]] = [
    (b"{", -32700),
    (b"\xff\xfe", -32700),
    (b"[" * 100_000, -32700),
    (b"[]", -32600),
    (b"null", -32600),
    (b"{}", -32600),
    (b'{"jsonrpc": "2.0", "id": [1], "result": {}}', -32600),
    (b'{"jsonrpc": "2.0", "id": null, "method": "session/list"}', -32600),
    (b'{"jsonrpc": "2.0", "id": true, "method": "session/list"}', -32600),
    (b'{"jsonrpc": "2.0", "id": 9, "method": ["session/list"]}', -32600),
    (b'{"jsonrpc": "2.0", "id": 0, "error": {"code": "x"}}', -32600),
    (b'{"jsonrpc": "2.0", "id": 0, "error": "x"}', -32600),
    (b"[" + b"0," * 600_000 + b"0]", -32600),
    (b'{"jsonrpc": "2.0", "id": 9, "method": "x", "params": "' + b"x" * (17 << 20) + b'"}', -32600),
]


def test_TRN_11_a_line_that_is_no_message_is_answered_and_the_next_one_counts(tmp_path: Path) -> None:
    """THR-acp-lines: no such line ends the connection."""
    with opened("acp", tmp_path) as door:
        for number, (line, code) in enumerate(LINES, 1):
            door.process.stdin.write(line + b"\n")
            door.process.stdin.flush()
            refused = door.until(lambda n=number: (found := unnamed(door))[n - 1 :] and found)
            assert (len(refused), refused[-1]["error"]["code"]) == (number, code), line[:40]
            assert "result" in door.told("session/list", {"cwd": str(door.workspace)})


def unnamed(door: AcpDoor) -> list[Any]:
    """Returns the answers to lines that are no requests."""
    return [each for each in door.received if each.get("id", 0) is None]


WRONG: list[tuple[str, Any, int]] = [
    ("session/new", {"cwd": {"a": SECRET}, "mcpServers": []}, -32602),
    ("session/new", {"cwd": f"/{SECRET}", "mcpServers": []}, -32602),
    ("session/new", {"cwd": f"{SECRET}", "mcpServers": []}, -32602),
    ("session/new", {"cwd": f"/\0{SECRET}", "mcpServers": []}, -32602),
    ("session/load", {"sessionId": SECRET, "mcpServers": []}, -32002),
    ("session/prompt", {"sessionId": SECRET, "prompt": []}, -32002),
    ("session/prompt", {"sessionId": "x", "prompt": [{"type": SECRET}]}, -32602),
    ("session/prompt", {"sessionId": "x", "prompt": [{"type": "text", "text": "\ud800"}]}, -32602),
    ("session/prompt", SECRET, -32602),
    ("session/prompt", None, -32602),
    ("session/set_mode", {"sessionId": SECRET, "modeId": SECRET}, -32002),
    ("session/list", {"cursor": SECRET}, -32602),
    (SECRET, {}, -32601),
    (f"_{SECRET}", {}, -32601),
    ("authenticate", {"methodId": SECRET}, -32602),
]


def test_TRN_11_an_error_says_what_is_wrong_and_repeats_nothing(tmp_path: Path) -> None:
    """THR-acp-errors-repeat-nothing: a client may log errors, so they contain no values of the request."""
    with opened(AcpDoor, tmp_path) as door:
        for method, params, code in WRONG:
            given = {"cwd": str(door.workspace), **params} if isinstance(params, dict) else params
            answer = door.told(method, given)
            assert answer["error"]["code"] == code, (method, params)
            assert SECRET not in json.dumps(answer), (method, params)


def test_TRN_11_a_part_that_cannot_be_used_is_left_out(tmp_path: Path) -> None:
    with opened("acp", tmp_path, DONE) as door:
        for able in (3, {"fs": 3}, {"fs": {"readTextFile": {}}}, {"_meta": 3}, {"_meta": {"remit": []}}):
            answer = door.told("initialize", {"protocolVersion": 1, "clientCapabilities": able})
            assert answer["result"]["protocolVersion"] == 1, able
        assert prompt(door, "hi")["result"]["stopReason"] == "end_turn"


def test_TRN_11_metadata_overwrites_no_parameter(tmp_path: Path) -> None:
    """THR-acp-metadata: the SDK's own router would allow it."""
    with opened("acp", tmp_path, DONE) as door:
        meta = {"session_id": "another", "cwd": "/", "self": 1, "prompt": [], "remit": "nonsense"}
        given = {"sessionId": door.sessions["s"], "prompt": [{"type": "text", "text": "hi"}], "_meta": meta}
        assert door.told("session/prompt", given)["result"]["stopReason"] == "end_turn"
        assert texts(door.updates("s")) == "done"


def test_TRN_11_one_request_can_be_cancelled(tmp_path: Path) -> None:
    with opened("acp", tmp_path, write(), {"text": "one two three", "pace_s": 5.0}) as door:
        name = door.run(request("t"))
        question = asked(door)
        door.send({"method": "$/cancel_request", "params": {"requestId": "nobody's"}})
        door.send({"method": "$/cancel_request", "params": {"requestId": [SECRET]}})
        door.send({"method": "$/cancel_request", "params": SECRET})
        door.send({"method": "$/cancel_request", "params": {"requestId": name}})
        assert door.until(lambda: door.answer(name))["error"]["code"] == -32800
        withdrawn = next(each for each in door.received if each.get("method") == "$/cancel_request")
        assert withdrawn["params"]["requestId"] == question["id"]
        pick(door, question, "allow")
        quiet(door)
        assert not (door.workspace / "b.py").exists()


def test_TRN_11_an_id_in_use_is_no_second_request(tmp_path: Path) -> None:
    """THR-acp-id-in-use: one answer belongs to one request."""
    with opened("acp", tmp_path, write(), DONE) as door:
        name = door.run(request("t"))
        question = asked(door)
        door.send({"id": name, "method": "session/list", "params": {}})
        refused = door.until(lambda: next((m for m in door.received if m.get("id", 0) is None), None))
        assert refused["error"]["code"] == -32600
        pick(door, question, "allow")
        assert door.result(name)["status"] == "completed"


def test_TRN_11_unknown_notifications_and_answers_to_nothing_are_passed_over(tmp_path: Path) -> None:
    with opened("acp", tmp_path, DONE) as door:
        door.send({"method": "document/didOpen", "params": {"sessionId": 1}})
        door.send({"method": "session/cancel", "params": {"sessionId": "nobody's"}})
        door.send({"method": "session/cancel", "params": 3})
        door.send({"id": 77, "result": {}})
        door.send({"id": "77", "error": {"code": 1, "message": "x"}})
        assert door.result(door.run(request("t")))["status"] == "completed"


# TRN-12: sessions.


def test_TRN_12_a_session_is_loaded_with_all_that_was_shown(tmp_path: Path) -> None:
    read, gone = step("ANALYZE", "read_file", path="a.py"), step("ANALYZE", "read_file", path="missing.py")
    with opened("acp", tmp_path, read, gone, write(), DONE) as door:
        name = door.run(request("t", "do it"))
        pick(door, asked(door), "allow")
        door.result(name)
        shown = door.updates("s")
    with opened("acp", tmp_path) as door:
        (kept,) = door.told("session/list", {"cwd": str(door.workspace)})["result"]["sessions"]
        assert (kept["cwd"], kept["title"]) == (str(door.workspace), "do it")
        door.sessions["old"] = kept["sessionId"]
        given = {"sessionId": kept["sessionId"], "cwd": str(door.workspace), "mcpServers": []}
        answer = door.told("session/load", given)
        at = door.received.index(answer)
        replayed = door.updates("old")
        assert len([m for m in door.received[:at] if m.get("params", {}).get("sessionId") == kept["sessionId"]]) == len(
            [
                each
                for each in replayed
                if each["sessionUpdate"] not in {"available_commands_update", "config_option_update"}
            ]
        )
        assert {"modes", "configOptions"} <= set(answer["result"])
        assert texts(replayed, "user_message_chunk") == "do it"
        assert texts(replayed) == texts(shown) == "done"
        assert [m["messageId"] for m in replayed if m["sessionUpdate"] == "agent_message_chunk"] == [
            m["messageId"] for m in shown if m["sessionUpdate"] == "agent_message_chunk"
        ]
        for updates in (shown, replayed):
            begun = {m["toolCallId"]: m["title"].split()[0] for m in updates if m["sessionUpdate"] == "tool_call"}
            ended = {m["toolCallId"]: m for m in updates if m.get("status") in {"completed", "failed"}}
            assert [(begun[call], ended[call]["status"]) for call in begun] == [
                ("read_file", "completed"),
                ("read_file", "failed"),
                ("write_file", "completed"),
            ]
            (diff,) = [part for each in ended.values() for part in each["content"] if part["type"] == "diff"]
            assert (diff["path"], diff["newText"]) == (str(door.workspace / "b.py"), "x = 1\n")


def test_TRN_12_a_session_is_resumed_copied_closed_and_deleted(tmp_path: Path) -> None:
    with opened("acp", tmp_path, {"text": "one"}, {"text": "two"}) as door:
        cwd = str(door.workspace)
        assert prompt(door, "first")["result"]["stopReason"] == "end_turn"
        own = door.sessions["s"]
        copy = door.told("session/fork", {"sessionId": own, "cwd": cwd, "mcpServers": []})["result"]["sessionId"]
        door.sessions["copy"] = copy
        prompt(door, "second", session="copy")
        listed = door.told("session/list", {})["result"]["sessions"]
        assert [each["sessionId"] for each in listed] == [copy, own]
        assert door.told("session/close", {"sessionId": own})["result"] == {}
        assert prompt(door, "third")["error"]["code"] == -32002
        before = len(door.updates("s"))
        door.told("session/resume", {"sessionId": own, "cwd": cwd, "mcpServers": []})
        assert prompt(door, "third")["result"]["stopReason"] == "end_turn"
        assert texts(door.updates("s")[before:]) == "two"
        for _ in range(2):  # deleting a missing session succeeds too
            assert door.told("session/delete", {"sessionId": own})["result"] == {}
        listed = door.told("session/list", {"cwd": cwd})["result"]["sessions"]
        assert [each["sessionId"] for each in listed] == [copy]
        again = door.told("session/load", {"sessionId": own, "cwd": cwd, "mcpServers": []})
        assert again["error"]["code"] == -32002


def test_TRN_12_sessions_come_in_pages_and_a_name_or_a_number_is_no_id(tmp_path: Path) -> None:
    with opened("acp", tmp_path, *({"text": "x"} for _ in range(51))) as door:
        cwd = str(door.workspace)
        for number in range(51):
            name = f"n{number}"
            door.begin(name)
            prompt(door, f"say {number}", session=name)
        first = door.told("session/list", {"cwd": cwd})["result"]
        rest = door.told("session/list", {"cwd": cwd, "cursor": first["nextCursor"]})["result"]
        assert (len(first["sessions"]), len(rest["sessions"]), rest.get("nextCursor")) == (50, 1, None)
        for other in ("1", "last"):
            loaded = door.told("session/load", {"sessionId": other, "cwd": cwd, "mcpServers": []})
            assert loaded["error"]["code"] == -32002


def test_TRN_12_a_session_that_works_is_ended_before_it_is_closed_or_deleted(tmp_path: Path) -> None:
    with opened("acp", tmp_path, write(), write(), DONE) as door:
        for number, method in enumerate(("session/close", "session/delete")):
            name = door.run(request(f"t{number}", session=method))
            asked(door, number)
            assert door.told(method, {"sessionId": door.sessions[method]})["result"] == {}
            assert door.result(name)["status"] == "cancelled"
        listed = door.told("session/list", {"cwd": str(door.workspace)})["result"]["sessions"]
        assert [each["sessionId"] for each in listed] == [door.sessions["session/close"]]
        assert not (door.workspace / "b.py").exists()


def test_TRN_12_sessions_of_a_folder_that_is_not_open_are_listed_and_deleted(tmp_path: Path) -> None:
    with opened("acp", tmp_path, DONE) as door:
        prompt(door, "hi")

    class Elsewhere(AcpDoor):
        SESSIONS = ()

    with opened(Elsewhere, tmp_path) as door:
        other = tmp_path / "other"
        other.mkdir()
        assert door.told("session/list", {"cwd": str(other)})["result"]["sessions"] == []
        assert sorted(each.name.rpartition("-")[0] for each in (tmp_path / "state").iterdir()) == ["shop"]
        (kept,) = door.told("session/list", {})["result"]["sessions"]
        door.told("session/delete", {"sessionId": kept["sessionId"]})
        assert door.told("session/list", {"cwd": str(door.workspace)})["result"]["sessions"] == []


def test_TRN_12_each_session_works_in_its_own_folder(tmp_path: Path) -> None:
    with opened("acp", tmp_path, write(), DONE, write(), DONE) as door:
        other = tmp_path / "other"
        other.mkdir()
        begun = door.told("session/new", {"cwd": str(other), "mcpServers": []})["result"]
        door.sessions["other"] = begun["sessionId"]
        name = door.run(request("t", session="other"))
        pick(door, asked(door), "allow")
        assert door.result(name)["status"] == "completed"
        assert ((other / "b.py").exists(), (door.workspace / "b.py").exists()) == (True, False)
        more = {"cwd": str(other), "additionalDirectories": ["/"], "mcpServers": []}
        assert door.told("session/new", more)["error"]["code"] == -32602


# TRN-13: updates.


def test_TRN_13_strict_mode_shows_its_way_as_a_plan(tmp_path: Path) -> None:
    with opened("acp", tmp_path, {"text": "planned"}) as door:
        door.told("session/set_mode", {"sessionId": door.sessions["s"], "modeId": "strict"})
        prompt(door, "add a discount")
        plans = [each for each in door.updates("s") if each["sessionUpdate"] == "plan"]
        assert [entry["status"] for entry in plans[-1]["entries"]] == ["in_progress", *["pending"] * 5]
        modes = [each for each in door.updates("s") if each["sessionUpdate"] == "current_mode_update"]
        assert modes[-1]["currentModeId"] == "strict"


def test_TRN_13_hidden_characters_are_spelled_out(tmp_path: Path) -> None:
    """THR-acp-hidden: in text, in diffs, and in raw input."""
    with opened("acp", tmp_path, write(content="x = '\u202e'\n"), {"text": "a\u202eb"}) as door:
        name = door.run(request("t"))
        question = asked(door)
        pick(door, question, "allow")
        door.result(name)
        shown = [each for each in door.received if "method" in each]
        assert "\u202e" not in json.dumps(shown, ensure_ascii=False)
        (diff,) = [part for part in question["params"]["toolCall"]["content"] if part["type"] == "diff"]
        assert "U+202E" in diff["newText"]
        assert texts(door.updates("s")) == "a⟨U+202E⟩b"


def test_TRN_13_usage_and_a_title_are_told_with_the_answer(tmp_path: Path) -> None:
    with opened("acp", tmp_path, DONE) as door:
        answer = prompt(door, "hi")["result"]
        (told,) = [u for u in door.updates("s") if u["sessionUpdate"] == "session_info_update" and "title" in u]
        assert told["title"] == "hi"
        assert set(answer["usage"]) == {"inputTokens", "outputTokens", "totalTokens", "cachedReadTokens"}


def test_MOD_29_the_answer_names_the_sentence_that_a_yes_stands_for(tmp_path: Path) -> None:
    with opened("acp", tmp_path, DONE) as door:
        (door.workspace / "a.py").write_text("# FIXME: round\ntotal = 1\n")
        prompt(door, "/model built-in")
        told = prompt(door, "get rid of that FIXME in a.py")["result"]["_meta"]["remit"]
        assert (told["status"], told["suggestion"]) == ("declined", 'remove the line "# FIXME: round" from a.py')
        assert "suggestion" not in prompt(door, "show a.py")["result"]["_meta"]["remit"]


# TRN-14: questions.


def test_TRN_14_a_question_shows_what_its_answer_is_bound_to(tmp_path: Path) -> None:
    run = step("EXECUTE", "run_command", command="touch made && rm -rf build")
    with opened("acp", tmp_path, write(), run, DONE) as door:
        name = door.run(request("t"))
        first = asked(door)["params"]
        assert first["toolCall"]["rawInput"]["digest"] in json.dumps(first["toolCall"]["content"])
        assert first["toolCall"]["rawInput"]["digest"].startswith("sha256:")
        (diff,) = [part for part in first["toolCall"]["content"] if part["type"] == "diff"]
        assert (diff.get("oldText"), diff["newText"]) == (None, "x = 1\n")
        assert [each["kind"] for each in first["options"]] == ["allow_once", "allow_always", "reject_once"]
        pick(door, asked(door), "allow")
        second = asked(door, 1)
        bound = second["params"]["toolCall"]["rawInput"]
        assert bound["command"] == "touch made && rm -rf build"
        assert bound["command"] in json.dumps(second["params"]["toolCall"]["content"])
        pick(door, second, "deny")
        result = door.result(name)
        assert [trace["approval_id"] for trace in result["tool_trace"]] == [
            first["toolCall"]["rawInput"]["approval_id"],
            bound["approval_id"],
        ]


def test_TRN_14_always_is_once_and_the_rule_is_shown(tmp_path: Path) -> None:
    """THR-acp-always-is-once: a client cannot widen what is allowed."""
    with opened("acp", tmp_path, write(content="x = 1\n"), write(content="x = 2\n"), DONE) as door:
        name = door.run(request("t"))
        pick(door, asked(door), "allow_and_show_rule")
        again = asked(door, 1)
        assert (door.workspace / "b.py").read_text() == "x = 1\n"
        assert not list(tmp_path.rglob("permissions.yaml"))
        assert "permissions.yaml" in texts(door.updates("s"))
        pick(door, again, "deny")
        door.result(name)
        assert (door.workspace / "b.py").read_text() == "x = 1\n"


ANSWERS: dict[str, Any] = {
    "cancelled": {"result": {"outcome": {"outcome": "cancelled"}}},
    "no option": {"result": {"outcome": {"outcome": "selected", "optionId": "allow_all"}}},
    "another outcome": {"result": {"outcome": {"outcome": "allowed"}}},
    "no outcome": {"result": {}},
    "a kind for an option": {"result": {"outcome": {"outcome": "selected", "optionId": "allow_once"}}},
    "a list": {"result": ["allow"]},
    "nothing": {"result": None},
    "true": {"result": True},
    "an error": {"error": {"code": -32603, "message": "allow"}},
    "both": {"error": {"code": -32603, "message": "no"}, "outcome": {"outcome": "selected", "optionId": "allow"}},
}


def test_TRN_14_whatever_is_no_clear_yes_is_a_no(tmp_path: Path) -> None:
    """THR-acp-no-clear-yes: nothing is written."""
    steps = [each for name in ANSWERS for each in (write(f"{name}.py"), DONE)]
    with opened("acp", tmp_path, *steps) as door:
        for number, (said, answer) in enumerate(ANSWERS.items()):
            name = door.run(request(f"t{number}"))
            door.send({"id": asked(door, number)["id"], **answer})
            assert [trace["tool"] for trace in door.result(name)["tool_trace"]] == ["write_file"], said
        assert [each.name for each in door.workspace.glob("*.py")] == ["a.py"]


def test_TRN_14_only_the_first_answer_counts_and_none_for_another_question(tmp_path: Path) -> None:
    """THR-acp-other-questions: answers that come early, twice, or for another question."""
    with opened("acp", tmp_path, write("b.py"), write("c.py"), DONE) as door:
        name = door.run(request("t"))
        first = asked(door)
        pick(door, first | {"id": first["id"] + 1}, "allow")
        pick(door, first | {"id": str(first["id"])}, "allow")
        quiet(door)
        assert not (door.workspace / "b.py").exists()
        pick(door, first, "deny")
        pick(door, first, "allow")
        second = asked(door, 1)
        assert not (door.workspace / "b.py").exists()
        pick(door, first, "allow")
        pick(door, second, "deny")
        door.result(name)
        assert sorted(each.name for each in door.workspace.glob("*.py")) == ["a.py"]


# TRN-15: prompts.


def sent_to_model(folder: Path) -> str:
    """Returns all text that was sent to the model as the person's, as the session files keep it."""
    files = folder.rglob("session-*.jsonl")
    records = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    said = [each for each in records if each["type"] == "user" and each["origin"] == "person"]
    return "\n".join(each["sent"] or each["content"] for each in said)


def test_TRN_15_files_and_texts_of_the_client_go_with_a_prompt(tmp_path: Path) -> None:
    with opened("acp", tmp_path, DONE) as door:
        uri = (door.workspace / "a.py").as_uri()
        held = {"uri": f"{uri}#L3:4", "text": "unsaved = 3\nlines = 4"}
        other = {"uri": "https://example.org/x", "text": "from elsewhere"}
        answer = prompt(
            door,
            "look at ",
            {"type": "resource_link", "uri": uri, "name": "a.py"},
            {"type": "resource", "resource": held},
            {"type": "resource", "resource": other},
            {"type": "resource_link", "uri": "file:///etc/passwd", "name": "passwd"},
            {"type": "resource_link", "uri": f"{uri}/../../secret", "name": "up"},
        )
        assert answer["result"]["stopReason"] == "end_turn"
        sent = sent_to_model(tmp_path)
        for wanted in ("total = 1", "unsaved = 3", "from elsewhere"):
            assert wanted in sent
        assert "root:" not in sent


REFUSED: dict[str, list[Any]] = {
    "image": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}],
    "audio": [{"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}],
    "blob": [{"type": "resource", "resource": {"uri": "file:///x", "blob": "aGk="}}],
    "long": [{"type": "text", "text": "x" * 200_001}],
    "blank": [{"type": "text", "text": " "}],
    "none": [],
}


def test_TRN_15_what_was_not_offered_is_refused(tmp_path: Path) -> None:
    with opened("acp", tmp_path, DONE) as door:
        for name, blocks in REFUSED.items():
            assert prompt(door, *blocks)["error"]["code"] == -32602, name
        assert prompt(door, "hi")["result"]["stopReason"] == "end_turn"


def test_TRN_15_commands_of_the_chat_are_told_and_followed(tmp_path: Path) -> None:
    with opened("acp", tmp_path, DONE) as door:
        told = door.until(
            lambda: next((u for u in door.updates("s") if u["sessionUpdate"] == "available_commands_update"), None)
        )
        names = {each["name"] for each in told["availableCommands"]}
        assert {"status", "undo", "strict"} <= names
        assert not names & {"new", "load", "fork", "quit", "edits"}
        assert prompt(door, "/status")["result"]["stopReason"] == "end_turn"
        assert str(door.workspace) in texts(door.updates("s"))
        for line in ("/new", "/load last", "/edits allow", "/exit", "/nonsense"):
            before = len(door.updates("s"))
            assert prompt(door, line)["result"]["stopReason"] == "end_turn"
            assert texts(door.updates("s")[before:])
        status = door.told("session/resume", resumed(door))
        edits = [each for each in status["result"]["configOptions"] if each["id"] == "edits"]
        assert edits[0]["currentValue"] == "each"


def resumed(door: AcpDoor) -> Any:
    return {"sessionId": door.sessions["s"], "cwd": str(door.workspace), "mcpServers": []}


def test_TRN_15_a_command_behind_a_prompt_is_asked_about_like_any_other(tmp_path: Path) -> None:
    """THR-acp-typed-command: a program may have typed it."""
    with opened("acp", tmp_path) as door:
        name = door.run(request("t", "!touch made && rm -rf build"))
        assert asked(door)["params"]["toolCall"]["rawInput"]["command"] == "touch made && rm -rf build"
        pick(door, asked(door), "deny")
        assert door.result(name)["status"] == "denied"


# TRN-16: options.


def option(answer: Any, name: str) -> Any:
    return next(each for each in answer["result"]["configOptions"] if each["id"] == name)


def choose(door: AcpDoor, name: str, value: str) -> Any:
    return door.told("session/set_config_option", {"sessionId": door.sessions["s"], "configId": name, "value": value})


def test_TRN_16_mode_model_and_edits_are_options(tmp_path: Path) -> None:
    with opened("acp", tmp_path, DONE) as door:
        door.until(lambda: "config_option_update" in kinds(door.updates("s")))
        answer = choose(door, "mode", "strict")
        assert option(answer, "mode")["currentValue"] == "strict"
        assert option(answer, "mode")["category"] == "mode"
        answer = choose(door, "edits", "turn")
        assert option(answer, "edits")["currentValue"] == "turn"
        answer = choose(door, "model", "built-in")
        assert option(answer, "model")["currentValue"] == "built-in"
        prompt(door, "/explore")
        last = [each for each in door.updates("s") if each["sessionUpdate"] == "config_option_update"][-1]
        assert option({"result": last}, "mode")["currentValue"] == "explore"


NOT_OFFERED = [
    ("edits", "allow"),
    ("edits", "x"),
    ("mode", "yolo"),
    ("model", "openai:x"),
    ("model", ""),
    ("trust", "yes"),
]


def test_TRN_16_what_is_not_offered_cannot_be_chosen(tmp_path: Path) -> None:
    """THR-acp-not-offered: a client cannot turn questions off."""
    with opened("acp", tmp_path) as door:
        for name, value in NOT_OFFERED:
            assert choose(door, name, value)["error"]["code"] == -32602, (name, value)


# TRN-17: the client's files.


class EditorDoor(AcpDoor):
    """A client with buffers, which lets the agent read and write its files, or only read them."""

    reads, writes_too = True, True

    def connect(self) -> None:
        self.buffers: dict[str, str] = {}
        self.writes: list[Any] = []
        super().connect()

    def messages(self) -> Iterator[Any]:
        for message in super().messages():
            params = message.get("params", {})
            if message.get("method") == "fs/read_text_file":
                self.send({"id": message["id"], **self.read(params)})
            elif message.get("method") == "fs/write_text_file":
                self.writes.append(params)
                self.write(params)
                self.send({"id": message["id"], "result": None})
            yield message

    def read(self, params: Any) -> Any:
        path = Path(params["path"])
        if str(path) in self.buffers:
            return {"result": {"content": self.buffers[str(path)]}}
        return (
            {"result": {"content": path.read_text()}} if path.exists() else {"error": {"code": -32002, "message": ""}}
        )

    def write(self, params: Any) -> None:
        self.buffers[params["path"]] = params["content"]


class ReadingDoor(EditorDoor):
    writes_too = False


class DeafDoor(EditorDoor):
    """A client that reports a write without writing."""

    def write(self, params: Any) -> None:
        del params


READ = step("ANALYZE", "read_file", path="a.py")
EDIT = step("CODE", "edit_file", path="a.py", old_text="unsaved", new_text="edited")


def test_TRN_17_unsaved_text_counts_and_is_edited_in_the_client(tmp_path: Path) -> None:
    with opened(EditorDoor, tmp_path, READ, EDIT, DONE) as door:
        path = str(door.workspace / "a.py")
        door.buffers[path] = "unsaved = 2\n"
        name = door.run(request("t"))
        (diff,) = [part for part in asked(door)["params"]["toolCall"]["content"] if part["type"] == "diff"]
        assert (diff["oldText"], diff["newText"]) == ("unsaved = 2\n", "edited = 2\n")
        pick(door, asked(door), "allow")
        assert door.result(name)["status"] == "completed"
        assert [(each["path"], each["content"]) for each in door.writes] == [(path, "edited = 2\n")]
        assert (door.workspace / "a.py").read_text() == "total = 1\n"


def test_TRN_17_a_file_without_unsaved_text_is_edited_on_disk(tmp_path: Path) -> None:
    edit = step("CODE", "edit_file", path="a.py", old_text="total", new_text="edited")
    with opened(EditorDoor, tmp_path, edit, DONE) as door:
        name = door.run(request("t"))
        pick(door, asked(door), "allow")
        door.result(name)
        assert (door.writes, (door.workspace / "a.py").read_text()) == ([], "edited = 1\n")


def test_TRN_17_line_ends_of_the_editor_are_no_unsaved_text(tmp_path: Path) -> None:
    edit = step("CODE", "edit_file", path="a.py", old_text="total", new_text="edited")
    with opened(EditorDoor, tmp_path, edit, DONE) as door:
        (door.workspace / "a.py").write_bytes(b"total = 1\r\nx = 2\r\n")
        door.buffers[str(door.workspace / "a.py")] = "total = 1\nx = 2\n"
        name = door.run(request("t"))
        pick(door, asked(door), "allow")
        door.result(name)
        assert door.writes == []
        assert (door.workspace / "a.py").read_bytes() == b"edited = 1\r\nx = 2\r\n"


def test_TRN_17_what_was_typed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    """THR-acp-changed-buffer: the buffer changes between the question and the edit."""
    with opened(EditorDoor, tmp_path, EDIT, DONE) as door:
        path = str(door.workspace / "a.py")
        door.buffers[path] = "unsaved = 2\n"
        name = door.run(request("t"))
        question = asked(door)
        door.buffers[path] = "other = 3\n"
        pick(door, question, "allow")
        door.result(name)
        assert door.writes == []
        assert door.buffers[path] == "other = 3\n"


@pytest.mark.parametrize(("kind", "code"), [(ReadingDoor, "read_only"), (DeafDoor, "outcome_unknown")])
def test_TRN_17_a_client_that_does_not_write_leaves_the_file(kind: type[EditorDoor], code: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path, EDIT, DONE) as door:
        door.buffers[str(door.workspace / "a.py")] = "unsaved = 2\n"
        name = door.run(request("t"))
        pick(door, asked(door), "allow")
        door.result(name)
        (ended,) = [each for each in door.updates("s") if each.get("status") == "failed"]
        assert ended["rawOutput"]["code"] == code
        assert (door.workspace / "a.py").read_text() == "total = 1\n"


def test_TRN_17_a_denied_file_is_not_asked_for(tmp_path: Path) -> None:
    """THR-acp-denied-file: policy is asked before the client."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / ".env").write_text("KEY=1\n")
    with opened(EditorDoor, tmp_path, step("ANALYZE", "read_file", path=".env"), DONE) as door:
        door.result(door.run(request("t")))
        assert not [each for each in door.received if each.get("method") == "fs/read_text_file"]


# TRN-18: what a client names is not started.


def test_TRN_18_a_server_that_the_client_names_is_not_started_and_that_is_said(tmp_path: Path) -> None:
    """THR-acp-mcp-server: its command is the client's."""
    with opened("acp", tmp_path, DONE, DONE) as door:
        mark = tmp_path / "started"
        server = {"name": "x", "command": "/usr/bin/touch", "args": [str(mark)], "env": []}
        asks = {"cwd": str(door.workspace), "mcpServers": [server]}
        door.sessions["m"] = door.told("session/new", asks)["result"]["sessionId"]
        assert prompt(door, "hi", session="m")["result"]["stopReason"] == "end_turn"
        assert SAYS.remit_starts_no_mcp in texts(door.updates("m"))
        before = len(door.updates("m"))
        prompt(door, "hi", session="m")
        assert SAYS.remit_starts_no_mcp not in texts(door.updates("m")[before:])
        time.sleep(0.2)
        assert not mark.exists()
