"""Runs unittest inside the sandbox and writes each test's result as JSON. Takes the names of two files, of the report
and, if it is wanted, of coverage; a file or folder or nothing; a part of the tests' names or nothing.

Nothing of Remit is there, so this imports the standard library only, and works with any Python 3.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
import traceback
import unittest
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any


class Recorder(unittest.TestResult):
    """Notes how each test ended."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, dict[str, Any]] = {}
        self.began = 0.0

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.began = time.monotonic()

    def note(self, test: unittest.TestCase, ending: str, kind: str | None = None, error: Any = None) -> None:
        """The first thing that went wrong with a test is what counts."""
        text = "".join(traceback.format_exception(*error)) if error else ""
        known = self.found.get(test.id())
        if known is None or known["ending"] == "passed":
            seconds = round(time.monotonic() - self.began, 6) if self.began else None
            self.found[test.id()] = {"id": test.id(), "ending": ending, "seconds": seconds, "kind": kind, "text": text}

    def addSuccess(self, test: unittest.TestCase) -> None:
        self.note(test, "passed")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self.note(test, "skipped")

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:
        self.note(test, "passed")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        super().addUnexpectedSuccess(test)
        self.note(test, "failed", "assertion")

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        super().addFailure(test, err)
        self.note(test, "failed", "assertion", err)

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        super().addError(test, err)
        started = hasattr(test, "_testMethodName") and type(test).__name__ != "_FailedTest"
        self.note(test, "failed" if started else "error", "error", err)

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.note(subtest, "failed", "assertion" if issubclass(err[0], test.failureException) else "error", err)


def suite_of(path: str, part: str) -> unittest.TestSuite:
    """What unittest finds there; without a path, at the top and in a folder of tests, each test once."""
    if path and Path(path).is_file():
        places = [(str(Path(path).parent), Path(path).name)]
    elif path:
        places = [(path, "test*.py")]
    else:
        places = [(folder, "test*.py") for folder in (".", "tests", "test") if Path(folder).is_dir()]
    suite = unittest.TestSuite()
    seen: set[str] = set()
    for folder, pattern in places:
        package = Path(folder, "__init__.py").is_file()
        if package and (folder != "." and not path):
            continue  # found from the top already
        sys.path.insert(0, str(Path(folder).resolve()))
        loader = unittest.TestLoader()
        loader.testNamePatterns = ["*" + part + "*"] if part else None
        found = loader.discover(folder, pattern, "." if package else folder)
        suite.addTests(test for test in flat(found) if test.id() not in seen)
        seen |= {test.id() for test in flat(found)}
    return suite


def flat(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    """Its tests, one by one."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


def main(report: str, coverage_report: str, path: str, part: str) -> int:
    """The exit code: 0 where every test passed and there was one."""
    sys.path.insert(0, str(Path.cwd()))
    measured: Any = None
    coverage: Any = importlib.import_module("coverage") if coverage_report else None
    if coverage:
        measured = coverage.Coverage(data_file=None, source=["."])
        measured.start()
    recorder = Recorder()
    try:
        with suppress(KeyboardInterrupt):
            unittest.TestSuite(suite_of(path, part)).run(recorder)
    finally:
        if measured:
            measured.stop()
            with suppress(coverage.exceptions.NoDataError):
                measured.json_report(outfile=coverage_report)
        with Path(report).open("w") as file:
            json.dump(list(recorder.found.values()), file)
    return 0 if recorder.wasSuccessful() and recorder.found else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
