"""`remit audit`: filters, export, checkpoints, and attacks on a log that a real run has written (AUD-01)."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from audit_logs import recompute
from command_line import CommandLine
from messages import SAYS

DONE, FAILED, USAGE, DENIED = 0, 1, 2, 3

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

READ = ("run-tool", "read_file", '{"path": "src/cart.py"}', "--intent", "READ_FILE")
EDIT_PRICES = (
    *("run-tool", "edit_file", '{"path": "generated/prices.py", "old_text": "total", "new_text": "x"}'),
    *("--intent", "CODE"),
)


@pytest.fixture
def used(remit: CommandLine) -> CommandLine:
    """`remit` after a read, and an edit that a rule denied."""
    assert remit(*READ).code == DONE
    assert remit(*EDIT_PRICES).code != DONE
    return remit


def database(remit: CommandLine) -> Path:
    (found,) = remit.state.rglob("audit.sqlite3")
    return found


def checkpoints(remit: CommandLine) -> Path:
    (found,) = (remit.state / "data").rglob("*.jsonl")
    return found


def log(remit: CommandLine, *words: str) -> list[dict[str, Any]]:
    done = remit("audit", "log", "--json", *words)
    assert done.code == DONE, done.err
    return done.lines


def test_filters_narrow_what_is_shown(used: CommandLine) -> None:
    every = log(used)
    denied = [r for r in every if r.get("policy_decision") == "denied"]
    assert denied
    session = denied[0]["session_id"]
    assert log(used, "--session", session) == [r for r in every if r.get("session_id") == session]
    assert log(used, "--tool", "read_file") == [r for r in every if r.get("tool_name") == "read_file"]
    assert log(used, "--decision", "denied") == denied
    assert log(used, "--rule", "generated-code-is-not-edited") == denied
    assert log(used, "--rule", "generated-code-is-not-edited", "--tool", "read_file") == []
    assert log(used, "--limit", "2") == every[-2:]


@pytest.mark.parametrize("name", ["deny", "final_deny"])
@pytest.mark.parametrize(("asked", "verdict"), [("run git push", "require_review"), ("read src/cart.py", "allow")])
def test_AUD_06_what_your_own_answers_deny_is_found_as_denied_with_its_line(
    name: str, asked: str, verdict: str, remit: CommandLine
) -> None:
    remit.config.mkdir(parents=True, exist_ok=True)
    permissions = remit.config / "permissions.yaml"
    permissions.write_text(
        f"version: 1\n{name}:\n  - {{ path: nowhere }}\n  - {{ command: git push }}\n  - {{ path: src/cart.py }}\n"
    )
    line = 4 if "push" in asked else 5
    done = remit("--approve", "session", asked)
    assert (done.code, done.out.count("was denied by")) == (DENIED, 1 if name == "final_deny" else 2)
    denied = log(remit, "--decision", "denied")
    (number,) = [r["number"] for r in denied if r["kind"] == "tool_outcome"]
    assert {r["denied_by"] for r in denied} == {"standing_answer"}
    told = remit("audit", "why", str(number), "--json").json
    rule = {"action": "deny", "rule": f"permissions.{name}", "at": f"{permissions}:{line}"}
    assert rule.items() <= told["reasons"][0].items()
    assert told["reasons"][1]["action"] == verdict
    assert (told["now"]["verdict"], told["now"]["differs"]) == ("deny", False)
    permissions.unlink()
    now = remit("audit", "why", str(number), "--json").json["now"]
    assert (now["verdict"], now["differs"]) == (verdict, True)


def test_filters_by_time(used: CommandLine) -> None:
    every = log(used)
    at = every[3]["time"]
    assert log(used, "--since", at) == [r for r in every if r["time"] >= at]
    assert log(used, "--until", at) == [r for r in every if r["time"] < at]
    assert log(used, "--since", "1h") == every
    assert log(used, "--until", "1h") == []
    local = datetime.fromtimestamp(every[3]["timestamp"] / 1000, UTC).astimezone().replace(tzinfo=None)
    assert log(used, "--since", local.isoformat()) == [r for r in every if r["time"] >= at]


@pytest.mark.parametrize(
    "words", [("--since", "yesterday"), ("--until", "5w"), ("--since", "99999-01-01"), ("-n", "x")]
)
def test_a_filter_that_says_nothing_is_wrong_usage(words: tuple[str, ...], remit: CommandLine) -> None:
    for command in ("log", "export"):
        done = remit("audit", command, *words)
        assert (done.code, done.out) == (USAGE, "")
        assert f"`{words[1]}` is no" in done.err


def test_a_denial_leads_to_its_rule_and_its_line(used: CommandLine) -> None:
    """POL-10: a rule hit can be traced to its policy line."""
    (record, *_) = log(used, "--decision", "denied", "--tool", "edit_file")
    file, _, number = record["policy_rule_at"].rpartition(":")
    assert "generated-code-is-not-edited" in "".join(Path(file).read_text().splitlines()[int(number) - 1 :][:2])


def test_a_record_names_the_strictest_thing_its_call_would_do(used: CommandLine) -> None:
    (syscall,) = {r["syscall_type"] for r in log(used, "--tool", "edit_file") if "syscall_type" in r}
    assert syscall == "fs.write"


def test_export_is_every_record_as_json_lines(used: CommandLine, tmp_path: Path) -> None:
    every = log(used)
    done = used("audit", "export")
    assert (done.code, done.lines) == (DONE, every)
    assert used("audit", "export", "--tool", "read_file").lines == log(used, "--tool", "read_file")
    assert used("audit", "export", "--limit", "1").lines == every[-1:]
    out = tmp_path / "out.jsonl"
    said = used("audit", "export", "--out", str(out), "--json")
    assert said.json == {"records": len(every), "file": str(out)}
    assert [json.loads(line) for line in out.read_text().splitlines()] == every
    assert out.stat().st_mode & 0o777 == 0o600
    assert used("audit", "export", "--out", str(out)).out == f"{len(every)} records written to {out}\n"


def test_export_that_cannot_be_written_leaves_nothing(used: CommandLine, tmp_path: Path) -> None:
    for out in (tmp_path / "none" / "out.jsonl", used.workspace):
        done = used("audit", "export", "--out", str(out), "--json")
        assert done.code == FAILED
        assert done.json["error"]["what"] == f"cannot write `{out}`"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_export_without_a_log_writes_no_file(remit: CommandLine, tmp_path: Path) -> None:
    done = remit("audit", "export", "--out", str(tmp_path / "out.jsonl"), "--json")
    assert (done.code, done.json["error"]["code"]) == (FAILED, "not_found")
    assert not (tmp_path / "out.jsonl").exists()


def test_a_checkpoint_is_made_at_shutdown_and_on_demand(used: CommandLine) -> None:
    """Each command is a process of its own, so it makes a checkpoint when it ends."""
    count = len(log(used))
    done = used("audit", "checkpoint", "--json")
    assert done.json == {"made": False, "file": str(checkpoints(used))}
    with sqlite3.connect(database(used)) as connection:
        connection.execute("DELETE FROM records WHERE number = ?", (count,))
        sql = "UPDATE chain SET count = count - 1, head = (SELECT hash FROM records ORDER BY number DESC LIMIT 1)"
        connection.execute(sql)
    connection.close()
    checkpoints(used).unlink()
    done = used("audit", "checkpoint", "--json")
    # The removal is recorded, and the new checkpoint covers that record too.
    assert (done.code, done.json["made"], done.json["count"]) == (DONE, True, count)
    assert used("audit", "checkpoint").out.startswith("nothing was recorded since the last checkpoint")
    assert log(used)[-1]["metadata"]["digest"] == done.json["digest"]


def test_a_checkpoint_needs_a_log(remit: CommandLine) -> None:
    done = remit("audit", "checkpoint", "--json")
    assert (done.code, done.json["error"]["code"]) == (FAILED, "not_found")
    assert not list(remit.state.rglob("*"))


def test_checkpoints_and_key_are_outside_the_logs_folder_and_can_be_moved(used: CommandLine, tmp_path: Path) -> None:
    assert database(used).parent not in checkpoints(used).parents
    (key,) = used.state.rglob("audit-key")
    assert key.stat().st_mode & 0o777 == checkpoints(used).stat().st_mode & 0o777 == 0o600
    moved = tmp_path / "moved"
    assert used(*READ, REMIT_DATA_DIR=str(moved)).code == DONE
    assert [path.name for path in moved.rglob("*.jsonl")] == [checkpoints(used).name]
    assert (moved / "audit-key").exists()


def test_thr_storage_truncated_after_a_real_run(used: CommandLine) -> None:
    recompute(database(used), keep=3)
    done = used("audit", "verify", "--json")
    assert (done.code, done.json["ok"], done.json["record"]) == (FAILED, False, 4)
    assert done.json["message"].startswith("record 4 is broken: the end was cut off")
    shown = used("audit", "verify")
    assert "✗ record 4 is broken" in shown.out


def test_thr_storage_recomputed_after_a_real_run(used: CommandLine) -> None:
    recompute(database(used), lambda record: record.update(policy_decision="allowed"))
    done = used("audit", "verify", "--json")
    assert (done.code, done.json["record"]) == (FAILED, 1)
    assert SAYS.the_chain_was_recomputed in done.json["message"]
    doctor = used("doctor", "--json")
    assert [line["good"] for line in doctor.lines if line["name"] == "audit"] == [False]


def test_thr_storage_a_start_on_a_recomputed_log_warns_and_goes_on(used: CommandLine) -> None:
    recompute(database(used), lambda record: record.update(tool_name="x"))
    done = used(*READ, "--json")
    assert done.code == DONE
    found = [r["output_summary"] for r in log(used) if r["kind"] == "audit_chain_break"]
    assert any(SAYS.the_chain_was_recomputed in summary for summary in found)
    assert used("audit", "verify").code == FAILED


def test_thr_storage_a_record_before_the_last_checkpoint_is_changed_in_place(used: CommandLine) -> None:
    """The next start reports it, and `why` mentions it beside what it shows."""
    number = next(record["number"] for record in log(used) if record.get("policy_decision") == "allowed")
    with closing(sqlite3.connect(database(used))) as changed:
        changed.execute(
            "UPDATE records SET content = replace(content, 'allowed', 'denied') WHERE number = ?", (number,)
        )
        changed.commit()
    assert used(*READ).code == DONE
    breaks = [r["metadata"] for r in log(used) if r["kind"] == "audit_chain_break"]
    assert [each["record"] for each in breaks] == [str(number)]
    why = used("audit", "why", str(number), "--json")
    assert (why.code, why.json["log_ok"]) == (DONE, False)
    assert used("audit", "verify", "--json").json["record"] == number


def test_thr_storage_a_log_that_is_gone_is_told_wherever_it_is_asked_for(used: CommandLine, tmp_path: Path) -> None:
    """Even if other folders have whole logs."""
    own = database(used)
    other = own.parent.with_name("other-0123456789ab")
    shutil.copytree(own.parent, other)
    own.unlink()
    for words in (("verify",), ("log",), ("why", "3"), ("export", "--out", str(tmp_path / "out.jsonl"))):
        done = used("audit", *words, "--json")
        assert (done.code, done.json["error"]["code"]) == (FAILED, "not_found"), words
        assert "is gone" in done.json["error"]["what"], words


def test_thr_storage_checkpoint_file_removed_is_a_fault(used: CommandLine) -> None:
    checkpoints(used).unlink()
    done = used("audit", "verify", "--json")
    assert (done.code, done.json["checkpoints"]) == (FAILED, 0)
    assert SAYS.the_checkpoint_file_was_removed in done.json["message"]
    assert "✗ the log cannot be relied on: the checkpoint file was removed" in used("audit", "verify").out


def test_thr_storage_checkpoint_forged_after_a_real_run(used: CommandLine) -> None:
    """The attacker's key replaces the one in the file; what the old key signed shows that it was replaced."""
    (key,) = used.state.rglob("audit-key")
    key.unlink()
    assert used(*READ).code == DONE
    done = used("audit", "verify")
    assert done.code == FAILED
    assert SAYS.which_is_none_of_ours in done.out


