"""Judges tests that are written alone, for code that exists already (FLW-16).

Such tests pass at once, so no failing run shows what they are worth. So no existing test file may be changed: they have
to be new files, each with a test in it that passed, or with data of such a test.

Also finds test files that a run wrote itself, because then other tests may have run than those that exist (FLW-04).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from remit_governance.workflow.proof.pieces import Named, name_test
from remit_governance.workflow.proof.runs import (
    MOST_NAMED,
    NotProven,
    Red,
    TestFiles,
    TestRun,
    name_some,
    prove_passing,
)
from remit_governance.workflow.test_files import is_locked_file


def failing_as_committed(run: TestRun, now: TestFiles, committed: Mapping[str, str] | None) -> tuple[str, ...]:
    """Returns the tests that fail and are as the last commit has them, if no other test fails; else none.

    `committed` are the test files as that commit has them, or None if that is not known.
    """
    failed = [case for case in run.cases if case.ending in {"failed", "error"}]
    names = [name_test(case.id, case.file, now.texts) for case in failed]
    if committed is None or not all(is_as_committed(test, now, committed) for test in names):
        return ()
    return tuple(sorted({case.id for case in failed}))


def is_as_committed(test: Named, now: TestFiles, committed: Mapping[str, str]) -> bool:
    """Returns whether the last commit has the test as it is now."""
    return (test.is_there(committed) or test.is_made(committed)) and not test.is_new(committed, now.texts)


def proven_as_committed(red: Red, committed: Mapping[str, str] | None) -> tuple[str, ...]:
    """Returns the tests that a failing run proved, if the last commit has each of them as it was then; else none."""
    tests = [name_test(test, None, red.locked.texts) for test in red.proven]
    if committed is None or not all(is_as_committed(test, red.locked, committed) for test in tests):
        return ()
    return tuple(sorted(red.proven))


def prove_alone(run: TestRun, before: TestFiles, now: TestFiles, failing: Collection[str] = ()) -> NotProven | None:
    """Judges a run in `test_writing`; returns None if it proves tests alone: only new test files were written, and no
    test failed except those `failing` as they were committed.

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
        return NotProven("no new test file was written")
    tested = _tested(run, now, new)
    other = sorted(path for path, text in new.items() if path not in tested and not _is_data(path, text, tested))
    if not tested or other:
        why = f"no test in {name_some(other or sorted(new))} passed when all tests ran"
        return NotProven(f"{why}: remove it, and write what is needed into a test file that this run finds")
    return None


def _tested(run: TestRun, now: TestFiles, new: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the new files in which a test passed."""
    found: set[str] = set()
    for case in run.cases:
        if case.ending == "passed" and not found >= new.keys():
            test = name_test(case.id, case.file, now.texts)
            found |= test.found_in(now.texts) or (set(test.files) if len(test.files) == 1 else set[str]())
    return {path: text for path, text in new.items() if path in found}


def _is_data(path: str, text: str, tested: Mapping[str, str]) -> bool:
    """Returns whether a file is data of tests: a test file names it, or its name begins with a test file's name, and it
    has another suffix than the test files. An empty file, which may make a folder a package, counts too.
    """
    file = PurePosixPath(path)
    is_named = any(_names(file, test, text) for test, text in tested.items())
    return not text.strip() or (is_named and file.suffix not in {PurePosixPath(test).suffix for test in tested})


def _names(file: PurePosixPath, test: str, text: str) -> bool:
    """Returns whether a test file names the file, also in quotes without its suffix, or the file is named after it."""
    is_quoted = any(f"{sign}{file.stem}{sign}" in text for sign in "\"'`")
    return is_quoted or file.name in text or file.name.startswith(PurePosixPath(test).name)


_PROGRAMS = re.compile(r"\.(?:py|py[co]|pth|[cm]?jsx?|[cm]?tsx?|go|rs|sh)$")
_COMPILED = re.compile(r"^(?P<stem>[^.]+)(?:\.[^/]*)?\.py[co]$")


def tests_written(
    written: Collection[str], before: TestFiles, is_locked: Callable[[str], bool], ignored: Collection[str]
) -> tuple[str, ...]:
    """Returns the paths written by a run that can have changed its tests from those `before`: test files, configuration
    of runs, and bytecode of these.

    New files that version control ignores are allowed, because a run may write results there, except for a
    `conftest.py` and bytecode.
    """
    return tuple(sorted(path for path in written if _is_test(path, before, is_locked, ignored)))


def describe_written(paths: Sequence[str], before: TestFiles) -> str:
    """Returns a sentence that says which forbidden files a run wrote; if they are data, also how to allow a test of the
    project to write them."""
    said = f"it wrote test files while it ran, which is not allowed, even if it puts them back: {name_some(paths)}"
    if any(_PROGRAMS.search(path) or is_locked_file(PurePosixPath(path).name) for path in paths):
        return said
    named = ", ".join(f'"{path}"' for path in paths[:MOST_NAMED])
    except_them = f"the person can name them in their policy file (`tdd_tests: {{except: [{named}]}}`)"
    new = [path for path in paths if path not in before.texts]
    ignore = f", or let git ignore the new files ({name_some(new)})" if new else ""
    return f"{said}; if a test of the project does so, {except_them}{ignore}"


def _is_test(path: str, before: TestFiles, is_locked: Callable[[str], bool], ignored: Collection[str]) -> bool:
    if (source := _source_of(path)) is not None:
        return is_locked(source)
    if any(known == path or known.startswith(f"{path}/") for known in before.texts):
        return True
    return is_locked(path) and (path not in ignored or PurePosixPath(path).name == "conftest.py")


def _source_of(path: str) -> str | None:
    """Returns the path of the source that a bytecode file was compiled from, or None if the file is no bytecode."""
    here = PurePosixPath(path)
    found = _COMPILED.match(here.name)
    if found is None:
        return None
    folder = here.parent.parent if here.parent.name == "__pycache__" else here.parent
    return str(folder / f"{found['stem']}.py")
