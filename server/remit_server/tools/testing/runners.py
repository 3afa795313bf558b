"""The runners there are: what each is told, where its report goes, and who reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from remit_server.tools.testing.cargo_text import cargo_results
from remit_server.tools.testing.coverage import FileCoverage, coverage_py, go_profile, istanbul, lcov
from remit_server.tools.testing.event_lines import node_results, pytest_results, unittest_results
from remit_server.tools.testing.json_reports import go_results, jest_results
from remit_server.tools.testing.results import Report

# Inside the sandbox, where this folder is the command's own.
REPORT = "/tmp/remit-report"  # noqa: S108
COVERAGE_FOLDER = "/tmp/remit-coverage"  # noqa: S108
AIDS = "/tmp/remit-aids"  # noqa: S108


@dataclass(frozen=True, slots=True)
class Ask:
    """What is to run: a path relative to the workspace or None for everything, and a part of the tests' names.

    `files` are the test files below the path, for runners that want to be told each.
    """

    path: str | None = None
    is_folder: bool = True
    part: str | None = None
    coverage: bool = False
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Runner:
    """One row. `program` is looked for on PATH; `said` is the command as a person would type it, for policy and to see.

    `runs` is what is really started, where that is another one; `aid` is a file beside this one that it finds in AIDS.
    With `streams`, the report is its standard output; elsewhere that is the tests' own, and the report a file they do
    not print to.
    """

    name: str
    program: str
    said: Callable[[Ask], tuple[str, ...]]
    results: Callable[[bytes, Path], Report]
    coverage: Callable[[bytes, Path], tuple[FileCoverage, ...]] | None = None
    coverage_file: str = f"{COVERAGE_FOLDER}/report"
    runs: Callable[[Ask], tuple[str, ...]] | None = None
    aid: str = ""
    streams: bool = False
    per_file: bool = False


def _pytest(ask: Ask) -> tuple[str, ...]:
    covered = ("--cov=.", f"--cov-report=json:{COVERAGE_FOLDER}/report") if ask.coverage else ()
    return ("pytest", "-q", "--tb=short", "-p", "no:cacheprovider", *covered, *_option("-k", ask), *_path(ask))


def _reporting_pytest(ask: Ask) -> tuple[str, ...]:
    """pytest reports when all is over, so it runs with a plugin of ours, which PYTHONPATH leads to."""
    program, *options = _pytest(ask)
    return (program, "-p", "inside_pytest", *options)


def _unittest(ask: Ask) -> tuple[str, ...]:
    return (
        "python3",
        "-m",
        "unittest",
        *(("discover", "-s") if ask.is_folder and ask.path else ()),
        *_path(ask),
        *_option("-k", ask),
    )


def _reporting_unittest(ask: Ask) -> tuple[str, ...]:
    """unittest reports to people alone, so it runs under a few lines of ours."""
    covered = f"{COVERAGE_FOLDER}/report" if ask.coverage else ""
    return ("python3", f"{AIDS}/inside_unittest.py", REPORT, covered, ask.path or "", ask.part or "", "")


def _vitest(ask: Ask) -> tuple[str, ...]:
    covered = (
        ("--coverage.enabled", "--coverage.reporter=json-summary", f"--coverage.reportsDirectory={COVERAGE_FOLDER}")
        if ask.coverage
        else ()
    )
    return (
        "vitest",
        "run",
        "--reporter=json",
        f"--outputFile={REPORT}",
        *covered,
        *_option("-t", ask),
        *_path(ask, "", "/"),
    )


def _jest(ask: Ask) -> tuple[str, ...]:
    covered = (
        ("--coverage", "--coverageReporters=json-summary", f"--coverageDirectory={COVERAGE_FOLDER}")
        if ask.coverage
        else ()
    )
    # A pattern, which is looked for anywhere in a path, unless it is said to be one.
    path = _path(ask, "/", "/") if ask.is_folder else ("--runTestsByPath", *_path(ask))
    return ("jest", "--ci", "--json", f"--outputFile={REPORT}", *covered, *_option("-t", ask), *path)


def _node(ask: Ask) -> tuple[str, ...]:
    covered = (
        (
            "--experimental-test-coverage",
            "--test-reporter=lcov",
            f"--test-reporter-destination={COVERAGE_FOLDER}/report",
        )
        if ask.coverage
        else ()
    )
    part = (f"--test-name-pattern={ask.part}",) if ask.part else ()
    return ("node", "--test", *covered, *part, *ask.files)


def _reporting_node(ask: Ask) -> tuple[str, ...]:
    """Node's own reports cannot be read when it is stopped, and name no file, so it runs with a reporter of ours."""
    program, test, *options = _node(ask)
    return (program, test, f"--test-reporter={AIDS}/inside_node.mjs", "--test-reporter-destination=stdout", *options)


def _go(ask: Ask) -> tuple[str, ...]:
    folder = ask.path if ask.is_folder else ask.path and str(Path(ask.path).parent)
    packages = f"./{folder}/..." if folder and folder != "." else "./..."
    covered = (f"-coverprofile={COVERAGE_FOLDER}/report",) if ask.coverage else ()
    return ("go", "test", "-json", *covered, *_option("-run", ask), packages)


def _cargo(ask: Ask) -> tuple[str, ...]:
    return ("cargo", "test", "--offline", "--no-fail-fast", *((ask.part,) if ask.part else ()))


def _option(name: str, ask: Ask) -> tuple[str, ...]:
    return (name, ask.part) if ask.part else ()


def _path(ask: Ask, before: str = "", after: str = "") -> tuple[str, ...]:
    """The path; a folder's between two signs, for runners that look for it as a part of others."""
    if not ask.path or ask.path == ".":
        return ()
    return (f"{before}{ask.path}{after}" if ask.is_folder else ask.path,)


RUNNERS: tuple[Runner, ...] = (
    Runner("pytest", "pytest", _pytest, pytest_results, coverage_py, runs=_reporting_pytest, aid="inside_pytest.py"),
    Runner(
        "unittest",
        "python3",
        _unittest,
        unittest_results,
        coverage_py,
        runs=_reporting_unittest,
        aid="inside_unittest.py",
    ),
    Runner("vitest", "vitest", _vitest, jest_results, istanbul, f"{COVERAGE_FOLDER}/coverage-summary.json"),
    Runner("jest", "jest", _jest, jest_results, istanbul, f"{COVERAGE_FOLDER}/coverage-summary.json"),
    Runner("node", "node", _node, node_results, lcov, runs=_reporting_node, aid="inside_node.mjs", per_file=True),
    Runner("go", "go", _go, go_results, go_profile, streams=True),
    Runner("cargo", "cargo", _cargo, cargo_results, streams=True),
)
"""In the order in which they are preferred where several fit."""


def aid_of(runner: Runner) -> str:
    """The text of a runner's aid; nothing where it has none."""
    return Path(__file__).with_name(runner.aid).read_text(encoding="utf-8") if runner.aid else ""
