"""`remit demo`: the main job with the real parts, on the built-in model, through the language server (README, Try
it)."""

from __future__ import annotations

import shutil
import sqlite3
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine, Done
from messages import SAYS

from remit_server.cli.commands.turns.demo import next_steps

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.model, pytest.mark.timeout(600)]

DONE, FAILED, DENIED = 0, 1, 3
QUESTION = "[n/N] no: "


@dataclass(frozen=True)
class Demo:
    """A demo that has run, and the `remit` that ran it."""

    remit: CommandLine
    done: Done
    workspace: Path


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """Runs `remit demo --json`, as a script does."""
    remit = CommandLine.alone(tmp_path_factory.mktemp("elsewhere"), tmp_path_factory.mktemp("own"))
    done = remit("demo", "--json")
    return Demo(remit, done, Path(done.lines[0]["workspace"]))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """Runs `remit demo --keep shop` without a terminal."""
    remit = CommandLine.alone(tmp_path_factory.mktemp("elsewhere"), tmp_path_factory.mktemp("own"))
    return Demo(remit, remit("demo", "--keep", "shop"), remit.workspace / "shop")


def refusals(demo: Demo, code: str) -> list[dict[str, Any]]:
    return [r for r in demo.done.of("tool_result") if r["error"] and r["error"]["code"] == code]


def test_it_exits_0(demo: Demo) -> None:
    assert demo.done.code == DONE, demo.done.out + demo.done.err


def test_its_events_are_one_turn_counted_from_1_that_ends_once(demo: Demo) -> None:
    events = demo.done.lines
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert len({(event["session_id"], event["turn_id"]) for event in events}) == 1
    assert events[0]["kind"] == "run_started"
    (completed,) = demo.done.of("run_completed")
    assert completed == events[-1]
    assert completed["result"]["status"] == "completed"


def test_in_every_step_the_intent_comes_before_any_call(demo: Demo) -> None:
    steps: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for event in demo.done.lines:
        if event["kind"] in {"intent_selected", "tool_call", "tool_result"}:
            steps[event["step"]].append(event)
    assert len(steps) >= 4
    for events in steps.values():
        active = None
        for event in events:
            if event["kind"] == "intent_selected":
                active = event["intent"]
            elif event["kind"] == "tool_call":
                assert event["intent"] == active is not None
        assert events[0]["kind"] == "intent_selected"


def test_it_shows_five_skills_of_the_model(demo: Demo) -> None:
    """The model finds a name, renames one, sets a value, runs a command, and stops where it is refused."""
    said = "".join(event["text"] for event in demo.done.of("token_delta"))
    for answer in (
        "It is defined in src/cart.py, line 15.",
        "Renamed every occurrence.",
        "Changed the value.",
        "I stopped: nothing was changed.",
    ):
        assert answer in said
    ran = [r for r in demo.done.of("tool_result") if r["tool"] == "run_command"]
    assert len(ran) == 1
    assert ("The command ended with exit code 0." in said) == ran[0]["ok"]


def test_the_edits_are_asked_for_and_applied(demo: Demo) -> None:
    assert [r["changed_files"] for r in demo.done.of("tool_result") if r["changed_files"]] == [["src/cart.py"]] * 2
    rename, constant = (q for q in demo.done.of("approval_required") if q["diffs"])
    assert "+    subtotal = 0.0\n" in rename["diffs"][0]["diff"]
    assert "+DIGITS = 3\n" in constant["diffs"][0]["diff"]
    answers = {answer["approval_id"]: answer["decision"] for answer in demo.done.of("approval_resolved")}
    assert answers[rename["approval_id"]] == answers[constant["approval_id"]] == "allow"
    cart = (demo.workspace / "src/cart.py").read_text()
    assert cart.count("subtotal") == cart.count("total") == 5


