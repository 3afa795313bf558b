"""Runs unittest inside the sandbox and writes each test's result as a line of JSON as soon as it is known.

Takes four arguments, each of which may be empty: a word if coverage is wanted; files or folders, one a line; a part of
the tests' names; and one test's id. Of Remit only the files beside this one are in the sandbox, so this module imports
only them and the standard library, and works with any Python 3.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import traceback
import unittest
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

JUDGES = (
    "unittest.case",
    "unittest.result",
    "unittest.suite",
    "__main__",
    "report_channel",
    "coverage_lines",
    "intact",
    "held",
    "origins",
    "unittest.mock",
)
"""Modules whose code decides how a test ends."""
intact = importlib.import_module("intact")
held = importlib.import_module("held")
origins = importlib.import_module("origins")
report_channel = importlib.import_module("report_channel")
# Bound now, because tests may patch `os.name`, and with it how paths work.
HERE = Path.cwd()
PATHS = "".join(sys.argv[2:3]).split("\n")
PLACES = tuple(HERE / place for name in PATHS for place in (".", "tests", "test", name, Path(name).parent))
"""The folders in which a module of tests is looked for."""


class Recorder(unittest.TestResult):
    """Notes how each test ended, and writes it to the report."""

    def __init__(self, write: Callable[[dict[str, Any]], None]) -> None:
        super().__init__()
        self.write = write
        self.began: dict[str, float] = {}
        self.places: dict[str, dict[str, Any]] = {}
        self.codes: dict[str, Any] = {}
        self.behind: dict[str, Any] = {}
        self.held: Any = None
        intact.refuse_stops(self.look)
        self.changed = intact.watch(JUDGES)
        self.traced = intact.hear_of_traces()
        self.forked = intact.hear_of_forks()
        self.noted: set[str] = set()

    def tell(self, event: str, test_id: str, **more: Any) -> None:
        """Writes one line to the report at once."""
        self.write({"event": event, "id": test_id, **more})

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.began[test.id()] = monotonic()
        self.tell("start", test.id(), **self.place(test))

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        self.check(test)
        if sys.exc_info()[0] is None:  # otherwise the run was interrupted
            self.tell("drop", test.id())

    def plan(self, tests: list[unittest.TestCase]) -> None:
        """Reports how many tests will run, and notes the code of each, which another test could replace."""
        self.codes = {test.id(): code_of(test) for test in tests}
        known = origins.Origins()
        self.behind = {test.id(): held.codes_behind(method_of(test)) for test in tests}
        self.held = held.Held(type(test).__module__ for test in tests)
        for test in tests:
            self.tell_origin(test, known)
            deque(self.held.overridden(test), 0)
        self.tell_others(self.held.stand_ins())
        self.tell_others(self.held.lent())
        self.tell("plan", "", count=len(tests))

    def tell_origin(self, test: unittest.TestCase, known: Any) -> None:
        """Reports a test that comes from another file than its own, or whose code no file contains."""
        method = getattr(test, "_testMethodName", "")
        function = method_of(test)
        file = file_of(type(test).__module__)
        if function is None or not file:
            return
        is_said, other = known.judge(file, [*type(test).__qualname__.split("."), method], function)
        if not is_said:
            self.tell("doubt", "", text=f"`{test.id()}` is not what its file says, but other code")
        elif other:
            self.tell("from", test.id(), file=other)

    def tell_others(self, others: Iterable[Any]) -> None:
        """Reports code that stands in for something that tests check with."""
        for other in others:
            self.tell("from", other.name, file=other.file, of=other.of)

    def look(self, test: unittest.TestCase) -> None:
        """Reports if a part of a test now runs, or ran, other code than was found, or got assertions of its own."""
        if self.held is None:
            return
        self.tell_others(self.held.overridden(test))
        now = [*map(id, held.codes_behind(method_of(test)))]
        if any(id(code) not in now for code in self.behind.get(test.id(), ())):
            self.tell("doubt", "", text=f"the code of `{test.id()}` was replaced while tests ran")

    def check(self, test: unittest.TestCase) -> None:
        """Reports a doubt if the test's code or unittest's own code was replaced, or if code set a trace function or
        forked."""
        other = self.changed() or (test.id() if self.codes.get(test.id()) is not code_of(test) else "")
        if other:
            self.tell("doubt", "", text=f"the code of `{other}` was replaced while tests ran")
        if self.traced():
            self.tell("doubt", "", text=f"code of `{self.traced()}` set a trace function while tests ran")
        if self.forked():
            self.tell("doubt", "", text=intact.FORKED)

    def note(self, test: unittest.TestCase, ending: str, kind: str | None = None, text: str = "") -> None:
        """Reports how a test ended. The server counts the first thing that went wrong with a test."""
        began = self.began.get(test.id())
        seconds = None if began is None else round(monotonic() - began, 6)
        self.noted.add(test.id())
        self.tell("end", test.id(), ending=ending, seconds=seconds, kind=kind, text=text, **self.place(test))

    def place(self, test: unittest.TestCase) -> dict[str, Any]:
        """Returns the file and line. They are found before the test runs, because it may patch the functions that find
        them."""
        test_id = intact.case_of(test).id()
        if test_id not in self.places:
            self.places[test_id] = place(test)
        return self.places[test_id]

    def addSuccess(self, test: unittest.TestCase) -> None:
        self.note(test, "passed")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self.note(test, "skipped")

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:
        self.note(test, "passed")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        super().addUnexpectedSuccess(test)
        self.note(test, "failed", "error", "it passed, though it is said to fail")

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        super().addFailure(test, err)
        self.note(test, "failed", "assertion", format_error(err))

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        super().addError(test, err)
        started = hasattr(test, "_testMethodName") and type(test).__name__ != "_FailedTest"
        self.note(test, "failed" if started else "error", "error", format_error(err))

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            kind = "assertion" if issubclass(err[0], test.failureException) else "error"
            self.note(subtest, "failed", kind, format_error(err))


def method_of(test: unittest.TestCase) -> Any:
    """Returns the function that runs as the test; an attribute of the case itself takes precedence over one of its
    class."""
    return getattr(test, getattr(test, "_testMethodName", ""), None)


def code_of(test: unittest.TestCase) -> Any:
    """Returns the code of a test's own method."""
    return intact.code_of(getattr(type(test), getattr(test, "_testMethodName", ""), None))


