"""A client that draws no events is still shown what a command printed, how it ended and how long it took (LSP-04)."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import call, intent
from messages import SAYS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap: apt-get install bubblewrap"),
]

POLICY = """\
capabilities:
  - { name: run, match: { syscall: process.exec }, action: allow }
  - { name: read, match: { syscall: fs.read }, action: allow }
"""


async def ran(start_real: Any, tmp_path: Path, *commands: str, remit: Any = None) -> tuple[Any, list[dict[str, Any]]]:
    """Runs the commands in one turn of a real server; returns the client, and the messages that it was shown."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config/policy.yaml").write_text(POLICY)
    steps = [{"calls": [intent("EXECUTE"), call("run_command", command=each)]} for each in commands]
    (tmp_path / "script.json").write_text(json.dumps([*steps, {"text": "That was it."}]))
    client = await start_real()
    client.handlers["window/workDoneProgress/create"] = lambda _: None
    await client.initialize({"window": {"workDoneProgress": True}}, remit)
    await client.result("workspace/executeCommand", {"command": "remit.ask", "arguments": ["go"]})
    return client, [n["params"] for n in client.notifications if n["method"] == "window/showMessage"]


def without_times(text: str) -> str:
    return re.sub(r"\d+(\.\d)? m?s\b", "TIME", text)


def read(path: Path) -> tuple[int, list[str]]:
    return path.stat().st_mode & 0o777, path.read_text().split("\n")


async def test_output_exit_code_and_duration_are_in_the_message(start_real, tmp_path):
    client, (message,) = await ran(start_real, tmp_path, "echo one; printf two", "echo three >&2; exit 3")
    assert without_times(message["message"]).split("\n") == [
        "That was it. (not all done: the last command failed: exit code 3)",
        "$ echo one; printf two",
        "one",
        "two",
        "(exit code 0 after TIME)",
        "$ echo three >&2; exit 3",
        "three",
        "(exit code 3 after TIME)",
    ]
    assert message["type"] == 2, "a command that failed is a warning"
    progress = [n["params"]["value"] for n in client.notifications if n["method"] == "$/progress"]
    assert [p["message"] for p in progress if p["kind"] == "report" and p["message"] in {"two", "three"}] == [
        "two",
        "three",
    ]


async def test_what_goes_well_is_no_warning_and_hides_nothing(start_real, tmp_path):
    (tmp_path / "work/work.sh").write_text(r"printf 'a\033[2Kb\n'; echo x > new.txt")
    _, (message,) = await ran(start_real, tmp_path, "sh work.sh")
    assert message["type"] == 3
    assert "\na⟨U+001B⟩[2Kb\n" in message["message"]
    assert "\nnot taken over, because no rule explicitly allows this" in message["message"]


async def test_a_long_output_is_cut_and_kept_whole_in_a_file_of_this_user(start_real, tmp_path):
    _, (message,) = await ran(start_real, tmp_path, "seq 1 3000")
    assert len(message["message"]) < 5_000
    assert SAYS.characters_left_out_2 in message["message"]
    assert message["message"].split("\n")[2] == "1"
    kept = Path(message["message"].rpartition("All of it: ")[2])
    assert kept.is_relative_to(tmp_path / "state")
    mode, lines = read(kept)
    assert mode == 0o600
    assert lines[1:3001] == [str(number) for number in range(1, 3001)]


async def test_more_than_is_kept_is_said(start_real, tmp_path):
    _, (message,) = await ran(start_real, tmp_path, "seq 1 20000")
    assert SAYS.more_was_printed_than_is in message["message"]


async def test_a_client_that_draws_events_is_shown_no_message(start_real, tmp_path):
    _, messages = await ran(start_real, tmp_path, "echo one", remit={"approvals": "stream"})
    assert messages == []
