"""HOK-04, HOK-05: the records of another agent's calls, and the intents that its sessions declare."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hooked import Hooked, word_of

pytestmark = pytest.mark.slow


@pytest.fixture
def hooked(tmp_path: Path) -> Hooked:
    return Hooked.made(tmp_path)


def calls(hooked: Hooked, kind: str) -> list[dict]:
    return [record for record in hooked.records() if record["kind"] == kind]


def test_HOK_04_a_call_leaves_a_record_before_it_runs_and_one_as_it_ended(hooked: Hooked) -> None:
    hooked("claude-code", hooked.bash("ls"))
    (before,) = calls(hooked, "tool_intent")
    assert (before["session_id"], before["caller"], before["tool_name"]) == ("claude-code:s1", "agent", "Bash")
    assert (before["policy_decision"], before["metadata"]["ruling"]) == ("allowed", "allow")
    assert calls(hooked, "tool_outcome") == []

    hooked("claude-code", hooked.bash("ls", "PostToolUse", tool_response={"stdout": "a", "exit_code": 0}))
    (after,) = calls(hooked, "tool_outcome")
    assert (after["tool_call_id"], after["exit_code"]) == (before["tool_call_id"], 0)

    why = hooked.remit("audit", "why", str(before["number"]), "--json").json
    assert (why["rule"], why["records"], why["now"]["verdict"]) == (
        "look-around",
        [before["number"], after["number"]],
        "allow",
    )
    assert hooked.remit("audit", "verify", "--json").code == 0


def test_HOK_08_that_the_agents_person_said_yes_is_told_from_what_was_recorded(hooked: Hooked) -> None:
    def why(agent: str, number: int) -> dict:
        announced = [r for r in calls(hooked, "tool_intent") if r["session_id"].startswith(agent)]
        return hooked.remit("audit", "why", str(announced[number]["number"]), "--json").json

    for call in ("yes", "no"):
        assert word_of("claude-code", hooked("claude-code", hooked.bash("make", call=call))) == "ask"
    hooked("claude-code", hooked.bash("make", "PostToolUse", "yes", tool_response={"stdout": ""}))
    assert why("claude-code", 0)["asked_by_agent"] == {"agent": "claude-code", "answer": "allow"}
    assert why("claude-code", 1)["asked_by_agent"] == {"agent": "claude-code", "answer": "not known"}
    # An allowed call was not asked about; a call that needs approval is denied for an agent that cannot ask.
    hooked("claude-code", hooked.bash("ls"))
    assert why("claude-code", 2)["asked_by_agent"] is None
    hooked("codex", hooked.bash("make"))
    denied = why("codex", 0)
    assert (denied["asked_by_agent"], denied["decision"], len(denied["records"])) == (None, "review_required", 2)


@pytest.mark.parametrize(
    ("agent", "event", "code"),
    [
        ("copilot", {"toolResult": {"textResultForLlm": "a\n<shellId: 0 completed with exit code 3>"}}, 3),
        (
            "copilot",
            {"toolResult": {"textResultForLlm": "<shellId: 0 completed with exit code 3>\nnothing more"}},
            None,
        ),
        ("gemini", {"tool_response": {"llmContent": "Output: x\nExit Code: 2\nProcess Group PGID: 1"}}, 2),
        ("gemini", {"tool_response": {"llmContent": "Output: x\nProcess Group PGID: 1"}}, None),
    ],
)
def test_HOK_04_an_exit_code_in_the_text_of_a_result_is_recorded(
    agent: str, event: dict, code: int | None, hooked: Hooked
) -> None:
    given = {"cwd": str(hooked.root), "toolName": "bash", "tool_name": "run_shell_command", "toolArgs": {}, **event}
    name = {"copilot": "postToolUse", "gemini": "AfterTool"}[agent]
    assert hooked(agent, given, "--event", name).code == 0
    (after,) = calls(hooked, "tool_outcome")
    assert after.get("exit_code") == code


def test_HOK_04_a_denied_call_has_both_records_at_once(hooked: Hooked) -> None:
    hooked("claude-code", hooked.bash("echo x > .env"))
    (before,), (after,) = calls(hooked, "tool_intent"), calls(hooked, "tool_outcome")
    assert before["deny_reason"] == after["deny_reason"]
    assert "no-secrets" in before["policy_rule_name"]


def test_HOK_04_changed_files_are_named_by_digest_and_a_failure_is_one(hooked: Hooked) -> None:
    event = {
        "session_id": "s1",
        "cwd": str(hooked.root),
        "hook_event_name": "PostToolUse",
        "tool_name": "Write",
        "tool_input": {"file_path": str(hooked.root / "src" / "a.py")},
        "tool_response": {"success": True},
        "tool_use_id": "w1",
    }
    hooked("claude-code", event)
    hooked("claude-code", event | {"hook_event_name": "PostToolUseFailure", "error": "no such file"})
    wrote, failed = calls(hooked, "tool_outcome")
    assert wrote["metadata"]["changed"].startswith("src/a.py sha256:")
    assert failed["deny_reason"] == "no such file"


def test_HOK_04_no_secret_is_recorded(hooked: Hooked) -> None:
    token = "ghp_" + "a1B2" * 9
    hooked("claude-code", hooked.bash(f"curl -H 'Authorization: Bearer {token}' https://x.org"))
    hooked("claude-code", hooked.bash("true", "UserPromptSubmit", prompt=f"use {token}"))
    assert token not in json.dumps(hooked.records())


def test_HOK_04_what_another_remit_settles_is_not_the_call_of_an_agent(hooked: Hooked) -> None:
    hooked("claude-code", hooked.bash("ls"))
    assert hooked.remit("run-tool", "read_file", '{"path": "src/a.py"}', "--intent", "READ_FILE").code == 0
    assert [r for r in calls(hooked, "tool_outcome") if r["session_id"] == "claude-code:s1"] == []


def test_HOK_04_prompts_and_sessions_are_recorded(hooked: Hooked) -> None:
    for event, more in (("SessionStart", {"source": "startup"}), ("SessionEnd", {"reason": "other"})):
        assert hooked("claude-code", hooked.bash("", event, **more)).code == 0
    hooked("claude-code", hooked.bash("", "UserPromptSubmit", prompt="mend the cart"))
    kinds = [(r["kind"], r["input_summary"]) for r in hooked.records() if r.get("session_id") == "claude-code:s1"]
    assert kinds == [("run_started", ""), ("run_completed", ""), ("run_started", "mend the cart")]


def test_HOK_05_without_an_intent_every_effect_is_refused_and_with_one_what_it_opens(hooked: Hooked) -> None:
    demanded = {"REMIT_HOOKS_INTENT": "required"}
    read = hooked.bash("") | {"tool_name": "Read", "tool_input": {"file_path": "src/a.py"}}
    run = hooked.bash("ls")
    assert [word_of("claude-code", hooked("claude-code", e, **demanded)) for e in (read, run)] == ["deny", "deny"]
    note = hooked.bash("") | {"tool_name": "TodoWrite", "tool_input": {}}
    assert word_of("claude-code", hooked("claude-code", note, **demanded)) == "allow"

    hooked("claude-code", hooked.bash("", "UserPromptSubmit", prompt="intent: analyze\nlook around"), **demanded)
    words = [word_of("claude-code", hooked("claude-code", e, **demanded)) for e in (read, run)]
    assert words == ["allow", "deny"]

    # The next request begins without an intent.
    hooked("claude-code", hooked.bash("", "UserPromptSubmit", prompt="and now?"), **demanded)
    assert word_of("claude-code", hooked("claude-code", read, **demanded)) == "deny"

    assert hooked.remit("intent", "execute").code == 0
    assert word_of("claude-code", hooked("claude-code", run, **demanded)) == "allow"
    (declared,) = [r for r in calls(hooked, "intent_selected") if r["metadata"]["by"] == "remit intent"]
    assert declared["intent"] == "EXECUTE"
    assert hooked.remit("intent", "none").code == 0
    assert word_of("claude-code", hooked("claude-code", run, **demanded)) == "deny"


def test_HOK_05_an_agent_declares_by_the_command_that_the_refusal_names_and_by_no_other(hooked: Hooked) -> None:
    demanded = {"REMIT_HOOKS_INTENT": "required"}
    refused = hooked("claude-code", hooked.bash("ls"), **demanded).out
    command = refused.split("`")[3].replace("INTENT", "EXECUTE")
    assert command.endswith("intent EXECUTE --session claude-code:s1")
    words = {
        named: word_of("claude-code", hooked("claude-code", hooked.bash(named), **demanded))
        for named in (command, f"{command}; ls", command.replace("s1", "s2"), f"x{command}", command + "\nls")
    }
    assert [word for _, word in words.items()] == ["allow", "deny", "deny", "deny", "deny"]
    assert hooked.remit("intent", "EXECUTE", "--session", "claude-code:s1").code == 0
    assert word_of("claude-code", hooked("claude-code", hooked.bash("ls"), **demanded)) == "allow"


def test_HOK_05_a_session_stays_in_the_folder_that_it_began_in(hooked: Hooked, tmp_path: Path) -> None:
    hooked("claude-code", hooked.bash("ls"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x").write_text("")
    event = hooked.bash("cat x") | {"cwd": str(elsewhere)}
    assert word_of("claude-code", hooked("claude-code", event)) == "deny"
