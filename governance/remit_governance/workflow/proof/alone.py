"""What proves tests that are written alone, of code that is there, and what a commit of them may hold (FLW-16).

They pass at once, so that no failing run shows what they are worth. So nothing that was there may be another: they are
new files, each with a test in it that passed, or data of such a one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from remit_governance.workflow.proof.pieces import Named, name_test
from remit_governance.workflow.proof.runs import NotProven, Red, TestFiles, TestRun, name_some, prove_passing


def failing_as_committed(run: TestRun, now: TestFiles, committed: Mapping[str, str] | None) -> tuple[str, ...]:
    """Returns the tests that fail and are as the last commit has them, if no other test fails; else none.

    `committed` are the test files as that commit has them, None where nobody knows.
    """
    failed = [case for case in run.cases if case.ending in {"failed", "error"}]
    names = [name_test(case.id, case.file, now.texts) for case in failed]
    if committed is None or not all(is_as_committed(test, now, committed) for test in names):
        return ()
    return tuple(sorted({case.id for case in failed}))


def is_as_committed(test: Named, now: TestFiles, committed: Mapping[str, str]) -> bool:
    """Tells whether the last commit has the test, and has it as it is now."""
    return (test.is_there(committed) or test.is_made(committed)) and not test.is_new(committed, now.texts)


def proven_as_committed(red: Red, committed: Mapping[str, str] | None) -> tuple[str, ...]:
    """Returns the tests that a failing run proved where the last commit has each of them as it was then; else none."""
    tests = [name_test(test, None, red.locked.texts) for test in red.proven]
    if committed is None or not all(is_as_committed(test, red.locked, committed) for test in tests):
        return ()
    return tuple(sorted(red.proven))


def prove_alone(run: TestRun, before: TestFiles, now: TestFiles, failing: Collection[str] = ()) -> NotProven | None:
    """Judges a run in `test_writing` in which no test failed but those `failing` as they were committed; None where it
    is of tests alone, as they have to be.

    `before` are the test files when the plan was complete.
    """
    run = replace(run, cases=tuple(case for case in run.cases if case.id not in failing))
    if unproven := prove_passing(run, of_all=True):
        return unproven
    touched = [path for path in before.differing(now) if path in before.texts]
    if touched:
        why = f"{name_some(touched)} is not as it was when the plan was complete"
        return NotProven(f"{why}: put it back, and write the new tests into new files")
    new = {path: text for path, text in now.texts.items() if path not in before.texts}
    if not new:
        return NotProven("no new file of tests was written")
    tested = _tested(run, now, new)
    other = sorted(path for path, text in new.items() if path not in tested and not _is_data(path, text, tested))
    if not tested or other:
        why = f"no test in {name_some(other or sorted(new))} passed when all tests ran"
        return NotProven(f"{why}: remove it, and write what is needed into a file of tests that this run finds")
    return None


def _tested(run: TestRun, now: TestFiles, new: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the new files that have a test which passed."""
    found: set[str] = set()
    for case in run.cases:
        if case.ending == "passed" and not found >= new.keys():
            test = name_test(case.id, case.file, now.texts)
            found |= test.found_in(now.texts) or (set(test.files) if len(test.files) == 1 else set[str]())
    return {path: text for path, text in new.items() if path in found}


def _is_data(path: str, text: str, tested: Mapping[str, str]) -> bool:
    """Tells whether a file is one that tests read: named in one of them, or after it, and no file of code as they are;
    an empty one, which makes a package of a folder, is nobody's code.
    """
    file = PurePosixPath(path)
    is_named = any(_names(file, test, text) for test, text in tested.items())
    return not text.strip() or (is_named and file.suffix not in {PurePosixPath(test).suffix for test in tested})


def _names(file: PurePosixPath, test: str, text: str) -> bool:
    """Tells whether a test names the file, also without its suffix where that is a whole text."""
    is_quoted = any(f"{sign}{file.stem}{sign}" in text for sign in "\"'`")
    return is_quoted or file.name in text or file.name.startswith(PurePosixPath(test).name)
