"""`remit policy test|replay|update|show` and `remit audit why`, through the real program (POL-02)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import policy_steps
import pytest
from command_line import CommandLine, Done, Terminal, start_server
from examples import rounds
from messages import SAYS
from step_by_step import Order, Writers
from threat_bench import own

from remit_governance.audit.reading.query import query_audit
from remit_governance.audit.record import AuditKind
from remit_server.workspace.content.files import TEMPORARY_PREFIX

DONE, FAILED, USAGE, DENIED = 0, 1, 2, 3

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

READ = ("run-tool", "read_file", '{"path": "src/cart.py"}', "--intent", "READ_FILE")
ENV = ("run-tool", "read_file", '{"path": ".env"}', "--intent", "READ_FILE")
WRITE = '{"syscall": "fs.write", "path": "src/cart.py"}'
RULE = "  - {name: %s, match: {syscall: %s}, action: %s}\n"
HEAD = "version: 1\ncapabilities:\n"
READS = HEAD + RULE % ("reads", "fs.read", "allow")
NO_READS = HEAD + RULE % ("no-reads", "fs.read", "deny")
FROZEN = READS + RULE % ("frozen", "policy.update", "deny")


@pytest.fixture
def used(remit: CommandLine) -> CommandLine:
    """`remit` after a read, and a read that a rule denied."""
    assert remit(*READ).code == DONE
    assert remit(*ENV).code == DENIED
    return remit


def new(remit: CommandLine, text: str) -> str:
    file = remit.workspace.parent / "new.yaml"
    file.write_text(text)
    return str(file)


def mine(remit: CommandLine, text: str) -> Path:
    remit.config.mkdir(exist_ok=True)
    file = remit.config / "policy.yaml"
    file.write_text(text)
    file.chmod(0o640)
    return file


def updates(remit: CommandLine) -> list[dict[str, Any]]:
    return [r for r in remit("audit", "log", "--json", "-n", "1000").lines if r["kind"] == "policy_update"]


def phrase(remit: CommandLine, *words: str) -> str:
    shown = remit("policy", "update", *words, "--dry-run", "--json")
    assert shown.code == DONE, shown.out
    assert not shown.json["applied"]
    return str(shown.json["phrase"])


def update(remit: CommandLine, text: str) -> Done:
    file = new(remit, text)
    return remit("policy", "update", file, "--confirm", phrase(remit, file))


# explain


def test_bad_lines_are_answered_in_their_place_and_a_pipe_gets_its_answers_at_once(remit: CommandLine) -> None:
    lines = '{"syscall": "fs.read", "path": "a"}\n\n{bad\n\xff\n{"syscall": "fs.nothing"}\n{"syscall": "fs.raed"}'
    done = remit("policy", "explain", "--jsonl", stdin=lines)
    assert [line.get("verdict", "error") for line in done.lines] == ["allow", "error", "error", "deny", "error"]
    assert done.code == FAILED


# test


def test_rules_are_tested_by_their_examples(remit: CommandLine) -> None:
    own = remit("policy", "test")
    assert own.code == DONE, own.out
    assert "no-secrets" in own.out
    text = READS.replace("action: allow", "action: allow, examples: {match: [{path: a}], not_match: [{path: b}]}")
    failed = remit("policy", "test", new(remit, text), "--json")
    assert failed.code == FAILED
    (rule,) = failed.json["rules"]
    assert (rule["rule"], rule["line"], rule["passed"], rule["failed"]) == ("reads", 3, 1, 1)
    assert "new.yaml:3:" in rule["failures"][0]
    assert "no-secrets" not in failed.out
    wrong = remit("policy", "test", new(remit, "capabilities: 7"), "nowhere.yaml")
    assert wrong.code == FAILED
    assert "nowhere.yaml:1:1: the file cannot be read" in wrong.out


# replay


def test_replay_shows_only_changed_verdicts_and_marks_the_breaking(used: CommandLine) -> None:
    same = used("policy", "replay", "--json").json
    assert (same["judged"], same["changed"]) == (2, [])
    other = used("policy", "replay", "--policy", new(used, NO_READS), "--json").json
    (changed,) = other["changed"]
    assert (changed["was"], changed["now"], changed["now_rules"], changed["breaking"]) == (
        *("allow", "deny", ["no-reads"]),
        True,
    )
    assert other["breaking"] == 1
    shown = used("policy", "replay", "--policy", new(used, NO_READS))
    assert shown.code == DONE
    assert "[BREAKING] record " in shown.out
    assert used("policy", "replay", "--policy", new(used, NO_READS), "--last", "1", "--json").json["judged"] == 1


def test_a_project_file_can_be_replayed_in_its_place(used: CommandLine) -> None:
    text = HEAD + "  - {name: theirs, match: {path_glob: [src/**]}, action: deny}\n"
    other = used("policy", "replay", "--policy", new(used, text), "--project", "--json").json
    assert [change["now_rules"] for change in other["changed"]] == [["theirs"]]


def test_records_of_before_are_skipped_and_counted_and_the_log_still_verifies(used: CommandLine) -> None:
    assert used("run-tool", "read_file", '{"path": "src/cart.py"}').code == DENIED
    assert used("policy", "replay", "--json").json["skipped"] == {SAYS.refused_before_policy_was_asked: 1}
    assert used("audit", "verify").code == DONE


# update


def test_an_update_is_shown_confirmed_and_audited(used: CommandLine) -> None:
    file = mine(used, READS)
    new_file = new(used, NO_READS)
    shown = used("policy", "update", new_file, "--dry-run")
    assert shown.code == DONE
    assert "-  - {name: reads" in shown.out
    assert "+  - {name: no-reads" in shown.out
    assert "[BREAKING]" in shown.out
    assert updates(used) == []
    assert update(used, NO_READS).code == DONE
    assert file.read_text() == NO_READS
    assert file.stat().st_mode & 0o777 == 0o640
    begun, done = updates(used)
    assert (begun["output_summary"], done["output_summary"]) == ("begun", "done")
    assert begun["policy_rule_name"] == "builtin.policy-update"
    assert begun["metadata"]["breaking"] == "1"
    assert begun["policy_version"] != begun["metadata"]["new_version"]
    assert used(*READ).code == DENIED
    assert used("audit", "verify").code == DONE
    again = used("policy", "update", new_file)
    assert (again.code, SAYS.nothing_to_change in again.out) == (DONE, True)


def test_without_a_terminal_nobody_is_asked_and_nothing_changes(used: CommandLine) -> None:
    file = mine(used, READS)
    for words in ((), ("--json",), ("--confirm", "apply 000000000000"), ("--confirm", "")):
        done = used("policy", "update", new(used, NO_READS), *words, stdin="y\n")
        assert done.code == DENIED, done.out
        assert file.read_text() == READS
    assert [record["output_summary"] for record in updates(used)] == ["refused"] * 4


def test_a_phrase_is_void_once_what_it_was_for_has_changed(used: CommandLine) -> None:
    """THR-approvals: only what was confirmed is done."""
    file = mine(used, READS)
    new_file = new(used, NO_READS)
    confirmed = phrase(used, new_file)
    for target, text in ((Path(new_file), NO_READS + "# more\n"), (file, READS + "# more\n")):
        before = target.read_text()
        target.write_text(text)
        assert used("policy", "update", new_file, "--confirm", confirmed).code == DENIED
        target.write_text(before)
    assert used(*READ).code == DONE  # one more recorded call that the new policy would deny
    assert used("policy", "update", new_file, "--confirm", confirmed).code == DENIED
    assert file.read_text() == READS


def test_policy_may_deny_its_own_change(used: CommandLine) -> None:
    file = mine(used, FROZEN)
    new_file = new(used, READS)
    done = used("policy", "update", new_file, "--confirm", phrase(used, new_file))
    assert done.code == DENIED
    assert "frozen" in done.err
    assert file.read_text() == FROZEN
    (refused,) = updates(used)
    assert (refused["policy_decision"], refused["output_summary"]) == ("denied", "refused")


def test_every_mistake_in_the_new_text_is_named_and_nothing_changes(used: CommandLine) -> None:
    file = mine(used, READS)
    wrong = HEAD + "  - {name: a, match: {pathglob: x}, action: allow}\n  - {name: b, match: {}, action: alow}\n"
    done = used("policy", "update", new(used, wrong))
    assert done.code == FAILED
    assert "new.yaml:3:" in done.out
    assert "new.yaml:4:" in done.out
    assert file.read_text() == READS
    assert updates(used) == []
    project = used("policy", "update", new(used, READS.replace("reads", "mine")), "--project", "--json")
    assert SAYS.may_only_tighten in project.json["problems"][0]


def test_a_projects_policy_is_updated_in_the_workspace(used: CommandLine) -> None:
    text = HEAD + "  - {name: theirs, match: {path_glob: [src/**]}, action: deny}\n"
    new_file = new(used, text)
    assert (
        used("policy", "update", new_file, "--project", "--confirm", phrase(used, new_file, "--project")).code == DONE
    )
    assert (used.workspace / ".remit/policy.yaml").read_text() == text
    assert used(*READ).code == DENIED


def test_a_link_to_the_persons_policy_stays_one_and_a_projects_is_refused(used: CommandLine) -> None:
    kept = used.workspace.parent / "dotfiles.yaml"
    kept.write_text(READS)
    used.config.mkdir()
    (used.config / "policy.yaml").symlink_to(kept)
    assert update(used, NO_READS).code == DONE
    assert kept.read_text() == NO_READS
    assert (used.config / "policy.yaml").is_symlink()
    theirs = used.workspace / ".remit/policy.yaml"
    theirs.unlink()
    outside = used.workspace.parent / "victim.yaml"
    outside.write_text("version: 1\n")
    theirs.symlink_to(outside)
    assert used("policy", "update", new(used, "version: 1\n#\n"), "--project").code == FAILED
    assert outside.read_text() == "version: 1\n"


def answered(remit: CommandLine, text: str, question: str, answer: str) -> tuple[int, str]:
    terminal: Terminal
    with remit.in_terminal("policy", "update", new(remit, text)) as terminal:
        terminal.wait_for(question)
        terminal.type(answer)
        return terminal.wait(), terminal.screen


def test_a_person_is_asked_in_the_terminal(used: CommandLine) -> None:
    file = mine(used, READS)
    for no in ("n\n", "\n", "\x04"):
        code, _ = answered(used, NO_READS, "[N] no", no)
        assert (code, file.read_text()) == (DENIED, READS)
    code, screen = answered(used, NO_READS, "[N] no", "y\n")
    assert (code, file.read_text()) == (DONE, NO_READS), screen


def test_above_five_breaking_changes_a_yes_is_not_enough(used: CommandLine) -> None:
    for _ in range(5):
        assert used(*READ).code == DONE
    file = mine(used, READS)
    code, screen = answered(used, NO_READS, "to go on", "y\n")
    assert (code, file.read_text()) == (DENIED, READS)
    assert "6 of them [BREAKING]" in screen
    words = phrase(used, new(used, NO_READS))
    assert f"type `{words}`" in screen
    code, _ = answered(used, NO_READS, "to go on", f"{words}\n")
    assert (code, file.read_text()) == (DONE, NO_READS)


@pytest.mark.timeout(900)  # about two hundred runs, each killed at another step
def test_thr_storage_kill_policy_update_at_every_step(
    used: CommandLine, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """THR-storage-kill, THR-storage-kill-policy-update: the policy file is the old or the new one, whole, and after the
    next run no temporary file is left beside it."""
    root = used.workspace.parent
    for name, value in used.environment.items():
        monkeypatch.setenv(name, value)
    new(used, NO_READS)
    outcomes = list[str]()
    left = 0
    known = set[str]()
    with Writers(root, policy_steps.__file__) as writers:
        for step in range(0, 1000, rounds(1, 3)):
            file = mine(used, READS)
            confirmed = phrase_here(root, capfd)
            report = writers.write(Order("", confirmed, step))
            if report.call is None:
                assert (report.ended, file.read_text()) == ("done", NO_READS)
                break
            assert report.ended == "killed"
            outcomes.append(file.read_text())
            # The log's thread takes steps too, so a step number is not always the same moment. Judge each run by
            # itself: the file is the old one before the call that renames the new one into place, and the new one after
            # it; and the log says the same.
            placed = "rename" in report.made
            assert outcomes[-1] == (NO_READS if placed else READS), report
            told = told_by_sessions(used)
            (said,) = [told[session] for session in told.keys() - known if told[session] != ("refused",)] or [()]
            assert said in ({("begun",), ("begun", "done")} if placed else {(), ("begun",)}), report
            known = set(told)
            assert file.stat().st_mode & 0o777 == 0o640
            left += len(temporary(used))
            assert policy_steps.command(root, "--dry-run") == DONE
            assert temporary(used) == []
            assert file.read_text() == outcomes[-1]
    assert set(outcomes) == {READS, NO_READS}
    assert left
    assert used("audit", "verify").code == DONE
    used(*READ)  # the next process that opens the log records the updates whose end is unknown
    ended = set(told_by_sessions(used).values())
    assert ended == {("begun", "done"), ("begun", "interrupted"), ("refused",)}


def told_by_sessions(remit: CommandLine) -> dict[str, tuple[str, ...]]:
    """Returns what the log says of each update, by the session that made it."""
    (database,) = remit.state.rglob("audit.sqlite3")
    found: dict[str, tuple[str, ...]] = {}
    for record in query_audit(database):
        event = record.event
        if event.kind is AuditKind.POLICY_UPDATE and event.session_id:
            said = (event.output_summary or "").partition(":")[0]
            found[event.session_id] = (*found.get(event.session_id, ()), said)
    return found


def phrase_here(root: Path, capfd: pytest.CaptureFixture[str]) -> str:
    capfd.readouterr()
    assert policy_steps.command(root, "--dry-run") == DONE
    return str(json.loads(capfd.readouterr().out)["phrase"])


def temporary(remit: CommandLine) -> list[str]:
    return [path.name for path in remit.config.iterdir() if path.name.startswith(TEMPORARY_PREFIX)]


# show


def test_show_lists_rules_with_hits_dead_and_shadowed_ones(used: CommandLine) -> None:
    mine(used, NO_READS + RULE % ("src", "fs.read", "allow") + RULE % ("never", "[]", "deny"))
    shown = used("policy", "show", "--json").json
    rules = {rule["rule"]: rule for rule in shown["rules"]}
    assert shown["calls"] == 2
    assert rules["src"]["shadowed_by"] == "no-reads"
    assert rules["never"]["dead"]
    assert rules["never"]["line"] == 5
    assert rules["generated-code-is-not-edited"]["project"]
    (used.config / "policy.yaml").unlink()
    rules = {rule["rule"]: rule for rule in used("policy", "show", "--json").json["rules"]}
    assert rules["read-workspace"]["hits"] == {"allowed": 1}
    assert rules["no-secrets"]["hits"] == {"denied": 1}
    assert "denied 1" in used("policy", "show").out


def test_the_packaged_default_is_printed_to_begin_a_file_with(used: CommandLine) -> None:
    printed = used("policy", "show", "--default").out
    assert used("policy", "show", "--default", "--json").json["text"].rstrip() == printed.rstrip()
    before = used("policy", "explain", "--action", WRITE, "--json").json
    mine(used, printed)
    assert used("policy", "check").code == DONE
    after = used("policy", "explain", "--action", WRITE, "--json").json
    assert after["verdict"] == before["verdict"] == "require_review"
    assert after["reasons"][0]["file"] == str(used.config / "policy.yaml")


# audit why


def test_of_any_past_call_a_person_can_ask_why(used: CommandLine) -> None:
    records = used("audit", "log", "--json").lines
    denied = next(r for r in records if r["kind"] == "tool_intent" and r["policy_decision"] == "denied")
    told = used("audit", "why", str(denied["number"]), "--json").json
    assert (told["rule"], told["decision"], told["intent"]) == ("no-secrets", "denied", "READ_FILE")
    assert told["at"].endswith("default.yaml:13")
    assert [reason["rule"] for reason in told["reasons"]] == ["no-secrets", "read-workspace"]
    assert (told["now"]["verdict"], told["now"]["differs"]) == ("deny", False)
    outcome = next(r for r in records if r["kind"] == "tool_outcome" and r["session_id"] == denied["session_id"])
    assert used("audit", "why", str(outcome["number"]), "--json").json == told
    other = used("audit", "why", str(denied["number"]), "--policy", new(used, READS))
    assert "DIFFERENT: allow by reads" in other.out
    mine(used, "capabilities: 7")
    broken = used("audit", "why", str(denied["number"]))
    assert broken.code == DONE
    assert SAYS.not_known in broken.out


def test_why_tells_who_answered(remit: CommandLine) -> None:
    edit = '{"path": "src/cart.py", "old_text": "total", "new_text": "sum", "replace_all": true}'
    assert remit("run-tool", "edit_file", edit, "--intent", "CODE", "--approve", "session").code == DONE
    number = remit("audit", "log", "--tool", "edit_file", "--json").lines[0]["number"]
    told = remit("audit", "why", str(number), "--json").json
    of_it = [
        each["number"]
        for each in remit("audit", "log", "--json").lines
        if each.get("tool_call_id") == told["tool_call_id"]
    ]
    assert len(of_it) > 4
    for each in of_it:
        assert remit("audit", "why", str(each), "--json").json["number"] == told["number"], "its token's records, too"
    assert told["asked"]
    (answer,) = told["answers"]
    assert (answer["decision"], answer["scope"]) == ("allow", "once")
    assert (
        f"approval  allow by {answer['by']}, scope once ({answer['approval_id']})"
        in remit("audit", "why", str(number)).out
    )


def test_why_names_what_it_cannot_find(used: CommandLine) -> None:
    client = start_server(used.environment)
    client.initialize(used.workspace)
    for session in ("a", "b"):  # a turn's id is unique only within its session
        client.result(client.run("1", own("read_file", path="a.py"), session=session))
    client.exit()
    several = used("audit", "why", "1-own-0")
    assert (several.code, "2 calls have this id" in several.err) == (FAILED, True)
    for named in ("1", "999", "nothing", "9" * 30, "'; --"):
        assert used("audit", "why", named).code == FAILED


SETTINGS = """\
intents:
  READ_FILE: { tools: [list_files] }
