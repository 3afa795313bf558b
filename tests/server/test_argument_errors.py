"""An error about an argument shows hidden characters and cannot move the cursor (CLI-01)."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit_server.cli.main import main

HOSTILE = "a\x1b]0;pwn\x07\x1b[2Kb\u202ec"
COMMANDS = [
    ("session", "show", HOSTILE),
    ("session", "rename", HOSTILE, "x"),
    ("session", "show", f"--{HOSTILE}"),
    ("session", HOSTILE),
    ("policy", "check", HOSTILE),
    ("policy", "explain", "--action", HOSTILE),
    ("run-tool", "read_file", HOSTILE),
    ("run-tool", HOSTILE, "{}"),
    ("run-tool", "read_file", "{}", "--intent", HOSTILE),
    ("ask", "--model", HOSTILE, "hi"),
    ("ask", "--workspace", HOSTILE, "hi"),
    ("ask", f"--{HOSTILE}", "hi"),
    ("ask", "--mode", HOSTILE, "hi"),
    ("audit", "log", "--limit", HOSTILE),
    ("audit", "log", "--since", HOSTILE),
    ("audit", "verify", "--file", HOSTILE),
    ("model", "check", HOSTILE),
    ("model", "pull", HOSTILE),
    ("config", "trust", HOSTILE),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_CLI_01_what_an_error_says_of_an_argument_shows_each_hidden_character(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    try:
        code = main(command)
    except SystemExit as ended:
        code = int(ended.code or 0)
    said = "".join(capsys.readouterr())
    assert code in {1, 2, 3}, command
    assert said
    assert not {"\x1b", "\x07", "\u202e"} & set(said), command
