"""TRN-40 to TRN-42: open questions, past decisions and running agents, over a real `remit http`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import REMIT
from doors import HttpDoor, opened, request

pytestmark = pytest.mark.slow

LINES = "count = 1\n" + "pass\n" * 30 + "print(count)\n"
RENAMES = {
    "calls": [
        {"name": "select_active_intent", "arguments": {"intent": "CODE"}},
        {
            "name": "edit_file",
            "arguments": {"path": "c.py", "old_text": "count", "new_text": "number", "replace_all": True},
        },
    ]
}


def looked(door: HttpDoor, path: str) -> Any:
    answer = door.call("GET", path)
    assert answer.status == 200, answer.read()
    return json.loads(answer.read())


def hook(door: HttpDoor, agent: str, event: str, command: str = "", **more: Any) -> None:
    """Runs `remit hook` for an event of another agent in the same folder."""
    tool = {"tool_name": "Bash", "tool_use_id": command, "tool_input": {"command": command}}
    told = json.dumps({"session_id": "s1", "cwd": str(door.workspace), "hook_event_name": event, **tool, **more})
    environment = {**os.environ, **door.environment, "REMIT_HOOK_RESIDENT": "off"}
    subprocess.run([REMIT, "hook", agent], cwd=door.workspace, env=environment, input=told, text=True, check=False)


def test_TRN_40_a_change_is_answered_hunk_by_hunk_by_whoever_looks(tmp_path: Path) -> None:
    with opened("http", tmp_path, RENAMES, {"text": "done"}) as door:
        (door.workspace / "c.py").write_text(LINES)
        assert looked(door, "/v1/approvals") == []
        name = door.run(request("t"))
        asked = door.question(name)
        (waiting,) = looked(door, "/v1/approvals")
        assert waiting["question"] == asked
        assert [(each["hunk"], each["line"]) for each in waiting["hunks"]] == [(0, 0), (1, 31)]
        assert "+print(number)" in waiting["hunks"][1]["text"]
        left_out = [{"path": "c.py", "hunk": 1, "comment": "it is printed elsewhere"}]
        assert door.approve(asked, left_out=left_out)["accepted"]
        assert door.result(name)["status"] == "completed"
        assert (door.workspace / "c.py").read_text() == LINES.replace("count = 1", "number = 1")
        assert looked(door, "/v1/approvals") == []


def test_TRN_41_TRN_42_the_calls_and_sessions_of_all_agents_are_told(tmp_path: Path) -> None:
    with opened("http", tmp_path, RENAMES, {"text": "done"}) as door:
        (door.workspace / "c.py").write_text(LINES)
        (door.workspace / ".env").write_text("A=1\n")
        assert looked(door, "/v1/agents") == looked(door, "/v1/audit") == []
        hook(door, "claude-code", "UserPromptSubmit", prompt="mend <b>it</b>")
        for command in ("ls", "make", "echo x > .env"):
            hook(door, "claude-code", "PreToolUse", command)
        hook(door, "claude-code", "PostToolUse", "make", tool_response={"stdout": ""})
        hook(door, "codex", "PreToolUse", "make")
        name = door.run(request("t", "rename it"))
        door.approve(door.question(name), "deny")
        door.result(name)

        told = {each["agent"]: each for each in looked(door, "/v1/agents")}
        assert list(told) == ["remit", "codex", "claude-code"]
        claude = told["claude-code"]
        assert (claude["title"], claude["calls"], claude["asked"], claude["denied"]) == ("mend <b>it</b>", 3, 1, 1)
        assert (told["remit"]["title"], told["remit"]["session_id"], told["remit"]["asked"]) == ("rename it", "s", 1)
        hook(door, "claude-code", "SessionEnd", reason="exit")
        assert looked(door, "/v1/agents")[0]["ended"]

        calls = looked(door, "/v1/audit")
        assert [each["tool_name"] for each in calls] == ["edit_file", *["Bash"] * 4]
        by_person, unasked, by_rule = looked(door, "/v1/audit?decision=denied")
        assert (by_person["tool_name"], by_person["denied_by"]) == ("edit_file", "person")
        assert (unasked["session_id"], unasked["denied_by"]) == ("codex:s1", "unavailable")
        assert (by_rule["policy_rule_name"], by_rule["session_id"]) == ("no-secrets", "claude-code:s1")
        of_codex = looked(door, "/v1/audit?session=codex:s1&limit=5")
        assert [each["metadata"]["told"] for each in of_codex] == ["deny"]
        why = looked(door, f"/v1/audit/{calls[3]['number']}")
        assert why["asked_by_agent"] == {"agent": "claude-code", "answer": "allow"}
        assert (why["rule"], why["now"]["verdict"]) == ("run-commands", "require_review")


def test_TRN_06_the_document_tells_of_every_route_and_every_form(tmp_path: Path) -> None:
    with opened("http", tmp_path) as door:
        told = looked(door, "/v1/openapi.json")
        for path, operations in told["paths"].items():
            for method in operations:
                real = path.replace("{session}", "s").replace("{turn}", "t").replace("{approval}", "a")
                answer = door.call(method.upper(), real.replace("{call}", "999999"), {} if method == "post" else None)
                assert b"there is no `" not in answer.read(), (method, path)
        known = {f"#/components/schemas/{name}" for name in told["components"]["schemas"]}
        assert set(references(told)) <= known


def references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [found for each in value.values() for found in references(each)]
    return [found for each in value for found in references(each)] if isinstance(value, list) else []