tdd_tests: { path_glob: ["checks/**"] }
tdd_exemptions:
  documentation: { path_glob: ["notes/**"] }
"""
ITEMS = """\
active_intents:
  - id: SHOP-1
    owned_scope: ["src/**"]
"""


def test_POL_20_an_update_tells_what_it_changes_besides_rules_and_replays_the_gate(used: CommandLine) -> None:
    text = new(used, READS + SETTINGS)
    shown = used("policy", "update", text, "--dry-run", "--json")
    assert shown.code == DONE, shown.err
    found = shown.json
    assert found["settings"][0] == "intent READ_FILE opens +list_files, -read_file"
    assert found["settings"][1] == "tdd_tests: +checks/**"
    assert found["settings"][2].startswith("tdd_exemptions.documentation: +notes/**, -")
    changed = {each["now_by"] for each in found["replay"]["changed"] if each["breaking"]}
    assert changed == {"intent-gate"}
    told = used("policy", "update", text, "--dry-run").out
    assert "intent READ_FILE opens +list_files, -read_file" in told
    assert "[BREAKING]" in told


def test_POL_20_a_call_that_the_gate_refused_and_would_let_on_now_is_counted(used: CommandLine) -> None:
    assert used("run-tool", "write_file", '{"path": "b.py", "content": ""}', "--intent", "READ_FILE").code != DONE
    opening = new(used, READS + "intents:\n  READ_FILE: { tools: [read_file, write_file] }\n")
    found = used("policy", "update", opening, "--dry-run", "--json").json
    assert found["replay"]["skipped"] == {
        SAYS.refused_before_policy_was_asked: 1,
        SAYS.of_these_refused_by_the: 1,
    }


def test_POL_20_show_lists_scopes_of_work_items_and_what_policy_says_besides_rules(used: CommandLine) -> None:
    mine(used, READS + SETTINGS)
    items = used.workspace / ".orchestration/active_intents.yaml"
    items.parent.mkdir()
    items.write_text(ITEMS)
    found = used("policy", "show", "--json").json
    rules = {rule["rule"]: rule for rule in found["rules"]}
    scope = rules["work-item.SHOP-1"]
    assert (scope["action"], scope["file"], scope["line"]) == ("deny", str(items), 2)
    assert "src/**" in scope["match"]
    assert "workflow.tests-are-locked.1" in rules
    assert "read_file" not in found["intents"]["READ_FILE"]["tools"]
    assert found["tests"][1:] == [["checks/**"]]
    assert "tests/**" in found["tests"][0]
    assert found["exemptions"]["documentation"] == ["notes/**"]
    told = used("policy", "show").out
    assert "(changed by a policy file: +list_files, -read_file)" in told
    assert SAYS.the_scopes_of_work_items in told
    assert "documentation: notes/**" in told


def test_POL_20_a_replay_holds_the_scopes_of_work_items_too(used: CommandLine) -> None:
    """Without the scopes, a new policy seemed to allow what a scope had denied."""
    items = used.workspace / ".orchestration/active_intents.yaml"
    items.parent.mkdir()
    items.write_text(ITEMS)
    outside = {"syscall": "fs.write", "path": "other.py", "intent": "CODE", "tool": "write_file", "work_item": "SHOP-1"}
    explained = used("policy", "explain", "--action", json.dumps(outside), "--json").json
    assert explained["verdict"] == "deny"
    assert "work-item.SHOP-1" in {reason["rule"] for reason in explained["reasons"]}
