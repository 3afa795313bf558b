"""The report on a run of tests for a model: how it ended, what failed first, and whether runner and report agree.

It also gives advice on a Python module that a test could not import: whether it is a module of the workspace or a
package to install (FLW-04).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from pydantic import JsonValue

from remit_governance.workflow.proof.runs import TestCase
from remit_governance.workflow.test_files import is_locked_file
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.sandbox.ports import CommandOutput
from remit_server.tools.data_room import MAX_DATA, json_length, take_fitting
from remit_server.tools.run.command_parts import failure_of, lacked_network, without_colours
from remit_server.tools.run.run_command import head_and_tail
from remit_server.tools.run.testing.finding import Place
from remit_server.tools.run.testing.reports.channel import read_channel
from remit_server.tools.run.testing.reports.coverage import FileCoverage, percent
from remit_server.tools.run.testing.reports.results import BadReport, Origin, Report, Result
from remit_server.tools.run.testing.runners import Runner, RunnerAsk
from remit_server.tools.run.testing.test_request import Choice
from remit_server.tools.spec import Outcome, TestsRan

MAX_SHOWN = 20
MAX_PASSED_SHOWN = 10
MAX_LISTED = 2_000
MAX_CONSOLE_CHARS = 5_000
_KEYS_CHARS = 100
_WORST = 5
_STOPPED = (124, 137)
"""The exit codes of `timeout`, which the runner runs under, when the time limit is reached."""
OFFLINE = (
    "the sandbox has no network: ask the person to name the hosts that tests reach over https in their setting "
    "`workflow.test_hosts`, and to allow each in their policy"
)
_ENDINGS = ("failed", "error", "passed", "skipped")
_COVERED_BY = {"pytest": "pytest-cov", "unittest": "coverage", "vitest": "@vitest/coverage-v8"}
_WANTS_LINES = re.compile(
    r"coverage threshold for .{1,200} not met|does not meet (?:\w+ )?threshold|"
    r"Coverage failure: total of|Required test coverage of .{1,200} not reached"
)
"""What Jest, Vitest and Node, c8, coverage.py and pytest-cov print where too few lines ran."""
_NO_TEST = re.compile(r"must contain at least one test|No test suite found in file")
_COUNTED = re.compile(r"^=*\s*((?:\d+ [a-z]+(?:, )?)+) in \d[^\n]*$", re.MULTILINE)


def render_report(
    output: CommandOutput,
    choice: Choice,
    here: Path,
    redact: Callable[[str], str],
    is_locked: Callable[[str], bool] = is_locked_file,
    *,
    too_long: ToolError,
    offline: bool = False,
) -> Outcome:
    """Returns the outcome of a run in the folder `here`. The run passed only if the exit code and every result say so.

    `is_locked` says which files are test files: lines that ran in them do not count as coverage of code. `too_long` is
    the failure of a run that exceeded its time limit. If the run was `offline` and failed because of that, the text
    says so and names the setting for hosts.
    """
    runner, ask = choice.runner, choice.ask
    parts = read_channel(output.stdout, signed=bool(runner.aids) and runner.vouch is None)
    report, trouble = _read(parts.report, output, runner, here)
    report = report if runner.vouch is None else runner.vouch(parts.report, parts.key, report)
    trouble += [*([parts.trouble] if parts.trouble else []), *report.doubts]
    told = (replace(test, message=without_colours(test.message)) for test in report.tests)
    tests = tuple(_relative_to_top(test, choice) for test in told)
    bad = [test for test in tests if test.ending in {"failed", "error"}]
    trouble += _find_forgeries(bad, runner, output)
    strangers = _find_strangers(report, choice, here, is_locked)
    counts = {ending: sum(test.ending == ending for test in tests) for ending in _ENDINGS}
    finished, total = sum(counts.values()), max(len(tests), report.planned or 0)
    stopped = output.timed_out or output.exit_code in _STOPPED
    failure = too_long if stopped else failure_of(output, too_long)
    summary = f"{runner.name}: {_count_words(counts, finished, total)} ({_end_words(output, stopped)})"
    files, said = _coverage(parts.coverage, runner, ask, here)
    code = _of_code(files, choice.folder, is_locked)
    lines = [summary, *trouble, *strangers, *_unfinished_lines(tests, total)]
    lines += [*_failure_lines(bad), *_passed_lines(tests), *said]
    ended = bool(tests) and failure is None
    wants_lines = ended and not bad and _wants_lines(output)
    lines += [] if output.exit_code == 0 or bad else _console(output, ended and not wants_lines)
    lines += ["no single test has that id: name the test around it, or the file"] if ask.only and not tests else []
    lines += [OFFLINE] if offline and output.exit_code != 0 and _lacked_network(bad, output) else []
    lines += _others(choice.others)
    lines += [_describe_unknown(choice)] if choice.unknown else []
    data: dict[str, JsonValue] = {
        "runner": runner.name,
        "passed": output.exit_code == 0 and bool(tests) and finished == total and not bad and not trouble,
        "timed_out": stopped,
        "trouble": list(trouble),
        "strangers": list(strangers),
        "wants_lines": wants_lines,
        "totals": {**counts, "unfinished": total - finished, "all": total},
        "rival": choice.rival,
        "unknown_runner": choice.unknown,
        "others": [{"runner": each.runner, "path": each.folder} for each in choice.others],
        "coverage": _coverage_data(files, code) if ask.coverage else None,
    }
    return Outcome(
        text=redact("\n".join(lines)),
        summary=summary,
        data={**data, **_tests_json(tests, redact, MAX_DATA - _KEYS_CHARS - json_length(data))},
        exit_code=None if failure else output.exit_code,
        failure=failure,
        facts=TestsRan(
            runner.name,
            tuple(
                TestCase(redact(test.id), test.ending, test.kind == "assertion", test.file, _advise(test, choice))
                for test in tests
            ),
            tuple(trouble),
            tuple(strangers),
            choice.rival,
            total - finished,
            stopped,
            wants_lines,
            (sum(f.ran for f in code), sum(f.all for f in code)) if ask.coverage else None,
        ),
    )


def _read(data: bytes, output: CommandOutput, runner: Runner, root: Path) -> tuple[Report, list[str]]:
    """Returns the results, and the reasons why the report cannot be read. Raises ToolError if the report was
    truncated."""
    if output.truncated and len(output.stdout) > len(output.stderr):
        raise ToolError(
            "cannot read the tests' results",
            "the report is too large",
            "run fewer tests: name a path or a filter",
            code=ErrorCode.TOO_LARGE,
        )
    if not data.strip():
        return Report(), []
    try:
        return runner.results(data, root), []
    except BadReport as error:
        return Report(), [f"the report cannot be read: {error}"]


def _relative_to_top(test: Result, choice: Choice) -> Result:
    """Returns a test with its id and file as the argument `path` takes them. Cargo names files from its own workspace,
    which may be above the folder."""
    if choice.folder == ".":
        return test
    file = test.file
    if file and not file.startswith("/"):
        below = f"{choice.folder}/{file}"
        file = file if file in choice.files and below not in choice.files else below
    return replace(test, id=f"{choice.folder}/{test.id}", file=file)


def _advise(test: Result, choice: Choice) -> str:
    """Returns advice on a broken test where the runner's message gives a hint; else an empty text."""
    here = "" if choice.folder == "." else f"{choice.folder}/"
    below = (path.removeprefix(here) for path in choice.files if path.startswith(here))
    if test.ending not in {"failed", "error"}:
        return ""
    return advise_on_missing(test.message, below) or _advise_on_runner(test, choice.runner)


