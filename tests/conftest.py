"""What all tests share: what a missing program means (CONTRIBUTING.md), and the mark of tests that need the local model."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import signal
import threading
from collections.abc import AsyncIterator, Callable, Generator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import pytest
from affected import ROOT, changed_files, nearness
from durations import note_durations, read_durations
from hypothesis import settings

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

# No test reads or writes the keyring of the person who runs it.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"

# Every program that a test starts inherits ignored signals. In the background or under `nohup` these two are ignored,
# but the programs have to react to Ctrl-C and to a closed terminal.
if threading.current_thread() is threading.main_thread():
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)

# CI uses the same examples each time, because it judges the change; a person's run looks for new ones. Neither has a
# deadline, because the time of an example depends on the machine.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", derandomize=True, deadline=None)
# `make test-quick` tries fewer examples, other ones each time; CI tries all.
settings.register_profile("quick", max_examples=20, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "here")

REQUIRE = "REMIT_REQUIRE_E2E"
MISSING = ("there is no ", "needs ")
"""How the reason of a skip begins if something is not installed. Other skips, for what this system or user cannot do,
are allowed everywhere."""


SLOW_MODULE = re.compile(r"^pytestmark = .*\bmark\.slow\b", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--near", metavar="COMMIT", help="only files of tests that what has changed since then touches")


@cache
def near_files(commit: str) -> frozenset[Path]:
    """Returns the files that have changed, and those that import a changed module directly."""
    return frozenset(path for path, rank in nearness(changed_files(commit)).items() if rank < 2)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skips a module without importing it: one of slow tests alone if they are left out, because with them it takes
    twice as long until the first test runs; and one that is not near if only near ones are wanted."""
    if not collection_path.name.startswith("test_") or collection_path.suffix != ".py":
        return None
    if (commit := config.getoption("--near")) and collection_path not in near_files(commit):
        return True
    left_out = "not slow" in config.option.markexpr
    return True if left_out and SLOW_MODULE.search(collection_path.read_text("utf-8")) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keeps the garbage collector from what is made here, which lives as long as the process, so that searching it
    wastes time, now and in every test."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(20_000, 20, 20)


@pytest.fixture
async def make_bench(tmp_path: Path) -> AsyncIterator[Callable[..., Any]]:
    """See `benches`."""
    from bench_runtime import benches  # imported here, so that tests of governance alone do not wait for it

    async with benches(tmp_path) as make:
        yield make


@pytest.fixture(
    params=["bubblewrap", *(pytest.param(name, marks=pytest.mark.slow) for name in ("landlock", "podman", "docker"))]
)
def each_sandbox(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of each sandbox of this machine; every Remit that the test starts uses it."""
    from rule_programs import need_sandbox  # see `make_bench`

    name: str = request.param
    monkeypatch.setenv("REMIT_SANDBOX", name)
    need_sandbox()
    return name


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first, so that no worker is left alone with one in the end, and before them the tests that
    are nearest to what has changed since the last commit."""
    took = read_durations()
    # A file may be unknown, because tests of this conftest run it on tests that lie elsewhere.
    items.sort(key=lambda item: -took.get(item.nodeid.partition("::")[0], 0.0))
    if near := nearness(changed_files()):
        items.sort(key=lambda item: near.get(item.path, 3))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Note how long each file took; with workers, only the process that collects their results does."""
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and session.config.rootpath == ROOT and not hasattr(session.config, "workerinput"):
        passed = (report for report in terminal.getreports("passed") if isinstance(report, pytest.TestReport))
        with contextlib.suppress(PermissionError):  # a test that runs others as another user
            note_durations((report.nodeid, report.duration) for report in passed)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("model") and find_spec("mlx_lm") is None:
        pytest.skip("needs the mlx extra: `uv sync --extra mlx`")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return judged((yield), item.nodeid)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return judged((yield), collector.nodeid)


def judged(report: Report, name: str) -> Report:
    """Returns the report, failed if it skips for a missing program although REMIT_REQUIRE_E2E=1 says that none may be
    missing."""
    if report.skipped and isinstance(report.longrepr, tuple) and os.environ.get(REQUIRE) == "1":
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if reason.startswith(MISSING):
            report.outcome = "failed"
            report.longrepr = f"{name} may not be skipped, for {REQUIRE}=1: {reason}"
    return report
