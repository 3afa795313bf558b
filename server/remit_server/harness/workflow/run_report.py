"""Turns the report of a run of tests into the values that the workflow judges (FLW-04)."""

from __future__ import annotations

from remit_governance.workflow.debt import Coverage
from remit_governance.workflow.proof.runs import TestRun
from remit_governance.workflow.states import Mode
from remit_server.tools.run.run_tests import RunTestsArguments
from remit_server.tools.spec import Outcome, TestsRan

UNMET = (
    "every test passed, but the runner failed, because the project requires more coverage than its tests reach: "
    "leave out code that no test needs, or test more of it, for which revise_tests opens the tests"
)


def read_run(outcome: Outcome, arguments: RunTestsArguments, mode: Mode) -> TestRun:
    """Returns the run as a value. It is whole if the call named no path and no filter, and used the project's own
    runner.

    Only strict mode doubts a run because tests come from source files.
    """
    ran = facts_of_run(outcome)
    whole = not arguments.path and arguments.filter is None and ran.rival is None
    strangers = "; ".join(ran.strangers) if mode is Mode.STRICT else ""
    doubt = _doubt(ran, outcome.exit_code) or strangers
    return TestRun(ran.cases, whole, doubt, ran.unfinished, UNMET if ran.wants_lines else "")


def facts_of_run(outcome: Outcome) -> TestsRan:
    """Returns the facts about a run of tests that the tool put into its outcome."""
    assert isinstance(outcome.facts, TestsRan)
    return outcome.facts


def read_coverage(outcome: Outcome, run: TestRun) -> Coverage | None:
    """Returns the code coverage that a run of all tests measured, or None if it measured none (FLW-08)."""
    ran = facts_of_run(outcome)
    if run.doubt or run.unmet or not run.whole or ran.lines is None or not ran.lines[1]:
        return None
    return Coverage(ran.runner, *ran.lines)


def _doubt(ran: TestsRan, exit_code: int | None) -> str:
    """Returns why the report is incomplete or contradicts the runner's exit code, or an empty text."""
    failed = any(case.ending in {"failed", "error"} for case in ran.cases)
    if ran.stopped or exit_code is None:
        return "it was stopped before its end"
    if ran.trouble:
        return "; ".join(ran.trouble)
    if failed and exit_code == 0:
        return "a test failed, but the runner says that none did"
    if not failed and ran.cases and exit_code != 0 and not ran.wants_lines:
        return "no test is reported as failed, but the runner says that something did"
    return ""
