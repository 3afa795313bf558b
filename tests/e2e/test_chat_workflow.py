"""The workflow of strict mode at a real terminal, from the request to the commit: what a person types and reads."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from chat_screen import ChatScreen
from messages import SAYS

from remit_governance.workflow.states import Mode
from remit_server.cli.commands.demo import sample_workspace
from remit_server.cli.tdd_scenario import CODE_FILE, MESSAGE, REQUEST, TEST_FILE, make_repository, script_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.usefixtures("bwrap")]

SIZE = (120, 160)
REVIEW = {"text": "All tests pass: please review."}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    workspace = sample_workspace(tmp_path / "shop", "tdd")
    make_repository(workspace)
    return workspace


@pytest.fixture
def script() -> dict[str, dict[str, Any]]:
    """Returns the steps of the demo's scenario, by their purpose."""
    names = ("read", "hasty", "plan", "test", "run", "code", "run_all", "commit", "done")
    return dict(zip(names, script_of(Mode.STRICT), strict=True))


def subjects(workspace: Path) -> list[str]:
    log = subprocess.run(["git", "log", "--format=%s"], cwd=workspace, capture_output=True, text=True, check=True)
    return log.stdout.splitlines()


def answer(terminal: ChatScreen, title: str, state: str, key: str = "y") -> None:
    """Waits for a question with the workflow's state below it, which shows that it waits for a key, and types the
    key."""
    terminal.until(rf"approval {title}[^§]*allow\?[^\n]*\n\s*strict: {state} ")
    terminal.pump(0.5)
    terminal.send(key)
    terminal.until(rf"approval {title}[^§]*✓ allowed (?:once|for this session) by you")


def test_FLW_06_from_the_request_to_the_commit_in_a_terminal(chat: Any, shop: Path, script: Any) -> None:
    steps = [*list(script.values())[:-2], REVIEW, script["commit"], script["done"]]
    with chat(*steps, size=SIZE) as terminal:
        terminal.until(r"\n\s*explore: idle ")
        terminal.send("/strict\r")
        terminal.until(r"strict mode: idle · nothing may be written[^§]*\n\s*strict: idle ")
        terminal.send(REQUEST + "\r")
        answer(terminal, f"change {TEST_FILE}", "test_writing")
        assert "To test_writing: call plan_complete" in " ".join(terminal.all_text.split()), (
            "the hasty write was refused"
        )
        answer(terminal, "run python3 -m unittest", "test_writing", "s")
        terminal.until("red, as it has to be: .*test_a_line_that_is_none_is_named")
        answer(terminal, f"change {CODE_FILE}", "code_writing")
        terminal.until(r"please review[^§]*\n\s*strict: reviewing ")
        assert "reviewing · nothing may be written; /approve commits it, /reject sends it back" in terminal.text
        assert subjects(shop) == [SAYS.a_parser_of_configuration_lines]
        terminal.send("/status\r")
        terminal.until(
            r"strict\s+mode,\s+state\s+reviewing:\s+nothing\s+may\s+be\s+written\.\s+To\s+committing:\s+the\s+person.s\s+/approve"
        )
        terminal.send("/budget\r")
        terminal.until("there is no budget yet")
        terminal.send("/approve\r")
        terminal.until(r"a test holds it to that[^§]*\n\s*strict: idle ")
        assert "✓ allowed once: the review of exactly these files was approved" in terminal.text
        assert "committed 2 files to master" in terminal.text
    assert subjects(shop)[0] == MESSAGE


def test_FLW_10_a_person_stops_edits_and_rejects_in_a_terminal(chat: Any, shop: Path, script: Any) -> None:
    test, run, words = shop / TEST_FILE, script["run"], {"text": "I stop here."}
    steps = [script[name] for name in ("plan", "test", "run", "code")]
    with chat(*steps, run, run, words, run, REVIEW, words, size=SIZE, REMIT_MODE="strict") as terminal:
        terminal.send("/approve\r")
        terminal.until("there is nothing to review: the work is in state `idle`[^§]*once all tests pass")
        terminal.send(REQUEST + "\r")
        answer(terminal, f"change {TEST_FILE}", "test_writing")
        answer(terminal, "run python3 -m unittest", "test_writing", "s")
        terminal.until(rf"approval change {CODE_FILE}")
        approved = test.read_text()
        test.write_text(approved + "\n    def test_long(self):\n        __import__('time').sleep(60)\n")
        answer(terminal, f"change {CODE_FILE}", "code_writing")
        terminal.until(r"strict mode: validating[^§]*\n\s*strict: validating ")
        terminal.send("\x03")
        terminal.until(r"cancelled · \d calls[^§]*\n\s*strict: code_writing ")
        test.write_text(approved + "\n    def test_of_mine(self):\n        self.assertEqual(1, 1)\n")
        terminal.send("go on\r")
        terminal.until(r"I stop here[^§]*\n\s*strict: code_writing ")
        assert SAYS.put_them_back_as_they in terminal.text
        assert SAYS.let_the_person_begin_anew in terminal.text
        test.write_text(approved)
        terminal.send("go on\r")
        terminal.until(r"please review[^§]*\n\s*strict: reviewing ")
        terminal.send("/reject name the key as well\r")
        terminal.until(r"review rejected[^§]*I stop here[^§]*\n\s*strict: code_writing ")
        terminal.send("/explore\r")
        terminal.until(r"explore mode[^§]*\n\s*explore: idle ")
    assert subjects(shop) == [SAYS.a_parser_of_configuration_lines]
