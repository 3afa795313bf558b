"""Coverage as each runner measures it, in a whole runtime: strict mode sets a baseline, then a lock follows
(FLW-08)."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from typing import Any

import pytest
from bench_runtime import Bench, call, intent
from messages import SAYS
from runner_projects import CACHE, PROJECTS, Project, install_coverage
from workflow_bench import DONE, PLAN, begin, read, write
from workflow_bench import RUN as BARE_RUN

from remit_server.harness.workflow.budget import read_account

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap"),
]

RUN = {"calls": [intent("EXECUTE"), call("run_tests", coverage=True)]}
COMMIT = {"calls": [intent("EXECUTE"), call("git_commit", message="Better", all=True)]}
EXPLORE = {"type": "call", "tool": "set_mode", "arguments": {"mode": "explore"}, "intent": "PLAN"}
_PYTHON = "\n\ndef price(n):\n    if n == 1:\n        return 'one'\n    return 'much'\n"
_JS = "function price(n) {\n  if (n === 1) {\n    return 'one';\n  }\n  return 'much';\n}\n"
UNTESTED = {
    "pytest": _PYTHON,
    "unittest": _PYTHON,
    "vitest": f"export {_JS}",
    "jest": f"exports.price = {_JS}",
    "go": '\nfunc Price(n int) string {\n\tif n == 1 {\n\t\treturn "one"\n\t}\n\treturn "much"\n}\n',
}
"""Source that no test runs, by the runner that measures it. test_coverage_budget.py does the same for node."""


def measured(runner: str) -> Project:
    """Returns the project of a runner, with the package that measures coverage."""
    project = PROJECTS[runner]
    match runner:
        case "pytest" | "unittest":
            return replace(project, install=install_coverage)
        case "vitest" if not (CACHE / "node_modules" / "@vitest" / "coverage-v8").is_dir():
            return replace(project, missing=lambda: f"no @vitest/coverage-v8 in {CACHE}")
        case _:
            return project


async def begin_repository(make_bench: Any, project: Project, *steps: Any) -> Bench:
    bench = await begin(make_bench, project, *steps)
    (bench.workspace / ".gitignore").write_text(".venv/\nnode_modules/\n__pycache__/\n")
    for words in (["init", "-q"], ["config", "user.name", "Ada"], ["config", "user.email", "a@b.c"], ["add", "-A"]):
        subprocess.run(["git", *words], cwd=bench.workspace, check=True)
    subprocess.run(["git", "commit", "-q", "-m", "before"], cwd=bench.workspace, check=True)
    return bench


@pytest.mark.parametrize("runner", UNTESTED)
async def test_FLW_08_each_runner_s_coverage_sets_the_baseline_and_holds_a_commit_that_loses_it(
    make_bench: Any, runner: str
) -> None:
    project = measured(runner)
    first = [read(project.source, project.test), PLAN, write(project.test, project.new_test), BARE_RUN]
    first += [write(project.source, project.new_source), RUN, COMMIT, DONE]
    worse = project.new_source + UNTESTED[runner]
    later = [write(project.source, worse), RUN, COMMIT, write(project.source, project.new_source), DONE]
    bench = await begin_repository(make_bench, project, *first, *later)
    await bench.ask("Say what the total of nothing is")
    account = read_account(bench.settings.coverage_file)
    assert account is not None, bench.of("tool_result")[-2].output
    assert (account.by, account.baseline) == (runner, 100.0)
    await bench.ask(EXPLORE, "Add prices")
    (held,) = [event.output for event in bench.of("tool_result") if not event.ok]
    assert SAYS.explore_mode_is_locked not in held
    assert (bench.workspace / project.source).read_text() == project.new_source, "what is held is no debt"


_ALL = "{'files': {'cart.py': {'summary': {'covered_lines': 9, 'num_statements': 9}, 'missing_lines': []}}}"
_AT_EXIT = f"\nimport atexit, json\natexit.register(lambda: open('/tmp/remit-coverage/report', 'w').write(json.dumps({_ALL})))\n"
FORGED = {
    "pytest": _AT_EXIT,
    "unittest": _AT_EXIT,
    "node": "process.on('exit', () => require('fs').writeFileSync('/tmp/remit-coverage/report', "
    "'SF:cart.js\\nDA:1,1\\nend_of_record\\n'));\n",
}
"""Tests that put a forged report where the runner's report is read."""


@pytest.mark.parametrize("runner", FORGED)
async def test_THR_workflow_no_report_in_a_file_stands_for_what_was_measured(make_bench: Any, runner: str) -> None:
    project = measured(runner)
    untested = UNTESTED.get(runner, f"exports.price = {_JS}")
    shown = replace(
        project,
        old_source=project.old_source + untested,
        old_test=project.old_test + FORGED[runner],
    )
    bench = await begin(make_bench, shown, RUN, DONE)
    await bench.ask("Run the tests")
    told = bench.of("tool_result")[-1].output
    assert "coverage: " in told
    assert f"  {project.source}: " in told, "what no test runs is named"
