"""A pytest plugin that runs inside the sandbox and writes each test's result as a line of JSON as soon as it is known.

So the report of a run that is stopped still says which tests finished and which did not. Of Remit only the files beside
this one are in the sandbox, so this module imports only them, the standard library and pytest, and works with any
Python 3.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

import pytest

if os.environ.get("REMIT_LOOK_HERE"):  # like `python -m pytest`, but last, so that no module here shadows another
    sys.path.append(str(Path.cwd()))
JUDGES = (
    *(
        "unittest.case",
        "pluggy._callers",
        "pluggy._hooks",
        "pluggy._manager",
        "inside_pytest",
        "report_channel",
        "coverage_lines",
        "intact",
        "held",
        "origins",
        "unittest.mock",
    ),
    *(
        "_pytest.python",
        "_pytest.runner",
        "_pytest.unittest",
        "_pytest.reports",
        "_pytest.outcomes",
        "_pytest.skipping",
    ),
    *("_pytest.assertion", "_pytest.assertion.rewrite"),
    # The modules of these functions depend on pytest's version.
    *dict.fromkeys(each.__module__ for each in (pytest.approx, pytest.raises, pytest.warns)),
)
"""Modules whose code decides how a test ends."""
SAYS_HOW = (
    "pytest_runtest_",
    "pytest_pyfunc_call",
    "pytest_report_",
    "pytest_collection_modifyitems",
    "pytest_itemcoll",
)
"""Prefixes of the hooks by which a plugin can change how tests end, or which tests there are."""
intact = importlib.import_module("intact")
held = importlib.import_module("held")
origins = importlib.import_module("origins")
coverage_lines = importlib.import_module("coverage_lines")
rewriting = importlib.import_module("_pytest.assertion.rewrite")
report_channel = importlib.import_module("report_channel")
_write: Callable[[dict[str, Any]], None] | None = report_channel.open_channel()


def pytest_addoption(parser: Any) -> None:
    """Adds pytest-cov's options where it is not installed, so that the tests run without coverage instead of
    failing."""
    if importlib.util.find_spec("pytest_cov") is None:
        parser.addoption("--cov", action="append")
        parser.addoption("--cov-report", action="append")


def pytest_configure(config: Any) -> None:
    """Registers the recorder, only in the controlling process if tests run in several, because it hears of all tests. A
    file that cannot be imported does not keep the others from running, as with every other runner.
    """
    config.option.continue_on_collection_errors = True
    if _write is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(config), "remit-recorder")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Generator[None, Any, None]:
    """Notes whether an assertion failed, because only this hook has the exception."""
    outcome = yield
    del item
    failed = call.excinfo is not None and call.excinfo.errisinstance((AssertionError, pytest.fail.Exception))
    outcome.get_result().remit_kind = "assertion" if failed and call.when == "call" else "error"


class Recorder:
    """Writes a line to the report for each event."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self.seconds: dict[str, float] = {}
        self.skipped: set[str] = set()
        self.collecting: set[str] = set()
        self.broken = 0
        self.changed: Callable[[], str] = str
        self.traced: Callable[[], str] = str
        self.forked: Callable[[], bool] = bool
        self.other_process: Callable[[], bool] = bool
        self.codes: dict[str, Any] = {}
        self.behind: dict[str, Any] = {}
        self.held: Any = None
        self.running = ""
        self.plugins: list[Any] = []
        self.names: dict[str, str] = {}

    def tell(self, event: str, nodeid: str, **more: Any) -> None:
        """Writes one line to the report at once."""
        assert _write is not None
        _write({"event": event, "id": nodeid and self.named(nodeid), **more})

    def named(self, nodeid: str) -> str:
        """Returns a node id with its path relative to the folder where pytest runs. pytest gives the path relative to
        its root, which may be above.

        The paths are computed before tests run, because tests may patch the functions that compute them.
        """
        path, sign, test = nodeid.partition("::")
        if path not in self.names:
            root, here = str(self.config.rootpath), str(self.config.invocation_params.dir)
            self.names[path] = os.path.relpath(str(Path(root, path)), here)
        return self.names[path] + sign + test

    def place(self, location: Any) -> dict[str, Any]:
        """Returns the file and line of a location."""
        return {"file": self.named(location[0]), "line": None if location[1] is None else location[1] + 1}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Starts to watch the judging code. At this point all plugins are loaded, but no test is."""
        intact.refuse_stops(self.look)
        self.changed = intact.watch(JUDGES)
        self.traced = intact.hear_of_traces()
        self.other_process = intact.hear_of_forks()
        self.plugins = list(self.config.pluginmanager.get_plugins())

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: Any) -> Generator[None, Any, None]:
        """Watches for forks from here on, because a runner may itself fork for each test before it is set up."""
        self.forked = intact.hear_of_forks()
        yield
        del item

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: Any) -> Generator[None, Any, None]:
        """Compares the test's function with the one that was found, now that everything is set up."""
        self.running = item.nodeid
        self.compare(item.nodeid, getattr(item, "obj", None))
        yield
        self.running = ""

    def look(self, case: Any) -> None:
        """Reports if a TestCase now runs, or ran, another test than was found, or got assertions of its own."""
        if self.held is not None:
            self.tell_others(self.held.overridden(case))
            self.compare(self.running, getattr(case, getattr(case, "_testMethodName", ""), None))

    def compare(self, nodeid: str, function: Any) -> None:
        """Reports a doubt if the function that runs as a test lacks code that it had when it was found."""
        now = [*map(id, held.codes_behind(function))]
        if any(id(code) not in now for code in self.behind.get(nodeid, ())):
            self.tell("doubt", "", text=f"the code of `{nodeid}` was replaced while tests ran")

    def tell_others(self, others: Iterable[Any]) -> None:
        """Reports code that stands in for something that tests check with."""
        for other in others:
            self.tell("from", other.name, file=other.file, of=other.of)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: Any) -> Generator[None, Any, None]:
        """Reports a doubt if the test's code or pytest's own code was replaced, or if code set a trace function or
        forked."""
        yield
        moved = item.nodeid in self.codes and intact.code_of(function_of(item)) is not self.codes[item.nodeid]
        other = self.changed() or (item.nodeid if moved else "")
        if other:
            self.tell("doubt", "", text=f"the code of `{other}` was replaced while tests ran")
        if self.traced():
            self.tell("doubt", "", text=f"code of `{self.traced()}` set a trace function while tests ran")
        if self.forked():
            self.tell("doubt", "", text=intact.FORKED)

    def pytest_sessionfinish(self) -> None:
        """Reports plugins that the tests brought and that may have changed how tests ended. A `conftest.py` is the
        project's own and may have such hooks, if its text shows them to a reader.
        """
        if self.other_process():
            self.tell("doubt", "", text=intact.FORKED)
        if self.held is not None:
            self.tell_others(self.held.replaced())
            self.tell_others(self.held.lent())
        manager = self.config.pluginmanager
        measured = getattr(getattr(manager.getplugin("_cov"), "cov_controller", None), "cov", None)
        if measured is not None and _write is not None:
            coverage_lines.tell(_write, measured)
        for plugin in manager.get_plugins():
            callers: list[Any] = manager.get_hookcallers(plugin) or []
            hooks: list[str] = [caller.name for caller in callers]
            file = Path(str(getattr(plugin, "__file__", "")))
            is_own = file.name == "conftest.py"
            if is_own and (hidden := [hook for hook in hooks if says_how(hook) and not is_shown(hook, file)]):
                self.tell("doubt", "", text=f"`{file.name}` has a hook that its text does not show: `{hidden[0]}`")
            if not is_own and not any(plugin is known for known in self.plugins) and any(map(says_how, hooks)):
                self.tell("doubt", "", text=f"the tests brought a plugin: `{manager.get_name(plugin)}`")

    def pytest_collection_finish(self, session: Any) -> None:
        self.codes = {item.nodeid: intact.code_of(function_of(item)) for item in session.items}
        self.behind = {item.nodeid: held.codes_behind(function_of(item)) for item in session.items}
        self.held = held.Held(item.module.__name__ for item in session.items if hasattr(item, "module"))
        self.tell_others(self.held.stand_ins())
        self.tell_others(self.held.lent())
        known = origins.Origins(self.rewrite)
        for item in session.items:
            self.named(item.nodeid)
            self.place(item.location)
            self.tell_origin(item, known)
        for nodeid in self.collecting:  # pytest reports no end of a file from which one test was named
            self.tell("drop", nodeid)
        if session.items:
            self.tell("plan", "", count=self.broken + len({item.nodeid for item in session.items}))

    def rewrite(self, tree: ast.Module, source: bytes, file: str) -> None:
        """Rewrites assertions in `tree`, as pytest does before it loads a test file."""
        try:
            rewriting.rewrite_asserts(tree, source, file, self.config)
        except TypeError:  # before pytest 5
            rewriting.rewrite_asserts(tree, file, self.config)

    def tell_origin(self, item: Any, known: Any) -> None:
        """Reports a test that comes from another file than its own, or whose code no file contains."""
        function = function_of(item)
        if function is None:
            return
        names = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
        names.append(getattr(item, "originalname", None) or item.name.partition("[")[0])
        path = str(getattr(item, "path", None) or item.fspath)
        is_said, file = known.judge(path, names, function)
        if not is_said:
            self.tell("doubt", "", text=f"`{self.named(item.nodeid)}` is not what its file says, but other code")
        elif file:
            self.tell("from", item.nodeid, file=file)

    def pytest_collectstart(self, collector: Any) -> None:
        if collector.nodeid.endswith(".py"):
            self.collecting.add(collector.nodeid)
            self.tell("start", collector.nodeid, file=self.named(collector.nodeid))

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.broken += 1
            file = self.named(report.nodeid.partition("::")[0])
            self.tell("end", report.nodeid, ending="error", kind="error", file=file, text=report.longreprtext)
        elif report.nodeid.endswith(".py"):
            self.tell("drop", report.nodeid)

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        self.tell("start", nodeid, **self.place(location))

    def pytest_runtest_logreport(self, report: Any) -> None:
        seconds = self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        known = {"seconds": round(seconds, 6), **self.place(report.location)}
        if report.failed:
            ending = "failed" if report.when == "call" else "error"
            kind = getattr(report, "remit_kind", "error")  # an unexpected pass fails without an assertion
            self.tell("end", report.nodeid, ending=ending, kind=kind, text=report.longreprtext, **known)
        elif report.skipped:
            self.skipped.add(report.nodeid)
        if report.when == "teardown":
            # A test that failed earlier stays failed, because the server lets no later end replace a failure.
            ending = "skipped" if report.nodeid in self.skipped else "passed"
            self.tell("end", report.nodeid, ending=ending, **known)


def function_of(item: Any) -> Any:
    """Returns a test's own function, or None if it has none."""
    return getattr(item, "function", None)


def says_how(hook: str) -> bool:
    """Returns whether a plugin can change by this hook how tests end, or which tests there are."""
    return hook.startswith(SAYS_HOW)


def is_shown(hook: str, file: Path) -> bool:
    """Returns whether the file's text defines, assigns or imports this name, or imports all names of another module."""
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return False
    return any({hook, "*"} & names_of(node) for node in nodes)


def names_of(node: ast.AST) -> set[str]:
    """Returns the names that a node of the syntax tree defines."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return {node.id}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name for alias in node.names}
    return set()