def file_of(module: str) -> str:
    """Returns the file of a module of tests, found by the module's name alone; empty if it is not in `PLACES`."""
    below = module.replace(".", "/") + ".py"
    return next((str(folder / below) for folder in PLACES if (folder / below).is_file()), "")


def format_error(err: Any) -> str:
    """Returns an exception with its traceback."""
    return "".join(traceback.format_exception(*err))


def place(test: unittest.TestCase) -> dict[str, Any]:
    """Returns a test's file, relative to the folder where the run began, and its line; empty for a file elsewhere."""
    case = intact.case_of(test)
    method = inspect.unwrap(getattr(case, getattr(case, "_testMethodName", ""), place))
    try:
        file = Path(inspect.getfile(method))
        line = inspect.getsourcelines(method)[1]
    except (OSError, TypeError):
        return {}
    return {"file": str(file.relative_to(HERE)), "line": line} if HERE in file.parents else {}


def suite_of(path: str, part: str) -> unittest.TestSuite:
    """Returns the tests that unittest finds at `path`, which holds one path a line; without a path, at the top and in
    folders of tests. Each test is found once."""
    if path:
        paths = [Path(each) for each in path.split("\n")]
        places = [(str(each.parent), each.name) if each.is_file() else (str(each), "test*.py") for each in paths]
    else:
        places = [(folder, "test*.py") for folder in (".", "tests", "test") if Path(folder).is_dir()]
    suite = unittest.TestSuite()
    seen: set[str] = set()
    for folder, pattern in places:
        package = Path(folder, "__init__.py").is_file()
        if package and (folder != "." and not path):
            continue  # already found from the top
        sys.path.insert(0, str(Path(folder).resolve()))
        loader = unittest.TestLoader()
        loader.testNamePatterns = ["*" + part + "*"] if part else None
        found = loader.discover(folder, pattern, "." if package else folder)
        suite.addTests(test for test in flat(found) if test.id() not in seen)
        seen |= {test.id() for test in flat(found)}
    return suite


def flat(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    """Yields the tests of a suite, one by one."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


def is_wanted(test_id: str, only: str) -> bool:
    """Returns whether a test is the one named `only`, by its whole id or by the end of its id."""
    return not only or test_id == only or test_id.endswith("." + only)


def main(covered: str, path: str, part: str, only: str) -> int:
    """Returns the exit code: 0 if at least one test ran and none failed."""
    write: Callable[[dict[str, Any]], None] = report_channel.open_channel()
    sys.path.insert(0, str(HERE))
    coverage_lines = importlib.import_module("coverage_lines")
    measured: Any = None
    if covered and importlib.util.find_spec("coverage"):
        measured = importlib.import_module("coverage").Coverage(data_file=None, source=["."])
        measured.start()
    recorder = Recorder(write)
    try:
        with suppress(KeyboardInterrupt):
            tests = [test for test in flat(suite_of(path, part)) if is_wanted(test.id(), only)]
            recorder.plan(tests)
            unittest.TestSuite(tests).run(recorder)
            recorder.tell_others(recorder.held.replaced())
            recorder.tell_others(recorder.held.lent())
            recorder.tell("plan", "")  # the run is complete, though tests of a skipped class never start
    finally:
        if measured:
            measured.stop()
            coverage_lines.tell(write, measured)
    return 0 if recorder.wasSuccessful() and recorder.noted else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