def _advise_on_runner(test: Result, runner: Runner) -> str:
    """Returns advice for a file without a test that the project's runner knows, such as one with `node:test` under
    Jest."""
    if runner.name not in {"jest", "vitest"} or not _NO_TEST.search(test.message):
        return ""
    return (
        f"{runner.name}, which runs this project's tests, finds none in it: write it with the `test` of {runner.name}"
    )


def _others(others: Sequence[Place]) -> list[str]:
    """Returns a line about the runners that did not run: a run of everything runs one runner's tests only."""
    top = ", ".join(each.runner for each in others if each.folder == ".")
    below = ", ".join(f"{each.runner} in {each.folder}" for each in others if each.folder != ".")
    said = [f"{top} (name a `runner`)"] if top else []
    said += [f"{below} (name a `path`)"] if below else []
    return [f"not run, although there are tests for them too: {'; '.join(said)}"] if said else []


def _describe_unknown(choice: Choice) -> str:
    by, own = choice.runner.name, choice.unknown
    told = f"the project runs its tests with {own}, which run_tests does not support; {by} ran instead"
    with_pytest = "; if the person installs pytest and pytest-django in `.venv`, run_tests uses them"
    return told + (with_pytest if own == "django" else f"; run_command can run {own}")


def _find_forgeries(bad: Sequence[Result], runner: Runner, output: CommandOutput) -> list[str]:
    """Returns trouble if the report names no failed test but pytest's last line on stderr does. A test runs in the
    process that writes the report and could change it, so that line is a second witness."""
    said = _COUNTED.findall(without_colours(output.stderr.decode(errors="replace"))) if runner.name == "pytest" else []
    if bad or not said or not re.search(r"\d (?:failed|errors?)\b", said[-1]):
        return []
    return [f"the report names no failed test, but pytest printed: {said[-1]}. Something rewrote the report"]


