"""Judges which runs of tests prove a failing test and, later, a passing one, without reading the disk (FLW-04).

RED is a new or changed test that ran and failed by an assertion, or if there is none, a failing test that no agent
wrote. GREEN is a run of all tests in which those tests passed, all test files are as they were then, nothing fails that
did not fail before, and everything that passed then still passes.

Also finds what a `conftest.py` holds besides fixtures, such as hooks, by which it could change how tests end (FLW-04).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from remit_governance.canonical import canonical, digest_bytes
from remit_governance.workflow.proof.pieces import Named, name_test, whole_of

MOST_NAMED = 5
ASSERT_FIRST = "let the test first assert that what it uses exists"
_MEND = (
    "fix the code; if one fails by chance, run all tests again; if one checks what is to be changed, "
    "call revise_tests and change it first"
)
ONLY_ALL = "only a run of all tests counts: call run_tests without a path, a filter or another runner"

Ending = Literal["passed", "failed", "skipped", "error", "unfinished"]


@dataclass(frozen=True, slots=True)
class TestCase:
    """One test of a run: its id as the runner gives it, how it ended, whether an assertion failed in it, the file that
    the runner names for it, and advice, if the error suggests what would help.
    """

    __test__ = False

    id: str
    ending: Ending
    by_assertion: bool = False
    file: str | None = None
    advice: str = ""


@dataclass(frozen=True, slots=True)
class TestRun:
    """A run of tests. `whole`: all of the project's tests were to run. `doubt` says why its report is not believed.

    `untold` is how many tests the runner was to run without reporting how they ended. `unmet` says what else the
    project demands of a run, besides passing tests, that this run did not meet.
    """

    __test__ = False

    cases: tuple[TestCase, ...]
    whole: bool = False
    doubt: str = ""
    untold: int = 0
    unmet: str = ""

    @property
    def has_failed(self) -> bool:
        """Whether any test failed or broke."""
        return any(case.ending in {"failed", "error"} for case in self.cases)


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
        """The digest of their listing, which identifies exactly these files."""
        return digest_bytes(self.listing)

    def differing(self, other: TestFiles) -> tuple[str, ...]:
        """Returns the paths whose text differs in `other`, or that only one of the two has, sorted."""
        paths = {*self.texts, *other.texts}
        return tuple(sorted(path for path in paths if self.digests.get(path) != other.digests.get(path)))


@dataclass(frozen=True, slots=True)
class AgentChange:
    """A change that a session of the agent made to a file: its text before and after, "" if there was no file."""

    path: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class AgentWork:
    """What all sessions of the agent are known to have changed in test files. `doubt` says why not every change is
    known; then no test is taken for the person's.
    """

    changes: tuple[AgentChange, ...] = ()
    doubt: str = ""

    def touched(self, path: str) -> bool:
        """Returns whether an agent may have written the file."""
        return bool(self.doubt) or any(change.path == path for change in self.changes)


NOBODY_KNOWS = AgentWork(doubt="sessions are not saved here")
"""The work of agents whose sessions are not saved."""


@dataclass(frozen=True, slots=True)
class Red:
    """What a failing run proves: the tests that failed as they should, all that failed, the test files as they were.

    `since` names the last change that the session had made by then; `passing` are the tests that passed in that run.
    """

    proven: frozenset[str]
    failing: frozenset[str]
    locked: TestFiles
    since: str = ""
    passing: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NotProven:
    """Why a run proves nothing, in words for the model or person who ran it."""

    why: str


def prove_red(
    run: TestRun,
    before: TestFiles,
    now: TestFiles,
    work: AgentWork = NOBODY_KNOWS,
    committed: Mapping[str, str] | None = None,
) -> Red | NotProven:
    """Judges a run in `test_writing`: `before` are the test files when the plan was complete (FLW-04).

    A test that no change in the agent's `work` brought in is the person's. `committed` are the test files as the last
    commit has them, or None if that is not known.
    """
    doubted = f"the run is not trusted: {run.doubt}" if run.doubt else _more_than_fixtures(before, now, work)
    if doubted:
        return NotProven(doubted)
    failed = [case for case in run.cases if case.ending in {"failed", "error"}]
    if not any(case.ending in {"failed", "passed"} for case in run.cases) and not failed:
        return NotProven("no test ran")
    if not failed:
        return NotProven("no test failed: a new test has to fail before the code is written")
    by_assertion = [case for case in failed if case.by_assertion and case.ending == "failed"]
    new = [case for case in by_assertion if name_test(case.id, case.file, now.texts).is_new(before.texts, now.texts)]
    takes_old = not before.differing(now)
    if proven := new or _of_person(failed, now, work, committed, takes_old=takes_old):
        why = f"{_names(proven)} fails, and what else fails is not known yet; {ONLY_ALL}"
        red = Red(_ids(proven), _ids(failed), now, passing=frozenset(_passed(run)))
        return red if run.whole else NotProven(why)
    return NotProven(_why_not_red(failed, before, now, work, committed))


def _why_not_red(
    failed: Sequence[TestCase],
    before: TestFiles,
    now: TestFiles,
    work: AgentWork,
    committed: Mapping[str, str] | None,
) -> str:
    """Returns in words why none of the failed tests counts, and what would count."""
    doubt = f" (it is not known who wrote them: {work.doubt})" if work.doubt else ""
    by_assertion = [case for case in failed if case.by_assertion and case.ending == "failed"]
    broken = [case for case in failed if _is_unimported(case, now, committed)]
    if not by_assertion or broken:
        none = (
            "what failed by an assertion is as it was committed" if by_assertion else "no test failed by an assertion"
        )
        why = f"{none}; a test that breaks proves nothing: {_names(broken or failed)}{doubt}"
        return f"{why}; {next((case.advice for case in failed if case.advice), ASSERT_FIRST)}"
    if committed is not None and (old := _of_person(failed, now, work, committed)):
        other = f"{name_some(before.differing(now))} is not as it was when the plan was complete"
        mend = "let a new test fail there, or put it back if the committed one is to pass"
        return f"{_names(old)} fails as it is committed, and {other}: {mend}"
    why = f"the tests that failed are neither new nor changed, nor the person's: {_names(by_assertion)}"
    return f"{why}{doubt}; write another test, or add an assertion to one of them"


def _more_than_fixtures(before: TestFiles, now: TestFiles, work: AgentWork) -> str:
    """Returns a sentence that names a `conftest.py` which an agent wrote and which does more than share fixtures; empty
    if there is none."""
    for path in before.differing(now):
        is_own = path in now.texts and work.touched(path)
        if is_own and PurePosixPath(path).name == "conftest.py" and (more := beyond_fixtures(now.texts[path])):
            named = ", ".join(more[:MOST_NAMED])
            return f"`{path}` may contain only fixtures, but has {named}; leave the rest to the person"
    return ""


def _of_person(
    failed: Sequence[TestCase],
    now: TestFiles,
    work: AgentWork,
    committed: Mapping[str, str] | None,
    *,
    takes_old: bool = True,
) -> list[TestCase]:
    """Returns the failed tests that the person wrote and hands over as the task: those not yet committed; else, if
    `takes_old`, those that failed by an assertion. Nobody may have meant a committed test to fail, because it can fail
    without a network or by chance.

    Tests that failed by an assertion come first, else those that broke in files that no agent changed, because no model
    made these break in order to open the gate. A test that broke with advice, such as for a missing module, does not
    count, because no code of the project may be able to repair it.
    """
    if work.doubt:
        return []
    ran = [case for case in failed if case.ending == "failed" and (case.by_assertion or not case.advice)]
    tests = [(case, name_test(case.id, case.file, now.texts)) for case in ran]
    theirs = [(case, test, files) for case, test in tests if (files := test.found_in(now.texts))]
    for change in work.changes:
        theirs = [(case, test, files) for case, test, files in theirs if not _brought(change, test, files, now)]
    asserted = [case for case, _, _ in theirs if case.by_assertion]
    # A hook that a model wrote in a test's file may break the test.
    untouched = [case for case, _, files in theirs if not any(change.path in files for change in work.changes)]
    if committed is None:
        return asserted or untouched
    new = {case.id for case, test, _ in theirs if test.is_new(committed, now.texts)}
    handed_over = [[case for case in cases if case.id in new] for cases in (asserted, untouched)]
    means_new = not takes_old or any(_is_unimported(case, now, committed) for case in failed)
    return handed_over[0] or handed_over[1] or ([] if means_new else asserted)


def _is_unimported(case: TestCase, now: TestFiles, committed: Mapping[str, str] | None) -> bool:
    """Returns whether the case is a whole file that broke before any of its tests ran, and that differs from the
    committed one: the person means this file, but its tests have not run.
    """
    path = case.id if case.id in now.texts else None
    is_other = committed is not None and path is not None and committed.get(path) != now.texts[path]
    return case.ending == "error" and is_other


def _brought(change: AgentChange, test: Named, files: frozenset[str], now: TestFiles) -> bool:
    """Returns whether a change brought in the test as it is now: the test exists after the change and not before it."""
    if change.path not in files:
        return False
    before, after = ({**now.texts, change.path: text} for text in (change.before, change.after))
    return test.is_new(before, now.texts) and not test.is_new(after, now.texts)


def prove_green(run: TestRun, red: Red, now: TestFiles) -> NotProven | None:
    """Judges a run in `validating`; returns None if it proves that the work is done."""
    if not run.whole:  # say this first: such a run may fail only because a part of the tests does not run all lines
        return NotProven(ONLY_ALL)
    if run.doubt:
        return NotProven(f"the run is not trusted: {run.doubt}")
    moved = red.locked.differing(now)
    if moved:
        why = f"test files are not as they were when they failed: {', '.join(moved[:MOST_NAMED])}"
        return NotProven(f"{why}; put them back as they were, or let the person start over: /explore, /strict")
    passed = _passed(run)
    if missing := sorted(red.proven - passed):
        return NotProven(f"these had to pass, but did not: {', '.join(missing[:MOST_NAMED])}")
    worse = [
        case for case in run.cases if case.ending in {"failed", "error", "unfinished"} and case.id not in red.failing
    ]
    if worse:
        return NotProven(f"these did not fail before: {_names(worse)}; {_MEND}")
    return _none_lost(red, run)


def failing_again(run: TestRun, red: Red | None) -> tuple[str, ...]:
    """Returns the tests of a run that fail although they passed before with the same files, so that the pass was by
    chance.
    """
    known = red.failing - red.proven if red else frozenset[str]()
    bad = [case for case in run.cases if case.ending in {"failed", "error"} and case.id not in known]
    return () if run.doubt else tuple(dict.fromkeys(case.id for case in bad))


def prove_passing(run: TestRun, *, of_all: bool = False) -> NotProven | None:
    """Judges a run before which no test had to fail; returns None if there are tests, and every one that ran passed.
    With `of_all` it has to be a run of all tests.
    """
    if of_all and not run.whole:
        return NotProven(ONLY_ALL)
    if run.doubt:
        return NotProven(f"the run is not trusted: {run.doubt}")
    if not run.cases and not run.untold:
        return NotProven("no test ran")
    bad = [case for case in run.cases if case.ending in {"failed", "error", "unfinished"}]
    return NotProven(f"these did not pass: {_names(bad)}") if bad else _all_told(run)


def _all_told(run: TestRun) -> NotProven | None:
    if run.untold:
        return NotProven(f"the runner did not report how {run.untold} tests ended")
    return NotProven(run.unmet) if run.unmet else None


def _passed(run: TestRun) -> set[str]:
    """Returns the ids of the tests that passed; an id that several tests have only if all of them passed."""
    endings: dict[str, set[Ending]] = {}
    for case in run.cases:
        endings.setdefault(case.id, set()).add(case.ending)
    return {test for test, found in endings.items() if found == {"passed"}}


def _none_lost(red: Red, run: TestRun) -> NotProven | None:
    """Judges the tests that passed when others failed: none may be skipped or gone while the locked files have it.

    For a test with parameters it is enough that one passes, because the code may decide which parameters there are.
    """
    now, texts = {whole_of(test) for test in _passed(run)}, red.locked.texts
    gone = sorted(test for test in red.passing if whole_of(test) not in now)
    lost = [test for test in gone if name_test(test, None, texts).is_there(texts)]
    return NotProven(f"these passed before, but do not now: {name_some(lost)}") if lost else _all_told(run)


def _names(cases: Iterable[TestCase]) -> str:
    return name_some([case.id for case in cases])


def _ids(cases: Iterable[TestCase]) -> frozenset[str]:
    return frozenset(case.id for case in cases)


def name_some(names: Sequence[str]) -> str:
    """Returns the names as a phrase; of many only the first few, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


_HOOK = "pytest_"
_REACHES = frozenset({"globals", "locals", "vars", "setattr", "exec", "eval", "compile", "__import__"})
"""Calls by which a module can define names that its text does not show."""


def beyond_fixtures(text: str) -> tuple[str, ...]:
    """Returns the names by which a `conftest.py` may do more than share fixtures; none if it does not."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ("what cannot be read as Python",)
    return tuple(dict.fromkeys(name for node in ast.walk(tree) for name in _named(node)))


def _named(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            found = [name]
        case ast.Name(id=name, ctx=ast.Store()):
            found = [name]
        case ast.ImportFrom(names=names):
            found = [alias.asname or alias.name for alias in names]
        case ast.Import(names=names):
            found = [alias.asname for alias in names if alias.asname]
        case ast.Constant(value=str(text)) if text.strip().startswith(_HOOK):
            found = [text.strip()]
        case ast.Attribute(attr="pluginmanager"):
            yield "pluginmanager"
            return
        case ast.Call(func=ast.Name(id=name)) if name in _REACHES:
            yield name
            return
        case _:
            return
    yield from (name for name in found if name.startswith(_HOOK) or name == "*")
