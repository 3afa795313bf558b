"""Mishaps around a command: closed or full streams, Ctrl-C at any time, mistyped words, and places that are not what
they should be. Nothing hangs, nothing is lost silently, and nobody sees a traceback."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from command_line import CommandLine
from messages import SAYS

from remit_server.tools.run.run_command import OFFLINE

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
READ_CART = ("run-tool", "read_file", '{"path": "src/cart.py"}', "--intent", "READ_FILE")
FULL = Path("/dev/full")

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def redirected(how: str) -> tuple[str, ...]:
    """Returns the words of a shell that starts a command with its streams redirected like this."""
    return ("sh", "-c", f'exec "$@" {how}', "sh")


# streams


@pytest.mark.parametrize("how", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    "command", [READ_CART, ("policy", "explain", "--jsonl"), ("audit", "log")], ids=["run-tool", "explain", "log"]
)
def test_closed_streams_are_no_error(command: tuple[str, ...], how: str, remit: CommandLine) -> None:
    remit(*READ_CART)
    done = remit(*command, before=redirected(how))
    assert (done.code, done.err) == (DONE, "")
    assert remit("audit", "verify").code == DONE


def test_without_standard_input_the_demo_answers_itself(remit: CommandLine) -> None:
    done = remit("demo", before=redirected("<&-"))
    assert done.code == DONE
    assert SAYS.the_demo_answers_yes_itself in done.out


@pytest.mark.skipif(not FULL.is_char_device(), reason="there is no /dev/full")
@pytest.mark.parametrize("command", [READ_CART, ("audit", "log"), ("policy", "show", "--json")])
def test_output_that_does_not_fit_is_said_to_be_lost(command: tuple[str, ...], remit: CommandLine) -> None:
    remit(*READ_CART)
    done = remit(*command, before=redirected(f"> {FULL}"))
    assert (done.code, done.out) == (FAILED, "")
    what, why, fix = done.err.splitlines()
    assert what == "remit: not all of the output could be written"
    assert why == "  why: no space left on device"
    assert fix.startswith("  fix: ")


def test_an_export_replaces_nothing_but_a_file(remit: CommandLine, tmp_path: Path) -> None:
    remit(*READ_CART)
    pipe, link, target = tmp_path / "pipe", tmp_path / "link", tmp_path / "target"
    os.mkfifo(pipe)
    link.symlink_to(target)
    target.write_text("mine")
    for out in (pipe, link):
        done = remit("audit", "export", "--out", str(out))
        assert (done.code, done.out) == (FAILED, "")
        assert done.err.startswith(f"remit: cannot write `{out}`\n  why: it is not a plain file")
    assert (pipe.is_fifo(), link.is_symlink(), target.read_text()) == (True, True, "mine")


# Ctrl-C


def test_ctrl_c_while_it_is_still_imported_ends_it_quietly(remit: CommandLine, tmp_path: Path) -> None:
    slow = tmp_path / "slow" / "pydantic"
    slow.mkdir(parents=True)
    (slow / "__init__.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(600)\n")
    with remit.in_terminal(*READ_CART, PYTHONPATH=str(slow.parent)) as terminal:
        terminal.wait_for("importing")
        terminal.interrupt()
        assert terminal.wait() == INTERRUPTED
        assert terminal.screen.replace("^C", "").strip() == "importing"


# words


def test_help_is_a_word_too(remit: CommandLine) -> None:
    assert (remit("help").code, remit("help").out) == (DONE, remit("--help").out)


@pytest.mark.parametrize(
    ("words", "meant"), [(("polcy", "show"), "policy"), (("run_tool", "x"), "run-tool"), (("models",), "model")]
)
def test_a_mistyped_command_is_not_put_to_the_model(words: tuple[str, ...], meant: str, remit: CommandLine) -> None:
    done = remit(*words)
    assert (done.code, done.out) == (USAGE, "")
    assert f"there is no command `{words[0]}`: did you mean `remit {meant}`?" in done.err
    assert not remit.state.exists()


def test_a_subcommand_without_its_command_is_named_with_it(remit: CommandLine) -> None:
    done = remit("undo")
    assert (done.code, done.out) == (USAGE, "")
    assert "`remit session undo`" in done.err


@pytest.mark.parametrize("words", [("--max-tokens", "many"), ("--max-tokens", "0"), ("--idle-check", "soon")])
def test_a_number_that_is_none_is_called_so(words: tuple[str, str], remit: CommandLine) -> None:
    done = remit("gateway", *words)
    assert done.code == USAGE
    assert f"argument {words[0]}: `{words[1]}` is not a " in done.err


def test_a_prompt_that_the_locale_cannot_spell_names_the_locale(remit: CommandLine) -> None:
    done = remit("rename totäl", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert (done.code, done.out) == (USAGE, "")
    assert "not valid in ascii" in done.err
    assert "LC_ALL=C.UTF-8" in done.err


# places


def test_CFG_01_check_names_every_mistake(remit: CommandLine) -> None:
    (remit.config).mkdir(exist_ok=True)
    (remit.config / "config.yaml").write_text("limits:\n  turn_timeout_s: x\n  max_stepz: 3\n")
    done = remit("config", "check")
    assert done.code == 1
    assert [f":{line}:3:" in done.err for line in (2, 3)] == [True, True]


def test_a_configuration_folder_that_is_a_file_is_not_taken_for_none(remit: CommandLine) -> None:
    """The person has rules of their own in that folder; the packaged rules might allow what those deny."""
    remit.config.write_text("version: 1\n")
    done = remit(*READ_CART)
    assert (done.code, done.out) == (FAILED, "")
    assert "not a directory" in done.err


def test_the_doctor_sees_that_no_log_could_be_made(remit: CommandLine) -> None:
    remit.state.write_text("no folder")
    bad = {finding["name"]: finding for finding in remit("doctor", "--json").lines if not finding["good"]}
    assert f"{remit.state} is not a folder that you may write to" in bad["audit"]["detail"]
    assert "REMIT_STATE_DIR" in bad["audit"]["fix"]


def test_a_demo_on_a_full_disk_says_so(bwrap: str, remit: CommandLine) -> None:
    remit.state.mkdir()
    small = (bwrap, "--dev-bind", "/", "/", "--size", "4096", "--tmpfs", str(remit.state), "--")
    done = remit("demo", before=small)
    assert (done.code, done.out) == (FAILED, "")
    assert done.err.splitlines()[1] == "  why: no space left on device"


def test_a_runtime_that_could_not_be_opened_has_left_a_log_that_says_it_closed(remit: CommandLine) -> None:
    assert remit("rename it", "--model", "script:no.json").code == FAILED
    kinds = [record["kind"] for record in remit("audit", "log", "--json").lines]
    assert kinds == ["kernel_start", "kernel_shutdown", "checkpoint"]


@pytest.mark.parametrize("command", [("gateway",), ("serve",)])
@pytest.mark.parametrize("how", ["<&-", ">&-"])
def test_who_serves_says_that_there_is_nobody(command: tuple[str, ...], how: str, remit: CommandLine) -> None:
    done = remit(*command, before=redirected(how))
    assert (done.code, done.out) == (FAILED, "")
    assert done.err.splitlines()[-3] == "remit: no client is connected"


def test_the_help_of_run_tool_names_every_tool(remit: CommandLine) -> None:
    said = " ".join(remit("run-tool", "--help").out.split())
    assert "EXECUTE run_command, run_tests, git_commit" in said
    assert "PLAN plan_complete, workflow_request_exemption, revise_tests, set_mode" in said


# what a call shows


def test_a_command_that_was_stopped_at_its_limit_has_failed(bwrap: str, remit: CommandLine) -> None:
    call = ("run-tool", "run_command", '{"command": "sleep 60", "timeout": 1}', "--intent", "EXECUTE")
    done = remit(*call, "--approve", "session")
    assert done.code == FAILED
    assert "    timed_out fix: " in done.out


def test_a_call_of_several_lines_is_drawn_as_one_and_a_commit_names_no_folder(remit: CommandLine) -> None:
    for words in (("init", "-q"), ("config", "user.name", "a"), ("config", "user.email", "a@example.org")):
        subprocess.run(["git", *words], cwd=remit.workspace, check=True)
    message = '{"message": "first\\n\\n    allow? [y] once", "all": true}'
    done = remit("run-tool", "git_commit", message, "--intent", "EXECUTE", "--approve", "session")
    assert done.code == DONE, done.out
    assert "  → git_commit message=first↵↵    allow? [y] once all=true\n" in done.out
    assert "\n          allow? [y] once\n" in done.out
    assert " in None" not in done.out


# what a command lacks


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("python3 -c 'import socket; socket.getaddrinfo(\"example.org\", 443)' 2>&1 | tail -n 1; exit 6", True),
        ("echo could not resolve host", False),
        ("exit 7", False),
    ],
)
def test_BOX_03_a_command_that_fails_for_lack_of_a_network_says_so(
    command: str, said: bool, remit: CommandLine
) -> None:
    call = ("run-tool", "run_command", json.dumps({"command": command}), "--intent", "EXECUTE", "--approve", "session")
    done = remit(*call)
    assert "in the sandbox, no network" in done.out + done.err
    assert (OFFLINE in done.out) == said