def _find_strangers(report: Report, choice: Choice, here: Path, is_locked: Callable[[str], bool]) -> list[str]:
    """Returns descriptions of tests that do not come from a test file, and of code that locked tests check with but
    that was replaced. Workspace code that is no test then decides what such tests check, so in strict mode they prove
    nothing (FLW-04).
    """
    top = here.parents[len(PurePosixPath(choice.folder).parts) - 1] if choice.folder != "." else here

    def is_test(file: str) -> bool:
        return top in Path(file).parents and is_locked(Path(file).relative_to(top).as_posix())

    strangers = [
        _describe_stranger(each, top)
        for each in report.origins
        if not is_test(each.file) and (is_test(each.of) if each.of else not each.file or top in Path(each.file).parents)
    ]
    return list(dict.fromkeys(strangers))[:_WORST]


def _describe_stranger(origin: Origin, top: Path) -> str:
    file = Path(origin.file)
    place = file.relative_to(top).as_posix() if top in file.parents else "what is installed"
    words = "is not what its test file says" if origin.of else "is not from a test file"
    return f"`{origin.name}` {words}: it comes from {place if origin.file else 'no file'}"


def _lacked_network(bad: Sequence[Result], output: CommandOutput) -> bool:
    """Returns whether the failed tests, or else the runner's output, say that the network was missing."""
    said = "\n".join(test.message for test in bad) or output.stderr.decode(errors="replace")
    return lacked_network(said)


def _count_words(counts: Mapping[str, int], finished: int, total: int) -> str:
    said = [f"{count} {ending}" for ending, count in counts.items() if count]
    said += [f"only {finished} of {total} finished"] if finished < total else []
    return ", ".join(said) or "no test ran"


def _unfinished_lines(tests: Sequence[Result], total: int) -> list[str]:
    names = [" ".join(test.id.split()) for test in tests if test.ending == "unfinished"]
    more = total - len(tests) + max(0, len(names) - MAX_SHOWN)
    said = [*names[:MAX_SHOWN], *([f"{more} more that did not start, or were not named"] if more else [])]
    return [f"did not finish: {', '.join(said)}"] if said else []


def _failure_lines(bad: Sequence[Result]) -> list[str]:
    lines = [line for test in bad[:MAX_SHOWN] for line in _test_lines(test)]
    return [*lines, *([f"… and {len(bad) - MAX_SHOWN} more that did not pass"] if len(bad) > MAX_SHOWN else [])]


def _passed_lines(tests: Sequence[Result]) -> list[str]:
    names = [" ".join(test.id.split()) for test in tests if test.ending == "passed"]
    return [f"passed: {', '.join(names)}"] if 0 < len(names) <= MAX_PASSED_SHOWN else []


def _console(output: CommandOutput, although: bool) -> list[str]:
    console = head_and_tail(without_colours(output.stderr.decode(errors="replace")), MAX_CONSOLE_CHARS)
    lines = ["although no test is reported as failed, the runner says that something did"] if although else []
    return [*lines, f"what it printed:\n{console}" if console else "it printed nothing"]


def _wants_lines(output: CommandOutput) -> bool:
    """Returns whether the runner failed because the project's coverage threshold was not met."""
    printed = without_colours(output.stderr.decode(errors="replace"))
    return output.exit_code not in {0, None} and _WANTS_LINES.search(printed) is not None


def _end_words(output: CommandOutput, stopped: bool) -> str:
    if stopped:
        return "stopped at its time limit"
    return f"stopped: {output.stopped}" if output.stopped is not None else f"exit code {output.exit_code}"


