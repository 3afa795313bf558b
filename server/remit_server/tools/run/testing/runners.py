"""The runners there are: what each is told, where its report goes, and who reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from remit_server.tools.run.testing.narrowing import cargo_targets, go_packages, node_files
from remit_server.tools.run.testing.reports.cargo_signs import vouch_cargo
from remit_server.tools.run.testing.reports.cargo_text import cargo_results
from remit_server.tools.run.testing.reports.coverage import FileCoverage, go_profile, told_lines
from remit_server.tools.run.testing.reports.event_lines import node_results, pytest_results, unittest_results
from remit_server.tools.run.testing.reports.json_reports import go_results, jest_results, vouch_go
from remit_server.tools.run.testing.reports.results import Report
from remit_server.tools.run.testing.rerunning import (
    go_pattern,
    javascript_pattern,
    node_pattern,
    unittest_name,
)

# Inside the sandbox, where these folders are the command's own.
COVERAGE_FOLDER = "/tmp/remit-coverage"  # noqa: S108
COVERAGE_FILE = f"{COVERAGE_FOLDER}/report"
AIDS = "/tmp/remit-aids"  # noqa: S108


@dataclass(frozen=True, slots=True)
class RunnerAsk:
    """What is to run: a path from where the runner runs or None for everything, and a part of the tests' names.

    `narrowed` is what the path is to runners that want it in other words; `only` one test, as reports name it after its
    file, if they name one. Without a `provider` that Vitest needs, lines are not measured, for no test would run.
    `apart` says that this Jest can run tests in other processes than its own, however few they are; `as_module` that
    pytest is run by `python -m`, so that tests may import from the folder where it runs. `more` are the same of further
    paths.
    """

    path: str | None = None
    is_folder: bool = True
    part: str | None = None
    coverage: bool = False
    narrowed: tuple[str, ...] = ()
    only: str = ""
    provider: bool = True
    apart: bool = False
    as_module: bool = False
    more: tuple[RunnerAsk, ...] = ()

    @property
    def paths(self) -> tuple[RunnerAsk, ...]:
        """Itself and what is asked of further paths."""
        return (self, *self.more)


@dataclass(frozen=True, slots=True)
class Runner:
    """One row. `program` is looked for on PATH; `said` is the command as a person would type it, for policy and to see.

    `coverage` reads which lines ran, of what was told by the channel of the report, or of a file where there is none.

    `runs` is what is really started, where that is another one, and `through` what a person may type before it; `aids`
    are files beside this one that it finds in AIDS, which write the report to a channel of its own, signed. Without
    them the report is its standard output. With `vouch` it is that, too, and aids have the runner sign in it what
    `vouch` holds the results to: it takes the output, the run's key and the results.

    `narrow` says a path in other words, or raises ToolError where the run would be no smaller: it takes the path,
    whether that is a folder, all files of the folder where the runner runs, and what reads one.
    """

    name: str
    program: str
    said: Callable[[RunnerAsk], tuple[str, ...]]
    results: Callable[[bytes, Path], Report]
    coverage: Callable[[bytes, Path], tuple[FileCoverage, ...]] | None = None
    runs: Callable[[RunnerAsk], tuple[str, ...]] | None = None
    through: tuple[str, ...] = ()
    aids: tuple[str, ...] = ()
    vouch: Callable[[bytes, bytes, Report], Report] | None = None
    narrow: Callable[[str, bool, tuple[str, ...], Callable[[str], str]], tuple[str, ...]] | None = None


def _pytest(ask: RunnerAsk) -> tuple[str, ...]:
    covered = ("--cov=.", "--cov-report=") if ask.coverage else ()
    # pytest reads a file of options where a value starts with `@`; before an expression a space means nothing.
    part = ("-k", f" {ask.part}" if ask.part.startswith("@") else ask.part) if ask.part else ()
    path = (f"{ask.path}::{ask.only}",) if ask.only else _path(ask)
    program = ("python3", "-m", "pytest") if ask.as_module else ("pytest",)
    return (*program, "-q", "--tb=short", "-p", "no:cacheprovider", *covered, *part, *path)


def _reporting_pytest(ask: RunnerAsk) -> tuple[str, ...]:
    """Pytest reports when all is over, so it runs with a plugin of ours, which PYTHONPATH leads to.

    By `python -m` the workspace would come first where Python looks, and could bring another pytest.
    """
    program, *options = _pytest(replace(ask, as_module=False))
    return (program, "-p", "inside_pytest", *options)


def _unittest(ask: RunnerAsk) -> tuple[str, ...]:
    if ask.only:
        named = unittest_name(ask.only)
        return ("python3", "-m", "unittest", *((named,) if ask.is_folder else (*_path(ask), "-k", named)))
    return (
        "python3",
        "-m",
        "unittest",
        *(("discover", "-s") if ask.is_folder and ask.path else ()),
        *_path(ask),
        *_option("-k", ask),
    )


def _reporting_unittest(ask: RunnerAsk) -> tuple[str, ...]:
    """Unittest reports to people alone, so it runs under a few lines of ours."""
    covered = "coverage" if ask.coverage else ""
    only = unittest_name(ask.only)
    paths = "\n".join(_path(ask))
    return ("python3", f"{AIDS}/inside_unittest.py", covered, paths, ask.part or "", only)


def _vitest(ask: RunnerAsk) -> tuple[str, ...]:
    covered = (
        ("--coverage.enabled", "--coverage.reporter=json-summary", f"--coverage.reportsDirectory={COVERAGE_FOLDER}")
        if ask.coverage and ask.provider
        else ()
    )
    return ("vitest", "run", *covered, *_titles(ask), *_path(ask, "", "/"))


def _reporting_vitest(ask: RunnerAsk) -> tuple[str, ...]:
    """Its own JSON is a file that tests could write as well, so it runs with a reporter of ours."""
    program, run, *options = _vitest(ask)
    return (program, run, f"--reporter={AIDS}/inside_vitest.mjs", *options)


def _jest(ask: RunnerAsk) -> tuple[str, ...]:
    covered = (
        ("--coverage", "--coverageReporters=json-summary", f"--coverageDirectory={COVERAGE_FOLDER}")
        if ask.coverage
        else ()
    )
    # A pattern, which is looked for anywhere in a path, unless it is said to be one.
    has_folder = any(each.is_folder for each in ask.paths)
    path = _path(ask, "/", "/") if has_folder else ("--runTestsByPath", *_path(ask))
    return ("jest", "--ci", *covered, *_titles(ask), *path)


def _reporting_jest(ask: RunnerAsk) -> tuple[str, ...]:
    """Its own JSON is a file that tests could write as well, so it runs with a reporter of ours.

    Tests of one file, or quick ones, would run in its process, unless there is a limit to what others may hold.
    """
    program, *options = _jest(ask)
    apart = ("--workerIdleMemoryLimit=8GB",) if ask.apart else ()
    return (program, f"--reporters={AIDS}/inside_jest.cjs", *apart, *options)


def _node(ask: RunnerAsk) -> tuple[str, ...]:
    covered = ("--experimental-test-coverage",) if ask.coverage else ()
    pattern = node_pattern(ask.only) if ask.only else ask.part
    part = (f"--test-name-pattern={pattern}",) if pattern else ()
    return ("node", "--test", *covered, *part, *_narrowed(ask))


def _reporting_node(ask: RunnerAsk) -> tuple[str, ...]:
    """Node's own reports cannot be read when it is stopped, and name no file, so it runs with a reporter of ours.

    There is another in the process of each file."""
    program, test, *options = _node(ask)
    loaded = f"--require={AIDS}/inside_node_spawn.cjs"
    return (
        program,
        loaded,
        test,
        f"--test-reporter={AIDS}/inside_node.mjs",
        "--test-reporter-destination=stdout",
        *options,
    )


def _go(ask: RunnerAsk) -> tuple[str, ...]:
    covered = (f"-coverprofile={COVERAGE_FILE}",) if ask.coverage else ()
    if ask.only:
        pattern, package = go_pattern(ask.only)
        return ("go", "test", "-json", *covered, f"-run={pattern}", package)
    return ("go", "test", "-json", *covered, *_option("-run", ask), *(_narrowed(ask) or ("./...",)))


def _signing_go(ask: RunnerAsk) -> tuple[str, ...]:
    """Returns a program of tests prints what it likes, so its own `testing` signs how each test ended."""
    return ("/bin/sh", f"{AIDS}/inside_go.sh", *_go(ask))


def _cargo(ask: RunnerAsk) -> tuple[str, ...]:
    start = ("cargo", "test", "--offline", "--no-fail-fast")
    if ask.only:
        return (*start, "--", "--exact", ask.only)
    return (*start, *_narrowed(ask), *((ask.part,) if ask.part else ()))


def _signing_cargo(ask: RunnerAsk) -> tuple[str, ...]:
    """Returns a program of tests prints what it likes, so it is built with a harness that signs how each test ended."""
    return ("/bin/sh", f"{AIDS}/inside_cargo.sh", *_cargo(ask))


def _titles(ask: RunnerAsk) -> tuple[str, ...]:
    return (f"--testNamePattern={javascript_pattern(ask.only)}",) if ask.only else _option("-t", ask)


def _option(name: str, ask: RunnerAsk) -> tuple[str, ...]:
    return (name, ask.part) if ask.part else ()


def _path(ask: RunnerAsk, before: str = "", after: str = "") -> tuple[str, ...]:
    """Returns the paths; a folder's between two signs, for runners that look for it as a part of others."""
    named = [(each.path, each.is_folder) for each in ask.paths if each.path and each.path != "."]
    return tuple(f"{before}{path}{after}" if is_folder else path for path, is_folder in named)


