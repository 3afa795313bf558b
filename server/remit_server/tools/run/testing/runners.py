"""The known test runners: their command lines, where each writes its report, and which function reads it."""

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

# These folders exist only in the command's own sandbox.
COVERAGE_FOLDER = "/tmp/remit-coverage"  # noqa: S108
COVERAGE_FILE = f"{COVERAGE_FOLDER}/report"
AIDS = "/tmp/remit-aids"  # noqa: S108


@dataclass(frozen=True, slots=True)
class RunnerAsk:
    """What is to run: a path relative to the runner's folder, or None for everything, and a part of the tests' names.

    `narrowed` is the path in the form that some runners want instead; `only` is one test, as reports name it after its
    file, if they name one. Without a `provider`, which Vitest needs, lines are not measured, because Vitest would then
    run no test. `apart` says that this Jest version can run even a few tests in processes other than its own;
    `as_module` says that pytest is run by `python -m`, so that tests may import from the folder where it runs. `more`
    are the same for further paths.
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
        """The request itself and those for further paths."""
        return (self, *self.more)


@dataclass(frozen=True, slots=True)
class Runner:
    """One row. `program` is looked for on PATH; `said` is the command as a person would type it, for policy and for
    display.

    `coverage` reads which lines ran, from what the runner sent by the report's channel, or from a file if it sent
    nothing.

    `runs` is the command that is really started, if it is another one, and `through` is what a person may type before
    the program. `aids` are files beside this one, put into the folder AIDS, which write the report, signed, to a
    channel of its own; without aids, standard output is the report. With `vouch`, standard output is the report too,
    but the aids make the runner sign results in it, and `vouch` checks the results against the signatures; it takes the
    output, the run's key and the results.

    `narrow` returns a path in the runner's own words, or raises ToolError if the run would be no smaller. It takes the
    path, whether that is a folder, all files of the folder where the runner runs, and a function that reads a file.
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
    # pytest reads options from a file if a value starts with `@`; a space before the expression changes nothing else.
    part = ("-k", f" {ask.part}" if ask.part.startswith("@") else ask.part) if ask.part else ()
    path = (f"{ask.path}::{ask.only}",) if ask.only else _path(ask)
    program = ("python3", "-m", "pytest") if ask.as_module else ("pytest",)
    return (*program, "-q", "--tb=short", "-p", "no:cacheprovider", *covered, *part, *path)


def _reporting_pytest(ask: RunnerAsk) -> tuple[str, ...]:
    """Returns the command of pytest with our plugin, found by PYTHONPATH, because pytest itself reports only at the
    end.

    With `python -m`, Python would search the workspace first, which could then bring another pytest.
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
    """Returns the command that runs unittest under a script of ours, because unittest reports only in text for
    people."""
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
    """Returns the command of Vitest with our reporter, because tests could write the file of its own JSON reporter."""
    program, run, *options = _vitest(ask)
    return (program, run, f"--reporter={AIDS}/inside_vitest.mjs", *options)


def _jest(ask: RunnerAsk) -> tuple[str, ...]:
    covered = (
        ("--coverage", "--coverageReporters=json-summary", f"--coverageDirectory={COVERAGE_FOLDER}")
        if ask.coverage
        else ()
    )
    # Without `--runTestsByPath` Jest takes a path as a pattern and looks for it anywhere in its paths.
    has_folder = any(each.is_folder for each in ask.paths)
    path = _path(ask, "/", "/") if has_folder else ("--runTestsByPath", *_path(ask))
    return ("jest", "--ci", *covered, *_titles(ask), *path)


def _reporting_jest(ask: RunnerAsk) -> tuple[str, ...]:
    """Returns the command of Jest with our reporter, because tests could write the file of its own JSON reporter.

    Without a memory limit for its workers, Jest would run the tests of one file, or quick tests, in its own process.
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
    """Returns the command of Node with our reporter, because Node's own reports cannot be read when it is stopped, and
    name no file.

    The process of each test file loads another reporter.
    """
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
    """Returns the command of Go with a `testing` package that signs how each test ended, because a test program can
    print anything."""
    return ("/bin/sh", f"{AIDS}/inside_go.sh", *_go(ask))


def _cargo(ask: RunnerAsk) -> tuple[str, ...]:
    start = ("cargo", "test", "--offline", "--no-fail-fast")
    if ask.only:
        return (*start, "--", "--exact", ask.only)
    return (*start, *_narrowed(ask), *((ask.part,) if ask.part else ()))


def _signing_cargo(ask: RunnerAsk) -> tuple[str, ...]:
    """Returns the command of Cargo with a test harness that signs how each test ended, because a test program can print
    anything."""
    return ("/bin/sh", f"{AIDS}/inside_cargo.sh", *_cargo(ask))


def _titles(ask: RunnerAsk) -> tuple[str, ...]:
    return (f"--testNamePattern={javascript_pattern(ask.only)}",) if ask.only else _option("-t", ask)


def _option(name: str, ask: RunnerAsk) -> tuple[str, ...]:
    return (name, ask.part) if ask.part else ()


def _path(ask: RunnerAsk, before: str = "", after: str = "") -> tuple[str, ...]:
    """Returns the paths; a folder's path stands between `before` and `after`, for runners that search for it in other
    paths."""
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
"""The runners. If several fit, the earlier one is preferred."""


def texts_of_aids(runner: Runner) -> tuple[str, ...]:
    """Returns the name of each of a runner's aids, followed by its text."""
    folder = Path(__file__).parent
    return tuple(part for aid in runner.aids for part in (aid, (folder / aid).read_text(encoding="utf-8")))
