"""Standing answers in permissions.yaml, several questions in one turn, and a client that disconnects, against a running
server (APP-05)."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import call, intent
from command_line import CommandLine
from lsp_pipe import Json
from messages import SAYS
from running_server import RunningServer
from threat_bench import own

from remit_governance.audit.reading.query import query_audit
from remit_governance.audit.record import AuditKind

pytestmark = pytest.mark.slow

HEAD = "version: 1\ncapabilities:\n"
READS = '  - { name: reads, match: { syscall: [fs.read, fs.list], path_glob: ["**"] }, action: allow }\n'
ASKS = (
    HEAD
    + READS
    + '  - { name: writes, match: { syscall: fs.write, path_glob: ["**"] }, action: require_review }\n'
    + "  - { name: runs, match: { syscall: process.exec }, action: require_review }\n"
)
NO_B = ASKS + '  - { name: no-b, match: { syscall: fs.write, path_glob: ["b.py"] }, action: deny }\n'
NO_RM = ASKS + "  - { name: no-rm, match: { syscall: process.exec, command: [rm] }, action: deny }\n"
NUMBERS = itertools.count()
ALLOWS_ALL = "allow: [{tool: write_file}, {tool: run_command}, {command: rm}, {path: b.py}]\ndefault_action: allow\n"
OVERRIDES = "overrides: [{tool: [write_file, run_command], answer: allow}]\n"


def _permissions(folder: Path, text: str) -> Path:
    """Writes the person's permissions.yaml, before a server starts."""
    file = folder / "config" / "permissions.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return file


WRITE: Json = {"tool": "write_file", "path": "b.py", "content": "x"}
REMOVE: Json = {"tool": "run_command", "command": "rm -rf b.py"}
AGAINST = {
    "the policy's, for a file": (NO_B, ALLOWS_ALL, WRITE),
    "the policy's, for a program": (NO_RM, ALLOWS_ALL, REMOVE),
    "the policy's, against an override": (NO_B, OVERRIDES, WRITE),
    "the person's": (ASKS, "deny: [{path: b.py}]\n" + ALLOWS_ALL, WRITE),
    "the person's, by the tool": (ASKS, "deny: [{tool: write_file}]\n" + ALLOWS_ALL, WRITE),
    "the person's, for a program": (ASKS, "deny: [{command: rm -rf}]\n" + ALLOWS_ALL, REMOVE),
    "the person's last word": (ASKS, "final_deny: [{path: b.py}]\n" + OVERRIDES + ALLOWS_ALL, WRITE),
    "the person's last word, for a program": (ASKS, "final_deny: [{command: rm}]\n" + OVERRIDES + ALLOWS_ALL, REMOVE),
}


@pytest.mark.parametrize("whose", AGAINST)
def test_THR_approvals_nothing_in_permissions_yaml_beats_a_deny(whose: str, tmp_path: Path) -> None:
    """THR-approvals-always-deny-file: whatever permissions.yaml allows, with any key, the call is denied without a
    question."""
    policy, permissions, what = AGAINST[whose]
    _permissions(tmp_path, permissions)
    with RunningServer(tmp_path, policy) as running:
        (running.workspace / "b.py").write_text("mine\n")
        called = running.call(**what)
        assert (called.code, called.questions) == ("denied", ())
        assert (running.workspace / "b.py").read_text() == "mine\n"
        other = running.call("write_file", path="c.py", content="x")
        assert other.code in {None, "denied"}  # denied only if the deny rule names the tool
        assert (other.code is None) is (SAYS.by_the_tool not in whose)