def _narrowed(ask: RunnerAsk) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for each in ask.paths for word in each.narrowed))


_IN_PYTHON = ("report_channel.py", "intact.py", "held.py", "origins.py", "coverage_lines.py")
_IN_NODE = "report_channel.cjs"

RUNNERS: tuple[Runner, ...] = (
    Runner(
        "pytest",
        "pytest",
        _pytest,
        pytest_results,
        told_lines,
        runs=_reporting_pytest,
        through=("python3", "-m"),
        aids=("inside_pytest.py", *_IN_PYTHON),
    ),
    Runner(
        "unittest",
        "python3",
        _unittest,
        unittest_results,
        told_lines,
        runs=_reporting_unittest,
        aids=("inside_unittest.py", *_IN_PYTHON),
    ),
    Runner(
        "vitest",
        "vitest",
        _vitest,
        jest_results,
        told_lines,
        runs=_reporting_vitest,
        through=("npx",),
        aids=("inside_vitest.mjs", _IN_NODE),
    ),
    Runner(
        "jest",
        "jest",
        _jest,
        jest_results,
        told_lines,
        runs=_reporting_jest,
        through=("npx",),
        aids=("inside_jest.cjs", _IN_NODE),
    ),
    Runner(
        "node",
        "node",
        _node,
        node_results,
        told_lines,
        runs=_reporting_node,
        aids=(
            "inside_node.mjs",
            "inside_node_spawn.cjs",
            "inside_node_file.mjs",
            "inside_node_tests.mjs",
            "inside_node_guards.mjs",
            _IN_NODE,
        ),
        narrow=node_files,
    ),
    Runner(
        "go",
        "go",
        _go,
        go_results,
        go_profile,
        runs=_signing_go,
        aids=("inside_go.sh",),
        vouch=vouch_go,
        narrow=go_packages,
    ),
    Runner(
        "cargo",
        "cargo",
        _cargo,
        cargo_results,
        runs=_signing_cargo,
        aids=("inside_cargo.sh", "inside_cargo.rs"),
        vouch=vouch_cargo,
        narrow=cargo_targets,
    ),
)
"""In the order in which they are preferred where several fit."""


def texts_of_aids(runner: Runner) -> tuple[str, ...]:
    """Returns the name of each of a runner's aids, followed by its text."""
    folder = Path(__file__).parent
    return tuple(part for aid in runner.aids for part in (aid, (folder / aid).read_text(encoding="utf-8")))