def test_thr_storage_key_that_others_can_read(used: CommandLine) -> None:
    (key,) = used.state.rglob("audit-key")
    key.chmod(0o644)
    done = used(*READ)
    assert done.code == DONE, "it stops no work"
    assert "the audit log cannot be relied on: the key that signs checkpoints cannot be used" in done.err
    done = used("audit", "checkpoint", "--json")
    assert (done.code, done.json["error"]["fix"]) == (FAILED, f"run `chmod 600 {key}`")
    done = used("audit", "verify", "--json")
    assert done.code == FAILED
    assert SAYS.can_be_read_or_changed in done.json["message"]


def test_thr_storage_log_replaced(used: CommandLine) -> None:
    database(used).unlink()
    assert used("audit", "verify").code == FAILED, "there is none"
    assert used(*READ).code == DONE
    done = used("audit", "verify", "--json")
    assert done.code == DONE
    assert SAYS.an_earlier_log_of in done.json["notes"][0]


def test_hostile_characters_of_a_record_are_shown_as_such(remit: CommandLine) -> None:
    call = {"path": "a\u202eb\x1b[2J.py"}
    remit("run-tool", "read_file", json.dumps(call), "--intent", "READ_FILE")
    done = remit("audit", "log")
    assert done.code == DONE
    assert not {"\u202e", "\x1b"} & set(done.out)


def test_rules_come_from_the_environment(remit: CommandLine) -> None:
    for name in ("REMIT_AUDIT_DAYS", "REMIT_AUDIT_MIB"):
        done = remit(*READ, "--json", **{name: "none"})
        assert (done.code, done.json["error"]["what"]) == (FAILED, f"cannot use {name}=`none`")
    assert remit(*READ, REMIT_AUDIT_DAYS="1", REMIT_AUDIT_MIB="1").code == DONE


def test_a_place_where_no_checkpoints_can_be_made_stops_nothing(remit: CommandLine, tmp_path: Path) -> None:
    """A log without checkpoints is still a log; the person is told once."""
    (tmp_path / "file").write_text("")
    moved = {"REMIT_DATA_DIR": str(tmp_path / "file")}
    done = remit(*READ, **moved)
    assert done.code == DONE
    assert done.err.count("the maintenance of the audit log failed: the checkpoint file cannot be read") == 1
    assert SAYS.the_audit_log_was_closed in done.err
    verified = remit("audit", "verify", "--json", **moved)
    assert verified.code == FAILED
    assert SAYS.the_checkpoint_file_cannot_be in verified.json["message"]
