"""What a run of tests told, as the workflow judges it (FLW-04)."""

from __future__ import annotations

from remit_governance.workflow.debt import Coverage
from remit_governance.workflow.proof.runs import TestRun
from remit_governance.workflow.states import Mode
from remit_server.tools.run.run_tests import RunTestsArguments
from remit_server.tools.spec import Outcome, TestsRan

UNMET = (
    "every test passed, and the runner ended as failed, for the project wants more lines to run than its tests reach: "
    "leave out code that no test needs, or test more of it, for which revise_tests opens the tests"
)


def read_run(outcome: Outcome, arguments: RunTestsArguments, mode: Mode) -> TestRun:
    """Returns the run as a value: whole where nothing was left out by whoever asked for it, as another runner does.

    Only strict mode doubts tests that source brings.
    """
    ran = facts_of_run(outcome)
    whole = not arguments.path and arguments.filter is None and ran.rival is None
    strangers = "; ".join(ran.strangers) if mode is Mode.STRICT else ""
    doubt = _doubt(ran, outcome.exit_code) or strangers
    return TestRun(ran.cases, whole, doubt, ran.unfinished, UNMET if ran.wants_lines else "")


def facts_of_run(outcome: Outcome) -> TestsRan:
    """Returns what a run of tests came to, as the tool tells it."""
    assert isinstance(outcome.facts, TestsRan)
    return outcome.facts


def read_coverage(outcome: Outcome, run: TestRun) -> Coverage | None:
    """Returns the coverage of the code that a run of all tests measured; None where it did not (FLW-08)."""
    ran = facts_of_run(outcome)
    if run.doubt or run.unmet or not run.whole or ran.lines is None or not ran.lines[1]:
        return None
    return Coverage(ran.runner, *ran.lines)


def _doubt(ran: TestsRan, exit_code: int | None) -> str:
    """Says why report and runner do not tell the same, or not all."""
    failed = any(case.ending in {"failed", "error"} for case in ran.cases)
    if ran.stopped or exit_code is None:
        return "it was stopped before its end"
    if ran.trouble:
        return "; ".join(ran.trouble)
    if failed and exit_code == 0:
        return "a test failed, and the runner says that none did"
    if not failed and ran.cases and exit_code != 0 and not ran.wants_lines:
        return "no test is reported as failed, and the runner says that something did"
    return ""
