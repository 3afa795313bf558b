"""A real Emacs with eglot and the configuration of docs/editors/emacs.md (LSP-05)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import call, intent
from command_line import REMIT, CommandLine, Terminal

ROOT = Path(__file__).parents[2]
DRIVER = Path(__file__).parent / "emacs" / "driver.el"
LONG = "".join(f"line {number:03d} of a file\n" for number in range(300))
NEEDS_EGLOT = '(unless (locate-library "eglot") (kill-emacs 1))'
IN_TERMINAL = ("setsid", "--ctty", "--wait")
"""Emacs opens the terminal that controls it by name."""
SAYS = r"Server reports (type=[23]): "

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture
def emacs() -> str:
    found = shutil.which("emacs") or pytest.skip("there is no emacs: apt-get install emacs-nox elpa-eglot")
    has_eglot = [found, "-q", "--batch", "-f", "package-initialize", "--eval", NEEDS_EGLOT]
    if subprocess.run(has_eglot, check=False).returncode:
        pytest.skip("this emacs has no eglot: apt-get install elpa-eglot")
    return found


@pytest.fixture
def guide() -> str:
    (block,) = re.findall(
        r"^```elisp\n(.*?)^```$", (ROOT / "docs/editors/emacs.md").read_text(), re.MULTILINE | re.DOTALL
    )
    return block


Drive = Callable[..., dict[str, Any]]


@pytest.fixture
def drive(emacs: str, guide: str, remit: CommandLine, tmp_path: Path) -> Drive:
    """Opens a file, asks, answers each question, and waits for a message: what the editor saw."""

    def run(
        model: str, until: str, *, file: str = "src/cart.py", choice: str = "Allow once", **told: str
    ) -> dict[str, Any]:
        subprocess.run(["git", "init", "-q"], cwd=remit.workspace, check=True)
        (tmp_path / "guide.el").write_text(told.pop("guide", guide))
        report = tmp_path / "report.json"
        environment = {
            **remit.environment,
            "PATH": f"{REMIT.parent}:{remit.environment['PATH']}",
            "HOME": str(tmp_path),
            "TERM": "xterm",
            "REMIT_MODEL": model,
            "REMIT_GUIDE": str(tmp_path / "guide.el"),
            "REMIT_FILE": file,
            "REMIT_PROMPT": "go",
            "REMIT_CHOICE": choice,
            "REMIT_UNTIL": until,
            "REMIT_REPORT": str(report),
            **told,
        }
        with Terminal(
            [*IN_TERMINAL, emacs, "-nw", "-q", "-f", "package-initialize", "-l", str(DRIVER)],
            remit.workspace,
            environment,
        ) as terminal:
            terminal.wait()
        assert report.exists(), terminal.screen
        seen: dict[str, Any] = json.loads(report.read_text())
        assert seen["failure"] is None, seen["messages"]
        return seen

    return run


def test_a_rename_is_asked_for_and_arrives_in_the_buffer(
    drive: Drive, script: Callable[..., str], remit: CommandLine
) -> None:
    cart = remit.workspace / "src/cart.py"
    before = cart.read_text()
    seen = drive(script(), SAYS + "Renamed")
    (question,) = seen["asked"]
    assert "change src/cart.py" in question["prompt"]
    assert "+    subtotal = 0.0" in question["prompt"]
    assert seen["buffer"] == before.replace("total", "subtotal")
    assert seen["modified"]
    assert cart.read_text() == before


def test_a_no_changes_nothing(drive: Drive, script: Callable[..., str], remit: CommandLine) -> None:
    before = (remit.workspace / "src/cart.py").read_text()
    seen = drive(script(), SAYS + "Renamed", choice="Deny")
    assert len(seen["asked"]) == 1
    assert seen["buffer"] == before
    assert not seen["modified"]


def test_a_new_file_is_attached_and_written_in_its_buffer(
    drive: Drive, script: Callable[..., str], remit: CommandLine
) -> None:
    step = {"calls": [intent("CODE"), call("write_file", path="fresh.txt", content="hello\nworld\n")]}
    seen = drive(script(step, {"text": "Wrote it."}), SAYS + "Wrote it", file="fresh.txt")
    assert seen["managed"]
    assert seen["buffer"] == "hello\nworld\n"
    assert seen["modified"]
    assert not (remit.workspace / "fresh.txt").exists(), "the person saves it"


@pytest.mark.model
def test_an_edit_that_emacs_tells_late_is_not_said_to_be_none(drive: Drive, guide: str, remit: CommandLine) -> None:
    """Without the guide's method Emacs tells what it changed when it is next idle for so long."""
    plain = re.sub(r"^;; Emacs tells a server of changes.*?\n\n", "", guide, flags=re.MULTILINE | re.DOTALL)
    assert "workspace/applyEdit" not in plain
    before = (remit.workspace / "src/cart.py").read_text()
    prompt = "rename total to subtotal in src/cart.py"
    seen = drive("embedded", "has arrived after all", guide=plain, REMIT_IDLE="3600", REMIT_PROMPT=prompt)
    assert seen["buffer"] == before.replace("total", "subtotal")
    assert "it is not known whether the file was changed" in seen["messages"]
    assert "nothing was changed" not in seen["messages"]


def test_a_long_question_is_shown_whole_before_it_is_asked(
    drive: Drive, script: Callable[..., str], remit: CommandLine
) -> None:
    step = {"calls": [intent("CODE"), call("write_file", path="long.txt", content=LONG)]}
    seen = drive(script(step, {"text": "Wrote it."}), SAYS + "Wrote it")
    (question,) = seen["asked"]
    assert len(question["prompt"]) < 1_000
    assert "create long.txt" in question["prompt"]
    assert all(f"+{line}" in question["messages"].split("\n") for line in LONG.splitlines())
    assert "(the end of the question sha256:" in question["messages"]
    assert (remit.workspace / "long.txt").read_text() == LONG


def test_what_a_command_printed_is_shown(bwrap: str, drive: Drive, script: Callable[..., str]) -> None:
    step = {"calls": [intent("EXECUTE"), call("run_command", command="echo first; echo second; exit 3")]}
    seen = drive(script(step, {"text": "So it was."}), r"exit code 3 after")
    shown = seen["messages"].split("\n")
    at = next(number for number, line in enumerate(shown) if "So it was." in line)
    assert shown[at + 1 : at + 4] == ["$ echo first; echo second; exit 3", "first", "second"]
    assert "type=2" in shown[at]
