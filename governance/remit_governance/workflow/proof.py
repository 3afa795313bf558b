"""What proves a failing test and, later, a passing one: runs of tests judged without looking at the disk (FLW-04).

RED is a new or changed test that ran and failed by an assertion. GREEN is a run of all tests in which those passed, no
test file is another than then, and nothing fails that did not fail before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from remit_governance.canonical import canonical, digest_bytes
from remit_governance.workflow.test_pieces import pieces_of

MOST_NAMED = 5

_NAMES_FILE = re.compile(r"(.+?\.py)::|(.+?) > ")

Ending = Literal["passed", "failed", "skipped", "error", "unfinished"]


@dataclass(frozen=True, slots=True)
class TestCase:
    """One test of a run: its id as the runner gives it, how it ended, and whether an assertion failed in it."""

    __test__ = False

    id: str
    ending: Ending
    by_assertion: bool = False


@dataclass(frozen=True, slots=True)
class TestRun:
    """A run of tests. `whole`: all of the project's tests were to run. `doubt` says why its report is not believed.

    `untold` are how many tests the runner meant to run of which no end is told.
    """

    __test__ = False

    cases: tuple[TestCase, ...]
    whole: bool = False
    doubt: str = ""
    untold: int = 0


@dataclass(frozen=True, slots=True)
class TestFiles:
    """The test files of a workspace at one moment: text by path, and the digest of each."""

    __test__ = False

    texts: Mapping[str, str]
    digests: Mapping[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        digests = {path: digest_bytes(text.encode(errors="surrogateescape")) for path, text in self.texts.items()}
        object.__setattr__(self, "digests", digests)

    @property
    def listing(self) -> bytes:
        """The digests by path, as one byte string."""
        return canonical(self.digests)

    @property
    def digest(self) -> str:
        """What these files and no others have: the digest of their listing."""
        return digest_bytes(self.listing)

    def differing(self, other: TestFiles) -> tuple[str, ...]:
        """Returns the paths that are not the same in the other ones."""
        paths = {*self.texts, *other.texts}
        return tuple(sorted(path for path in paths if self.digests.get(path) != other.digests.get(path)))


@dataclass(frozen=True, slots=True)
class Red:
    """What a failing run proves: the tests that failed as they should, all that failed, the test files as they were.

    `since` says how many changes the session had made by then.
    """

    proven: frozenset[str]
    failing: frozenset[str]
    locked: TestFiles
    since: int = 0


@dataclass(frozen=True, slots=True)
class NotProven:
    """Why a run proves nothing, in words for whoever ran it."""

    why: str


def prove_red(run: TestRun, before: TestFiles, now: TestFiles) -> Red | NotProven:
    """Judges a run in `test_writing`: `before` are the test files when the plan was complete."""
    if run.doubt:
        return NotProven(f"the run is not believed: {run.doubt}")
    failed = [case for case in run.cases if case.ending in {"failed", "error"}]
    if not any(case.ending in {"failed", "passed"} for case in run.cases) and not failed:
        return NotProven("no test ran")
    if not failed:
        return NotProven("no test failed: a new test has to fail before the code is written")
    by_assertion = [case for case in failed if case.by_assertion and case.ending == "failed"]
    if not by_assertion:
        why = f"no test failed by an assertion; what broke is no proof: {_names(failed)}"
        return NotProven(f"{why}; let a test assert first that what it needs is there")
    proven = [case for case in by_assertion if _is_new(case.id, before.texts, now.texts)]
    if not proven:
        return NotProven(f"the tests that failed are neither new nor changed: {_names(by_assertion)}")
    return Red(frozenset(case.id for case in proven), frozenset(case.id for case in failed), now)


def prove_green(run: TestRun, red: Red, now: TestFiles) -> NotProven | None:
    """Judges a run in `validating`; None where all is as it has to be."""
    if run.doubt:
        return NotProven(f"the run is not believed: {run.doubt}")
    if not run.whole:
        return NotProven("only a run of all tests counts: call run_tests without a path or a filter")
    moved = red.locked.differing(now)
    if moved:
        return NotProven(f"test files are not as they were when they failed: {', '.join(moved[:MOST_NAMED])}")
    passed = {case.id for case in run.cases if case.ending == "passed"}
    if missing := sorted(red.proven - passed):
        return NotProven(f"these have to pass, and did not: {', '.join(missing[:MOST_NAMED])}")
    worse = [
        case for case in run.cases if case.ending in {"failed", "error", "unfinished"} and case.id not in red.failing
    ]
    return NotProven(f"these did not fail before: {_names(worse)}") if worse else _all_told(run)


def prove_passing(run: TestRun) -> NotProven | None:
    """Judges a run where nothing had to fail first: every test that ran passed."""
    if run.doubt:
        return NotProven(f"the run is not believed: {run.doubt}")
    bad = [case for case in run.cases if case.ending in {"failed", "error", "unfinished"}]
    return NotProven(f"these did not pass: {_names(bad)}") if bad else _all_told(run)


def _all_told(run: TestRun) -> NotProven | None:
    return NotProven(f"of {run.untold} tests no end is told") if run.untold else None


def _names(cases: Iterable[TestCase]) -> str:
    names = [case.id for case in cases]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _is_new(test_id: str, before: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Tells whether what a test is made of is there now, and was not before."""
    file = _NAMES_FILE.match(test_id)
    for path in now if file is None else [file[1] or file[2]]:
        pieces = pieces_of(now, path, test_id)
        if pieces and not pieces <= pieces_of(before, path, test_id):
            return True
    return False
