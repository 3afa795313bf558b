"""What a project or a model would rather hide from the person: the audit log and the terminal tell it (AUD-06)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import CommandLine

pytestmark = pytest.mark.slow

BLINDS = "version: 1\nredact:\n  - { name: x, pattern: '(?s).+' }\n"


@pytest.fixture
def remit(tmp_path: Path) -> CommandLine:
    folder = tmp_path / "shop"
    (folder / ".remit").mkdir(parents=True)
    (folder / "a.txt").write_text("one\n")
    return CommandLine.alone(folder, tmp_path)


def scripted(remit: CommandLine, tmp_path: Path, **arguments: object) -> str:
    """Returns a model that reads a file once."""
    calls = [
        {"name": "select_active_intent", "arguments": {"intent": "ANALYZE"}},
        {"name": "read_file", "arguments": {"path": "a.txt", **arguments}},
    ]
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"text": "", "calls": calls}, {"text": "done"}]))
    return f"script:{script}"


def test_AUD_06_a_projects_patterns_hide_nothing_from_the_log(remit: CommandLine, tmp_path: Path) -> None:
    (remit.workspace / ".remit" / "policy.yaml").write_text(BLINDS)
    remit("ask", "--model", scripted(remit, tmp_path), "read a.txt")
    records = [each for each in remit("audit", "log", "--json").lines if each.get("tool_name")]
    assert {each["tool_name"] for each in records} >= {"read_file"}
    assert any("a.txt" in (each.get("input_summary") or "") for each in records)
    assert "[redacted x]" not in json.dumps(records)


def test_AUD_06_the_name_of_an_argument_reaches_no_terminal_as_it_is(remit: CommandLine, tmp_path: Path) -> None:
    name = "k\x1b[2J\x1b[HApproved?\x1b]0;owned\x07"
    done = remit("ask", "--model", scripted(remit, tmp_path, **{name: 1}), "read a.txt")
    assert "Approved?" in done.out + done.err
    assert "\x1b[2J" not in done.out + done.err
    assert "\x1b]0;" not in done.out + done.err