def test_policy_refuses_one_write_by_name(demo: Demo) -> None:
    (denied,) = refusals(demo, "denied")
    assert denied["tool"] == "edit_file"
    assert denied["rules"] == ["generated-code-is-not-edited"]
    assert "generated-code-is-not-edited" in denied["summary"]
    assert "subtotal" not in (demo.workspace / "generated/prices.py").read_text()


def test_the_gate_refuses_one_call_outside_its_intent(demo: Demo) -> None:
    (gated,) = refusals(demo, "tool_not_allowed_for_intent")
    assert (gated["tool"], gated["decision"]) == ("read_file", "refused_by_gate")


def test_json_says_on_stderr_that_it_answered_itself(demo: Demo) -> None:
    assert SAYS.the_demo_answers_yes_itself in demo.done.err


def test_its_audit_verifies_from_anywhere(demo: Demo) -> None:
    assert demo.remit("audit", "verify").code == DONE
    assert demo.remit("audit", "verify", "--workspace", str(demo.workspace)).code == DONE
    log = demo.remit("audit", "log", "--workspace", str(demo.workspace), "-n", "500", "--json")
    kinds = {record["kind"] for record in log.lines}
    calls = {"intent_selected", "tool_intent", "tool_outcome", "approval_required", "approval_resolved"}
    authority = {"capability_issued", "capability_used", "capability_ended", "sandbox_created", "sandbox_destroyed"}
    whole = {"state_transition", "run_started", "run_completed", "checkpoint", "kernel_start", "kernel_shutdown"}
    assert kinds == {*calls, *authority, *whole}


@pytest.mark.parametrize("place", ["first", "middle", "last"])
@pytest.mark.parametrize("column", ["content", "hash"])
def test_one_byte_flipped_in_the_database_is_found_and_its_record_named(
    column: str, place: str, demo: Demo, tmp_path: Path
) -> None:
    (database,) = demo.remit.state.rglob("audit.sqlite3")
    number, text = record_at(database, place, column)
    # Damage the workspace's own database, and restore it for the next test.
    sound = shutil.copy(database, tmp_path)
    try:
        data = bytearray(database.read_bytes())
        at = data.index(text) + len(text) // 2
        data[at] ^= 1
        database.write_bytes(data)
        done = demo.remit("audit", "verify", "--workspace", str(demo.workspace), "--json")
        assert (done.code, done.json["ok"]) == (FAILED, False)
        assert f"record {number} " in done.json["message"]
        assert f"record {number} " in demo.remit("audit", "verify").out
    finally:
        shutil.copy(sound, database)
    assert demo.remit("audit", "verify").code == DONE


