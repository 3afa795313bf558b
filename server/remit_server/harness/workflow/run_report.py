"""What `run_tests` told, as the workflow judges it (FLW-04)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from remit_governance.workflow.debt import Coverage
from remit_governance.workflow.proof.runs import TestCase, TestRun
from remit_governance.workflow.states import Mode
from remit_server.tools.run.run_tests import RunTestsArguments
from remit_server.tools.spec import Outcome

UNMET = (
    "every test passed, and the runner ended as failed, for the project wants more lines to run than its tests reach: "
    "leave out code that no test needs, or test more of it, for which revise_tests opens the tests"
)


def read_run(outcome: Outcome, arguments: RunTestsArguments, mode: Mode) -> TestRun:
    """Returns the run as a value: whole where nothing was left out by whoever asked for it, as another runner does.

    Only strict mode doubts tests that source brings.
    """
    data = cast("Mapping[str, Any]", outcome.data)
    whole = not arguments.path and arguments.filter is None and data["rival"] is None
    doubt = _doubt(data, outcome.tests, outcome.exit_code)
    strangers = "; ".join(data["strangers"]) if mode is Mode.STRICT else ""
    unmet = UNMET if data["wants_lines"] else ""
    return TestRun(outcome.tests, whole, doubt or strangers, data["totals"]["unfinished"], unmet)


def read_coverage(outcome: Outcome, run: TestRun) -> Coverage | None:
    """Returns the coverage of the code that a run of all tests measured; None where it did not (FLW-08)."""
    data = cast("Mapping[str, Any]", outcome.data)
    if run.doubt or run.unmet or not run.whole or data["coverage"] is None or not data["coverage"]["code"]["all"]:
        return None
    code = data["coverage"]["code"]
    return Coverage(data["runner"], code["ran"], code["all"])


def _doubt(data: Mapping[str, Any], cases: tuple[TestCase, ...], exit_code: int | None) -> str:
    """Says why report and runner do not tell the same, or not all."""
    failed = any(case.ending in {"failed", "error"} for case in cases)
    if data["timed_out"] or exit_code is None:
        return "it was stopped before its end"
    if data["trouble"]:
        return "; ".join(data["trouble"])
    if failed and exit_code == 0:
        return "a test failed, and the runner says that none did"
    if not failed and cases and exit_code != 0 and not data["wants_lines"]:
        return "no test is reported as failed, and the runner says that something did"
    return ""
