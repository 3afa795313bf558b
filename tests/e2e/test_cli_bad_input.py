"""Missing, broken, read-only, binary or huge input: the error says what, why and fix, and nothing is left half done."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import PATIENCE_S, REMIT, CommandLine, Done
from messages import SAYS

FAILED = 1
READ_CART = ("run-tool", "read_file", '{"path": "src/cart.py"}', "--intent", "READ_FILE")
EDIT_CART = (
    "run-tool",
    "edit_file",
    '{"path": "src/cart.py", "old_text": "total", "new_text": "subtotal", "replace_all": true}',
    *("--intent", "CODE", "--approve", "session"),
)

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def contents(folder: Path) -> dict[str, str]:
    """Returns the digest of every file below `folder`, by its path."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def complaint(done: Done) -> dict[str, str]:
    """Returns the three lines on standard error of a command that could not begin."""
    what, why, fix = done.err.splitlines()
    assert done.code == FAILED
    assert done.out == ""
    assert (what[:7], why[:7], fix[:7]) == ("remit: ", "  why: ", "  fix: ")
    return {"what": what[7:], "why": why[7:], "fix": fix[7:]}


def refusal(done: Done) -> dict[str, Any]:
    """Returns the error of the one call of `run-tool --json`."""
    (result,) = done.of("tool_result")
    assert done.code == FAILED
    assert all(result["error"][part] for part in ("what", "why", "fix"))
    return result["error"]


# workspaces


@pytest.mark.parametrize("command", [READ_CART, ("rename it",), ("doctor",), ("audit", "log"), ("policy", "check")])
def test_a_workspace_that_does_not_exist(command: tuple[str, ...], remit: CommandLine, tmp_path: Path) -> None:
    said = complaint(remit(*command, "--workspace", str(tmp_path / "nowhere")))
    assert said["what"] == f"cannot open the workspace `{tmp_path / 'nowhere'}`"
    assert said["why"] == "no such file or directory"
    assert not remit.state.exists()


def test_a_workspace_that_is_a_file(remit: CommandLine) -> None:
    assert complaint(remit(*READ_CART, "--workspace", "README.md"))["why"] == SAYS.it_is_not_a_folder


def test_a_read_only_workspace_is_read_and_not_written(bwrap: str, remit: CommandLine) -> None:
    before = contents(remit.workspace)
    read_only = (bwrap, "--dev-bind", "/", "/", "--ro-bind", str(remit.workspace), str(remit.workspace), "--")
    assert remit(*READ_CART, before=read_only).code == 0
    assert refusal(remit(*EDIT_CART, "--json", before=read_only))["code"] == "read_only"
    assert contents(remit.workspace) == before
    assert remit("audit", "verify").code == 0


def test_an_audit_log_that_cannot_be_written_stops_everything(bwrap: str, remit: CommandLine) -> None:
    before = contents(remit.workspace)
    remit.state.mkdir()
    read_only = (bwrap, "--dev-bind", "/", "/", "--ro-bind", str(remit.state), str(remit.state), "--")
    assert complaint(remit(*EDIT_CART, before=read_only))["what"].startswith("cannot write to")
    assert contents(remit.workspace) == before


# policy


@pytest.mark.parametrize("whose", ["person", "project"])
@pytest.mark.parametrize(
    "command",
    [EDIT_CART, ("rename it",), ("policy", "explain", "--action", '{"syscall": "fs.read", "path": "a"}')],
    ids=["run-tool", "prompt", "explain"],
)
def test_a_broken_policy_file_allows_nothing(
    command: tuple[str, ...], whose: str, remit: CommandLine, script: Callable[..., str]
) -> None:
    file = remit.config / "policy.yaml" if whose == "person" else remit.workspace / ".remit/policy.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text("version: 1\ncapabilities:\n  - name: everything\n    match: {}\n    action: allwo\n")
    before = contents(remit.workspace)
    said = complaint(remit(*command, REMIT_MODEL=script()))
    assert f"{file}:5:" in said["why"]
    assert "allow" in said["why"] + said["fix"]
    assert contents(remit.workspace) == before


def test_a_policy_file_that_is_named_and_missing(remit: CommandLine) -> None:
    done = remit("policy", "explain", "--policy", "no.yaml", "--action", '{"syscall": "fs.read", "path": "a"}')
    said = complaint(done)
    assert "no.yaml" in said["why"]
    assert SAYS.no_such_file in said["why"]


