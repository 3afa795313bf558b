"""The result of one test, from whichever runner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from remit_governance.secrets.cutting import shorten

MAX_LINES = 6
MAX_LINE_CHARS = 240

Ending = Literal["passed", "failed", "skipped", "error", "unfinished"]
Kind = Literal["assertion", "error"]


class ReportForm(BaseModel):
    """A part of a runner's report; whatever else a runner writes is ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class BadReport(Exception):
    """A runner's report that cannot be read."""


@dataclass(frozen=True, slots=True)
class Result:
    """One test. `kind` says of a test that did not pass whether an assertion failed or something broke before or in it.

    `message` is a few lines, `file` a path as the runner gives it, `seconds` is None if the runner does not say. A test
    is unfinished if it began, but no end is reported.
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
    """A test, or code that tests check with, that comes from another file than it should: its name, the `file` that it
    comes from (empty if unknown), and the file `of` the code that it replaces (empty if only its own file matters).
    """

    name: str
    file: str
    of: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The report of a runner. `planned` is how many tests the runner meant to run, None if it does not say.

    `doubts` say why the report may not be true, and `origins` name code that comes from another file than it should.
    """

    tests: tuple[Result, ...] = ()
    planned: int | None = None
    doubts: tuple[str, ...] = ()
    origins: tuple[Origin, ...] = ()


def first_lines(text: str) -> str:
    """Returns the first few lines that are not blank, each cut."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    cut = [shorten(line, MAX_LINE_CHARS + 1) for line in lines[:MAX_LINES]]
    return "\n".join([*cut, *(["…"] if len(lines) > MAX_LINES else [])])
