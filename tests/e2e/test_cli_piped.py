"""CLI-17: text that another program pipes in is sent to the model, and a pipe that stays open does not block a
prompt."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from command_line import PATIENCE_S, REMIT, CommandLine

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def told(remit: CommandLine, tmp_path: Path, *words: str, stdin: str) -> str:
    """Runs `remit` with this standard input, and returns the message that the model got."""
    script, record = tmp_path / "script.json", tmp_path / "record.jsonl"
    script.write_text(json.dumps([{"text": "done"}]))
    done = remit(*words, "--model", f"script:{script}", "--record", str(record), stdin=stdin)
    assert done.code == 0, done.err
    asked = next(line for line in map(json.loads, record.read_text().splitlines()) if line["kind"] == "request")
    return str([each["text"] for each in asked["request"]["messages"] if each["role"] == "user"][-1])


@pytest.mark.parametrize(
    ("words", "stdin", "wanted"),
    [
        (("ask", "-"), "what is this?\n", "what is this?"),
        (("ask", "explain this"), "a\nb\n", "explain this\n\nStandard input:\na\nb"),
        (("ask", "explain this"), "", "explain this"),
    ],
)
def test_CLI_17_what_is_piped_in_is_sent(
    remit: CommandLine, tmp_path: Path, words: tuple[str, ...], stdin: str, wanted: str
) -> None:
    assert told(remit, tmp_path, *words, stdin=stdin) == wanted


def test_CLI_17_without_any_words_it_is_the_prompt(remit: CommandLine) -> None:
    done = remit(stdin="what can you do?")
    assert done.code == 0
    assert "I list, show and search files" in done.out


@pytest.mark.parametrize(("words", "stdin"), [(("-",), ""), (("ask", "-"), ""), (("explain it",), "x" * 200_000)])
def test_CLI_17_nothing_and_too_much_are_errors(remit: CommandLine, words: tuple[str, ...], stdin: str) -> None:
    done = remit(*words, stdin=stdin)
    assert done.code == 2
    assert "fix: " in done.err


def test_CLI_17_a_pipe_that_stays_open_holds_nothing_up(remit: CommandLine) -> None:
    reading, writing = os.pipe()
    try:
        done = subprocess.run(
            [str(REMIT), "what can you do?"],
            cwd=remit.workspace,
            stdin=reading,
            capture_output=True,
            timeout=PATIENCE_S,
            text=True,
            check=True,
        )
    finally:
        os.close(reading)
        os.close(writing)
    assert "I list, show and search files" in done.stdout