# models


def test_a_missing_model_ends_the_turn_with_what_to_do(remit: CommandLine) -> None:
    done = remit("rename it", "--model", "/no/such/model", "--json")
    assert done.code == FAILED
    error = done.lines[-1]["result"]["error"]
    assert error["code"] == "model_unavailable"
    assert (error["what"], error["why"]) == (
        "the model `/no/such/model` cannot be loaded",
        SAYS.there_is_no_such_folder,
    )
    assert "built-in" in error["fix"]


def test_model_check_of_a_missing_and_of_an_empty_folder(remit: CommandLine, tmp_path: Path) -> None:
    assert complaint(remit("model", "check", "/no/such/model"))["why"] == SAYS.there_is_no_such_folder
    (tmp_path / "empty").mkdir()
    done = remit("model", "check", str(tmp_path / "empty"), "--json")
    assert (done.code, done.json["ok"]) == (FAILED, False)
    assert "config.json" in done.json["problem"]["why"]


def test_a_script_that_is_missing_or_broken(remit: CommandLine, tmp_path: Path) -> None:
    assert complaint(remit("hi there", "--model", "script:no.json"))["why"] == "no such file or directory"
    (tmp_path / "bad.json").write_text('[{"txt": "hello"}]')
    assert "0.txt" in complaint(remit("hi there", "--model", f"script:{tmp_path / 'bad.json'}"))["why"]


def test_a_setting_that_is_no_number(remit: CommandLine) -> None:
    assert complaint(remit("hi there", REMIT_MAX_STEPS="many"))["what"] == "cannot use REMIT_MAX_STEPS=`many`"


# files


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"\x00\x01total\xff" * 100, "binary_file"), (b"total = 1\n" * 2_000_000, "too_large")],
    ids=["binary", "huge"],
)
def test_a_file_that_cannot_be_edited_stays_as_it_is(data: bytes, code: str, remit: CommandLine) -> None:
    (remit.workspace / "src/cart.py").write_bytes(data)
    before = contents(remit.workspace)
    assert refusal(remit(*EDIT_CART, "--json"))["code"] == code
    assert contents(remit.workspace) == before


# the system


def test_without_bubblewrap_a_command_is_refused_and_it_says_what_to_install(
    remit: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    words = ("run-tool", "run_command", '{"command": "touch made"}', "--intent", "EXECUTE", "--approve", "session")
    nothing = {"PATH": str(tmp_path / "empty"), "REMIT_SANDBOX": "bubblewrap"}
    error = refusal(remit(*words, "--json", **nothing))
    assert error["code"] == "sandbox_unavailable"
    assert "install bubblewrap" in error["fix"]
    assert not (remit.workspace / "made").exists()
    checked = remit("sandbox", "check", **nothing)
    assert checked.code == FAILED
    assert "fix: install bubblewrap" in checked.out


def test_a_damaged_audit_log_is_neither_read_nor_added_to_but_set_aside(remit: CommandLine) -> None:
    remit(*READ_CART)
    (database,) = remit.state.rglob("audit.sqlite3")
    database.write_bytes(b"no database at all" * 500)
    assert complaint(remit("audit", "log"))["fix"] == SAYS.run_remit_audit_verify
    assert "record 1 is broken" in remit("audit", "verify").out
    assert "set aside" in remit(*READ_CART).out
    (aside,) = remit.state.rglob("audit.sqlite3.set-aside-*")
    assert aside.read_bytes() == b"no database at all" * 500


@pytest.mark.parametrize("command", [READ_CART, ("--help",), ("audit", "log")])
def test_a_reader_that_goes_away_is_no_error(command: tuple[str, ...], remit: CommandLine) -> None:
    remit(*READ_CART)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [str(REMIT), *command],
        cwd=remit.workspace,
        env=dict(remit.environment),
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=PATIENCE_S,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_terminal_without_unicode_is_no_error(remit: CommandLine) -> None:
    done = remit(*READ_CART, PYTHONIOENCODING="ascii")
    assert done.code == 0
    assert "\\u2713 read src/cart.py" in done.out
    (remit.workspace / "src/cart.py").write_text("price = '🍵'\n")
    (result,) = remit(*READ_CART, "--json", PYTHONIOENCODING="ascii").of("tool_result")
    assert "🍵" in result["output"]