@pytest.mark.parametrize("by", ["policy", "permissions"])
def test_THR_approvals_an_always_given_to_a_running_server_yields_to_a_later_deny(by: str, tmp_path: Path) -> None:
    """THR-approvals-always-deny-later: the answer in permissions.yaml counts until either file gets a deny."""
    with RunningServer(tmp_path, ASKS) as running:
        for content in ("one", "two"):
            turn = running.client.run(content, own("write_file", path="b.py", content=content))
            if content == "one":
                question = running.client.event("approval_required", content)
                answer = {"approval_id": question["approval_id"], "decision": "allow", "scope": "always"}
                running.client.request("remit/approval/respond", answer)
            assert running.client.event("tool_result", content)["ok"]
            running.client.result(turn)
    kept = (tmp_path / "config" / "permissions.yaml").read_text()
    assert question["always_rule"] in kept
    if by == "permissions":
        _permissions(tmp_path, kept + "deny:\n  - {path: b.py}\n")
    with RunningServer(tmp_path, NO_B if by == "policy" else ASKS) as running:
        called = running.call("write_file", "allow", path="b.py", content="three")
        assert (called.code, called.questions) == ("denied", ())
        assert (running.workspace / "b.py").read_text() == "two"


def test_THR_approvals_the_agent_gives_itself_no_standing_answer(tmp_path: Path) -> None:
    """THR-approvals-always-self: the agent cannot write permissions.yaml, even if the file lies in the workspace."""
    inside = tmp_path / "shop" / "conf"
    inside.mkdir(parents=True)
    (inside / "policy.yaml").write_text(ASKS.replace("require_review", "allow"))
    with RunningServer(tmp_path, REMIT_CONFIG_DIR=str(inside)) as running:
        for path in ("conf/permissions.yaml", "conf/../conf//permissions.yaml", str(inside / "permissions.yaml")):
            called = running.call("write_file", "allow", path=path, content=ALLOWS_ALL)
            assert (called.code, called.questions) == ("denied", ())
        assert running.call("write_file", path="c.py", content="x").code is None
        assert sorted(file.name for file in inside.iterdir()) == ["policy.yaml"]


def _answered(server: RunningServer, scope: str, path: str) -> tuple[Json, list[Json]]:
    """Runs a write and allows each question with this scope; returns the result and the questions."""
    turn = server.client.run(
        f"{scope} {path} {next(NUMBERS)}", own("write_file", path=path, content=str(next(NUMBERS)))
    )
    questions: list[Json] = []
    for message in server.client.messages():
        event = message["params"]["value"] if message.get("method") == "$/progress" else {}
        if event.get("kind") == "approval_required":
            questions.append(event)
            answer = {"approval_id": event["approval_id"], "decision": "allow", "scope": scope}
            server.client.request("remit/approval/respond", answer)
        if event.get("kind") == "tool_result":
            server.client.result(turn)
            return event, questions
    raise AssertionError("the server ended")


NEAR = ("src/c.py", "src/b.pyc", "b.py", "src/B.py", "src/b.py.txt", "src/b *.py")


@pytest.mark.parametrize("scope", ["session", "always"])
def test_THR_approvals_a_standing_answer_of_a_running_server_is_what_was_shown(scope: str, tmp_path: Path) -> None:
    """THR-approvals-session-exact-server, THR-approvals-always-exact-server: the answer covers no other file."""
    with RunningServer(tmp_path, ASKS) as running:
        _, (question,) = _answered(running, scope, "src/b.py")
        assert "src/b.py" in question[f"{scope}_rule"]
        assert _answered(running, "once", "src/b.py")[1] == []
        for path in NEAR:
            assert len(_answered(running, "once", path)[1]) == 1, path
        called = running.call("run_command", command="touch src/b.py")
        assert (called.code, len(called.questions)) == ("approval_denied", 1)


def test_THR_approvals_a_session_answer_of_a_running_server_yields_to_a_deny(tmp_path: Path) -> None:
    """THR-approvals-session-deny-server: the policy changes while the server runs."""
    with RunningServer(tmp_path, ASKS) as running:
        assert len(_answered(running, "session", "b.py")[1]) == 1
        assert _answered(running, "session", "b.py")[1] == []
        before = (running.workspace / "b.py").read_text()
        new = tmp_path / "config" / "new"
        new.write_text(NO_B)
        new.replace(tmp_path / "config" / "policy.yaml")
        for message in running.client.messages():
            if message.get("method") == "window/showMessage" and SAYS.is_now_in_force in message["params"]["message"]:
                break
        denied, questions = _answered(running, "session", "b.py")
        assert (denied["error"]["code"], denied["rules"], questions) == ("denied", ["no-b"], [])
        assert (running.workspace / "b.py").read_text() == before


