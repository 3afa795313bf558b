"""A run of tests for a model: how it ended, what failed first, and whether runner and report agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import JsonValue

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.sandbox.ports import CommandOutput
from remit_server.tools.run_command import head_and_tail
from remit_server.tools.spec import Outcome
from remit_server.tools.testing.coverage import FileCoverage, percent
from remit_server.tools.testing.results import BadReport, Result
from remit_server.tools.testing.runners import Ask, Runner

MAX_SHOWN = 20
MAX_LISTED = 2_000
MAX_CONSOLE_CHARS = 5_000
_WORST = 5
_STOPPED = (124, 137)
_ENDINGS = ("failed", "error", "passed", "skipped")


def rendered(output: CommandOutput, runner: Runner, ask: Ask, root: Path, redact: Callable[[str], str]) -> Outcome:
    """The outcome of a run. It passed only where the runner says so by its exit code and every result does."""
    report, _, covered = output.stdout.rpartition(b"\0")
    tests, trouble = _tests(report, output, runner, root)
    stopped = output.timed_out or output.exit_code in _STOPPED
    bad = [test for test in tests if test.ending in {"failed", "error"}]
    passed = output.exit_code == 0 and bool(tests) and not bad and not trouble
    totals = {ending: sum(test.ending == ending for test in tests) for ending in _ENDINGS}
    counts = ", ".join(f"{count} {ending}" for ending, count in totals.items() if count) or "no test ran"
    lines = [f"{runner.name}: {counts} ({_ended(output, stopped)})", *trouble]
    lines += [line for test in bad[:MAX_SHOWN] for line in _told(test)]
    lines += [f"… and {len(bad) - MAX_SHOWN} more that did not pass"] if len(bad) > MAX_SHOWN else []
    files, said = _coverage(covered, runner, ask, root)
    lines += said
    if output.exit_code != 0 and not bad:
        lines.append("although no test is reported as failed, the runner says that something did" if tests else "")
        console = head_and_tail(output.stderr.decode(errors="replace"), MAX_CONSOLE_CHARS)
        lines.append(f"what it printed:\n{console}" if console else "it printed nothing")
    return Outcome(
        text=redact("\n".join(filter(None, lines))),
        summary=lines[0],
        data={
            "runner": runner.name,
            "passed": passed,
            "timed_out": stopped,
            "totals": {**totals, "all": len(tests)},
            "tests": [_as_data(test, redact) for test in [*bad, *(t for t in tests if t not in bad)][:MAX_LISTED]],
            "truncated": len(tests) > MAX_LISTED,
            "coverage": _coverage_data(files) if ask.coverage else None,
        },
        exit_code=output.exit_code,
    )


def _tests(report: bytes, output: CommandOutput, runner: Runner, root: Path) -> tuple[tuple[Result, ...], list[str]]:
    """The results, and what is wrong with the report."""
    if output.truncated and len(output.stdout) > len(output.stderr):
        raise ToolError(
            "cannot read the tests' results",
            "the report is too large",
            "run fewer tests: name a path or a filter",
            code=ErrorCode.TOO_LARGE,
        )
    if not report.strip():
        return (), []
    try:
        return runner.results(report, root), []
    except BadReport as error:
        return (), [f"the report cannot be read: {error}"]


def _ended(output: CommandOutput, stopped: bool) -> str:
    if stopped:
        return "stopped at its time limit"
    return "stopped at a limit of the sandbox" if output.exit_code is None else f"exit code {output.exit_code}"


def _told(test: Result) -> list[str]:
    place = f" {test.file}:{test.line}" if test.file and test.line else f" {test.file}" if test.file else ""
    word = "FAILED" if test.ending == "failed" else "ERROR"
    kind = f" ({test.kind})" if test.kind else ""
    return [f"{word} {' '.join(test.id.split())}{kind}{place}", *(f"    {line}" for line in test.message.splitlines())]


def _coverage(data: bytes, runner: Runner, ask: Ask, root: Path) -> tuple[tuple[FileCoverage, ...], list[str]]:
    if not ask.coverage or runner.coverage is None:
        return (), []
    try:
        files = runner.coverage(data, root)
    except BadReport:
        files = ()
    share = percent(files)
    if share is None:
        return (), ["coverage: none was measured (pytest needs pytest-cov, unittest coverage, vitest a provider)"]
    worst = sorted((f for f in files if f.ran < f.all), key=lambda f: (f.ran / f.all, f.path))[:_WORST]
    return files, [f"coverage: {share} %", *(f"  {f.path}: {f.ran} of {f.all}{_missed(f.missed)}" for f in worst)]


def _missed(lines: Sequence[int]) -> str:
    listed = ", ".join(map(str, lines[:10])) + (", …" if len(lines) > 10 else "")
    return f", not {listed}" if lines else ""


def _coverage_data(files: tuple[FileCoverage, ...]) -> JsonValue:
    return {
        "percent": percent(files),
        "files": [{"path": f.path, "ran": f.ran, "all": f.all, "missed": list(f.missed)} for f in files[:MAX_LISTED]],
    }


def _as_data(test: Result, redact: Callable[[str], str]) -> dict[str, JsonValue]:
    return {
        "id": test.id,
        "outcome": test.ending,
        "seconds": test.seconds,
        "kind": test.kind,
        "message": redact(test.message) if test.message else None,
        "file": test.file,
        "line": test.line,
    }
