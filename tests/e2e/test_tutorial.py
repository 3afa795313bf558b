"""Follows docs/tutorial.md: its commands in one shell, in a copy of the sample, with the built-in model (DOC-02)."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pexpect
import pytest

ROOT = Path(__file__).parents[2]
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
PROMPT = "-- next --"
ANSWER = re.compile(r" *(?:allow|part \d of \d)\?.*: (\w)")
"""A question as it is shown, with the answer that the reader types after it."""

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.model]


def typed_and_shown() -> Iterator[tuple[str, list[str]]]:
    """Yields each command of the page with the lines that the page shows below it."""
    for block in re.findall(r"^```console\n(.*?)^```$", TUTORIAL, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *shown = part.splitlines()
            yield command, shown


@dataclass
class Reader:
    """A reader of the tutorial at a terminal."""

    home: Path
    numbers: dict[str, str] = field(default_factory=dict)
    """The record numbers on the page, and the numbers that they have in this run."""

    def __post_init__(self) -> None:
        own = {"HOME": str(self.home), "PS1": PROMPT, "NO_COLOR": "1", "COLUMNS": "200", "TERM": "dumb"}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("REMIT_", "XDG_"))}
        self.shell = pexpect.spawn(
            "bash", ["--norc", "--noprofile", "--noediting"], cwd=str(ROOT), env={**kept, **own, "PATH": path},
            encoding="utf-8", timeout=180, dimensions=(60, 200), echo=False,
        )  # fmt: skip
        self.shell.expect_exact(PROMPT)

    def type(self, command: str, answers: list[str]) -> list[str]:
        """Types a command, answers each question in turn, and returns the printed lines."""
        for shown, now in self.numbers.items():
            command = re.sub(rf"\b{shown}\b", now, command)
        self.shell.sendline(command)
        printed = ""
        for answer in answers:
            self.shell.expect(r"\? \[y\][^\n]*: $")
            printed += f"{self.shell.before}{self.shell.after}{answer}\n"
            self.shell.sendline(answer)
        self.shell.expect_exact(PROMPT)
        return (printed + self.shell.before).replace("\r", "").splitlines()

    def find(self, shown: str, printed: list[str]) -> list[str]:
        """Returns what was printed after the line that is like `shown`."""
        number, _, rest = shown.partition("  ")
        wanted = ".*".join(map(re.escape, (rest if number.isdecimal() else shown).split("…")))
        for at, line in enumerate(printed):
            found = re.fullmatch(rf"(\d+)  {wanted}" if number.isdecimal() else wanted, line.rstrip())
            if found is not None:
                if number.isdecimal():
                    self.numbers[number] = found[1]
                return printed[at + 1 :]
        raise AssertionError("\n".join([f"`{shown}` was not printed after what stands above it:", *printed]))


def test_DOC_02_the_tutorial_prints_what_it_shows(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    commands = list(typed_and_shown())
    assert commands[0] == ("make setup", []), "the test runs in what this has made"
    assert len(commands) > 10
    for command, shown in commands[1:]:
        printed = reader.type(command, [found[1] for line in shown if (found := ANSWER.fullmatch(line))])
        for line in shown:
            printed = reader.find(line, printed)
    reader.shell.close(force=True)