def _model(folder: Path, *steps: dict[str, Any]) -> dict[str, str]:
    """Returns the environment of a server whose model gives these steps."""
    (folder / "script.json").write_text(json.dumps(steps))
    return {"REMIT_MODEL": f"script:{folder / 'script.json'}"}


@pytest.mark.parametrize("refused", range(3))
def test_THR_approvals_a_no_to_one_call_of_a_models_turn_is_no_answer_to_the_others(
    refused: int, tmp_path: Path
) -> None:
    """THR-approvals-one-rejection-of-a-turn: each call has a question of its own, and the allowed ones are done."""
    writes = [call("write_file", path=f"{number}.py", content="x") for number in range(3)]
    model = _model(tmp_path, {"calls": [intent("CODE"), *writes]}, {"text": "done"})
    with RunningServer(tmp_path, ASKS, **model) as running:
        turn = running.client.run("1", {"type": "text", "text": "go"})
        for _ in writes:
            # The calls of a turn run at the same time, so their questions come in any order.
            question = running.client.event("approval_required", "1")
            decision = "deny" if question["diffs"][0]["path"] == f"{refused}.py" else "allow"
            running.client.request(
                "remit/approval/respond", {"approval_id": question["approval_id"], "decision": decision}
            )
        running.client.result(turn)
        made = [number for number in range(3) if (running.workspace / f"{number}.py").exists()]
        assert made == [number for number in range(3) if number != refused]


def _records(folder: Path) -> list[Any]:
    (database,) = (folder / "state").rglob("audit.sqlite3")
    return [record.event for record in query_audit(database)]


def test_THR_approvals_a_client_lost_in_a_question_has_said_no_and_the_log_says_so(tmp_path: Path) -> None:
    """THR-approvals-lost-client-recorded: two questions were open; nothing was done, and the next server finds a good
    log."""
    with RunningServer(tmp_path, ASKS) as running:
        for number, part in enumerate(
            (own("write_file", path="lost.py", content="x"), own("run_command", command="touch lost.txt"))
        ):
            params = {"session_id": f"s{number}", "turn_id": str(number), "input": part, "partialResultToken": "stream"}
            running.client.request("remit/run", params)
            running.client.event("approval_required", str(number))
        running.client.hang_up()
    assert list(running.workspace.iterdir()) == []
    resolved = [event for event in _records(tmp_path) if event.kind is AuditKind.APPROVAL_RESOLVED]
    assert len(resolved) == 2
    assert all(event.metadata["decision"] == "deny" for event in resolved)
    with RunningServer(tmp_path, ASKS) as running:
        assert running.call("write_file", path="lost.py", content="x").code == "approval_denied"
        assert running.client.result(running.client.request("remit/status", {}))


def test_THR_approvals_a_terminal_that_is_closed_in_a_question_has_said_no(tmp_path: Path) -> None:
    """THR-approvals-lost-client-terminal: the terminal hangs up, as if its window were closed; nothing is written and
    no process stays."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "policy.yaml").write_text(ASKS)
    remit = CommandLine.alone(tmp_path / "shop", tmp_path)
    words = ("run-tool", "write_file", '{"path": "lost.py", "content": "x"}', "--intent", "CODE")
    with remit.in_terminal(*words) as terminal:
        terminal.wait_for("allow?")
        assert terminal.hang_up() != 0
    assert list(remit.workspace.iterdir()) == []
    resolved = [event for event in _records(tmp_path) if event.kind is AuditKind.APPROVAL_RESOLVED]
    assert all(event.metadata["decision"] == "deny" for event in resolved)
