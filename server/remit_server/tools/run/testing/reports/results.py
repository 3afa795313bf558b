"""What one test came to, whoever ran it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MAX_LINES = 6
MAX_LINE_CHARS = 240

Ending = Literal["passed", "failed", "skipped", "error", "unfinished"]
Kind = Literal["assertion", "error"]


class BadReport(Exception):
    """A runner's report that cannot be read."""


@dataclass(frozen=True, slots=True)
class Result:
    """One test. `kind` says of one that did not pass whether an assertion failed or something broke before or in it.

    `message` is a few lines, `file` a path as the runner gives it, `seconds` None where the runner does not say. A test
    is unfinished that began, and of which no end is told.
    """

    id: str
    ending: Ending
    seconds: float | None = None
    kind: Kind | None = None
    message: str = ""
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """A test, or what tests check with, that is not of the file that it is told of: its name, the file that it is from,
    empty where that is none, and the file `of` which it is then no more, empty where only a test's file matters.
    """

    name: str
    file: str
    of: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What a runner told. `planned` is how many tests it meant to run, None where it does not say.

    `doubts` say why what it told may not be what happened, and `origins` what is from another file than it is told of.
    """

    tests: tuple[Result, ...] = ()
    planned: int | None = None
    doubts: tuple[str, ...] = ()
    origins: tuple[Origin, ...] = ()


def first_lines(text: str) -> str:
    """Returns the first few lines that say something, each cut."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    cut = [line if len(line) <= MAX_LINE_CHARS else f"{line[:MAX_LINE_CHARS]}…" for line in lines[:MAX_LINES]]
    return "\n".join([*cut, *(["…"] if len(lines) > MAX_LINES else [])])