def _test_lines(test: Result) -> list[str]:
    place = f" {test.file}:{test.line}" if test.file and test.line else f" {test.file}" if test.file else ""
    word = "FAILED" if test.ending == "failed" else "ERROR"
    kind = f" ({test.kind})" if test.kind else ""
    return [f"{word} {' '.join(test.id.split())}{kind}{place}", *(f"    {line}" for line in test.message.splitlines())]


def _coverage(data: bytes, runner: Runner, ask: RunnerAsk, root: Path) -> tuple[tuple[FileCoverage, ...], list[str]]:
    if not ask.coverage or runner.coverage is None:
        return (), []
    try:
        files = runner.coverage(data, root)
    except BadReport:
        files = ()
    share = percent(files)
    if share is None:
        needs = _COVERED_BY.get(runner.name)
        how = f" ({runner.name} needs {needs}: install it in the project's environment)" if needs else ""
        return (), [f"coverage: none was measured{how}"]
    worst = sorted((f for f in files if f.ran < f.all), key=lambda f: (f.ran / f.all, f.path))[:_WORST]
    return files, [f"coverage: {share} %", *(f"  {f.path}: {f.ran} of {f.all}{_missed_lines(f.missed)}" for f in worst)]


def _missed_lines(lines: Sequence[int]) -> str:
    listed = ", ".join(map(str, lines[:10])) + (", …" if len(lines) > 10 else "")
    return f", not {listed}" if lines else ""


def _of_code(
    files: tuple[FileCoverage, ...], folder: str, is_locked: Callable[[str], bool]
) -> tuple[FileCoverage, ...]:
    """Returns the coverage of files that are no tests, because lines that ran in tests do not make code more tested."""
    return tuple(f for f in files if not is_locked(f.path if folder == "." else f"{folder}/{f.path}"))


def _coverage_data(files: tuple[FileCoverage, ...], code: tuple[FileCoverage, ...]) -> JsonValue:
    """Returns the coverage for clients; `code` is the coverage of files that are no tests."""
    return {
        "percent": percent(files),
        "code": {"ran": sum(f.ran for f in code), "all": sum(f.all for f in code)},
        "files": take_fitting(map(_file_as_data, files[:MAX_LISTED]), MAX_DATA // 2),
    }


def _file_as_data(file: FileCoverage) -> JsonValue:
    return {"path": file.path, "ran": file.ran, "all": file.all, "missed": list(file.missed)}


def _tests_json(tests: Sequence[Result], redact: Callable[[str], str], room: int) -> dict[str, JsonValue]:
    """Returns as many tests as fit into `room` characters, for clients; those that did not pass come first."""
    order = sorted(tests, key=lambda test: test.ending in {"passed", "skipped"})
    listed = take_fitting((_as_data(test, redact) for test in order[:MAX_LISTED]), room)
    return {"tests": listed, "left_out": len(tests) - len(listed)}


def _as_data(test: Result, redact: Callable[[str], str]) -> dict[str, JsonValue]:
    return {
        "id": redact(test.id),
        "outcome": test.ending,
        "duration_s": test.seconds,
        "kind": test.kind,
        "message": redact(test.message) if test.message else None,
        "file": test.file,
        "line": test.line,
    }


_MISSING = re.compile(r"ModuleNotFoundError: No module named '(\w+)'")
"""A missing top-level module. A missing module inside an existing package is code that is still to be written."""


def advise_on_missing(message: str, files: Iterable[str]) -> str:
    """Returns advice on how the module that a test could not import can be found; empty if no module is missing.

    `message` is what the runner says about the test, `files` are paths relative to the folder in which tests run.
    """
    if (missing := _MISSING.search(message)) is None:
        return ""
    name = missing[1]
    folder = min((found for path in files if (found := _found_in(path, name)) is not None), default=None)
    if folder is None:
        return (
            f"`{name}` is not a module of this workspace: if it is yet to be written, let a test assert first that "
            f"it exists; if it is a package, ask the person to install it in `.venv`"
        )
    return (
        f"`{name}` is a module of this workspace, in `{folder}`, where Python does not look: begin the test with "
        f'`import sys; sys.path.insert(0, "{folder}")`, or ask the person to install the project in `.venv`'
    )


def _found_in(path: str, name: str) -> str | None:
    """Returns the folder from which `path` can be imported as the module `name`, or None if it is another file."""
    file = PurePosixPath(path)
    if file.name == f"{name}.py":
        return str(file.parent)
    return str(file.parent.parent) if file.name == "__init__.py" and file.parent.name == name else None