def record_at(database: Path, place: str, column: str) -> tuple[int, bytes]:
    """Returns a record's number, and the text of one of its columns as the file holds it."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    rows = connection.execute(f"SELECT number, {column} FROM records ORDER BY number").fetchall()
    connection.close()
    number, text = rows[{"first": 0, "middle": len(rows) // 2, "last": -1}[place]]
    return number, text.encode()


def test_without_a_terminal_it_says_that_it_answers_itself(kept: Demo) -> None:
    assert kept.done.code == DONE, kept.done.out
    assert "standard input or output is not a terminal: the demo answers yes itself" in kept.done.out
    assert kept.done.out.index("+    subtotal = 0.0") < kept.done.out.index(SAYS.the_demo_answers_yes_itself)
    assert SAYS.records_verified_in in kept.done.out


def test_keep_keeps_the_workspace(kept: Demo) -> None:
    assert "subtotal" in (kept.workspace / "src/cart.py").read_text()
    assert kept.remit("audit", "verify", "--workspace", "shop").code == DONE


def test_a_folder_that_exists_is_left_alone(kept: Demo) -> None:
    before = sorted(kept.workspace.rglob("*"))
    done = kept.remit("demo", "--keep", "shop")
    assert (done.code, done.out) == (FAILED, "")
    what, why, fix = done.err.splitlines()
    assert what == "remit: cannot make the sample workspace `shop`"
    assert why == "  why: file exists"
    assert fix == "  fix: name a new folder, in a place you can write to"
    assert sorted(kept.workspace.rglob("*")) == before
    assert kept.remit("demo", "--keep", "shop", "--json").json["error"]["code"] == "invalid_request"


def test_in_a_terminal_it_asks_and_a_no_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    remit = CommandLine.alone(tmp_path / "elsewhere", tmp_path)
    with remit.in_terminal("demo", "--keep", "shop") as terminal:
        terminal.wait_for(QUESTION)
        assert "+    subtotal = 0.0" in terminal.screen
        assert SAYS.answers_yes_itself not in terminal.screen
        terminal.type("n\n")
        # What is typed before a question is drawn does not answer it.
        terminal.wait_for(QUESTION, 2)
        assert "+DIGITS = 3" in terminal.screen
        terminal.type("n\n")
        terminal.wait_for(QUESTION, 3)
        assert "argv: [ls, src]" not in terminal.screen
        terminal.type("?\n")
        terminal.wait_for(QUESTION, 4)
        assert "argv: [ls, src]" in terminal.screen, "which rule an answer would write is behind a key"
        terminal.type("n\n")
        assert terminal.wait() == DENIED
        assert "you approved nothing, so src/cart.py is unchanged" in terminal.screen
    assert "subtotal" not in (remit.workspace / "shop/src/cart.py").read_text()
    assert remit("audit", "verify").code == DONE


@pytest.mark.parametrize("json", [False, True])
def test_without_a_sandbox_it_skips_the_command_and_says_so(tmp_path: Path, json: bool) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "empty").mkdir()
    remit = CommandLine.alone(tmp_path / "elsewhere", tmp_path)
    nothing = {"PATH": str(tmp_path / "empty"), "REMIT_SANDBOX": "bubblewrap"}
    done = remit("demo", *(["--json"] if json else []), **nothing)
    assert done.code == DONE, done.out + done.err
    said = done.err if json else done.out
    assert "skipped: run `ls src`; there is no sandbox: there is no program `bwrap`" in said
    assert "fix: install bubblewrap" in said
    assert "run_command" not in done.out
    assert ("asked five things" in done.out) is not json


@pytest.mark.parametrize("mode", ["strict", "explore", "debug"])
def test_FLW_06_the_scenario_tdd_goes_from_the_request_to_the_commit(
    tmp_path_factory: pytest.TempPathFactory, mode: str
) -> None:
    """Server, sandbox, test runner, git and audit log are real; the model follows a script."""
    remit = CommandLine.alone(tmp_path_factory.mktemp("elsewhere"), tmp_path_factory.mktemp("own"))
    done = remit("demo", "--scenario", "tdd", "--mode", mode, "--keep", "shop", "--json")
    assert done.code == DONE, done.out + done.err
    workspace = remit.workspace / "shop"
    assert SAYS.line_number_is_no_key in (workspace / "config.py").read_text()
    assert "test_a_line_that_is_none_is_named" in (workspace / "test_config.py").read_text()
    reflog = (workspace / ".git" / "logs" / "HEAD").read_text()
    assert reflog.rstrip().endswith("commit: Name the line that parse_config cannot read")
    states = [event["state"] for event in done.of("state_changed") if event["mode"] == mode]
    assert states[-2:] == ["committing", "idle"]
    refused = [rule for event in done.of("tool_result") if not event["ok"] for rule in event["rules"]]
    assert refused == (["workflow.nothing-is-written"] if mode == "strict" else [])


def test_the_next_steps_can_be_typed_as_they_stand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A newcomer has no `remit` in the PATH: `make run` starts it by its path."""
    program = tmp_path / "a clone" / "remit"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr("sys.argv", [str(program), "demo"])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert f"\n  '{program}' model\n" in next_steps(tmp_path / "shop")
    monkeypatch.setenv("PATH", str(program.parent))
    assert "\n  remit model\n" in next_steps(tmp_path / "shop")
